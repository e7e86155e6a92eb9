// SPDX-License-Identifier: Apache-2.0
#include "sharding/codec.h"

#include "sharding/annotation_reader.h"
#include "sharding/mesh_metadata.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <numeric>

namespace shardwright {

namespace {

/// The axis that stands for pipeline stages, where the mesh has one of this name.
constexpr std::string_view kStageAxis = "pp";

std::vector<LayoutRef> allLayouts(const Document& document, const ShapeTable& shapes,
                                  const Configuration& configuration, LayoutPool& pool) {
    AnnotationReader reader(document, shapes, configuration, pool);
    std::vector<LayoutRef> layouts;
    for (std::size_t i = 0; i < document.annotations.nodes.size(); ++i) {
        const auto specs = reader.read(NodeId(i), nullptr);
        if (!specs)
            continue;
        for (const DecodedSpec& spec : specs->specs) {
            if (spec.layout)
                layouts.push_back(spec.layout);
        }
    }
    return layouts;
}

void bindStages(Configuration& configuration, const MeshMetadata& metadata) {
    std::map<int, DeviceGroup> stages;
    const int axis = configuration.mesh.axisIndex(kStageAxis);
    if (axis >= 0) {
        for (DeviceId device = 0; device < configuration.mesh.deviceCount(); ++device)
            stages[configuration.mesh.coordinates(device)[static_cast<std::size_t>(axis)]]
                .push_back(device);
    }
    for (const auto& [stage, devices] : metadata.stages) {
        if (!devices.empty() && devices.back() < configuration.deviceCount)
            stages[stage] = devices;
    }
    configuration.boundStages.assign(stages.begin(), stages.end());
}

Error noSuchConfiguration(const Annotations& annotations, std::string_view name) {
    std::string known;
    for (const std::string& other : configurationNames(annotations))
        known += (known.empty() ? "" : ", ") + ("'" + other + "'");
    return {"there is no device configuration '" + std::string(name) + "'; the model has " +
                (known.empty() ? "none" : known),
            {}};
}

}  // namespace

DeviceGroup Configuration::stageDevices(int stage) const {
    const auto found =
        std::lower_bound(boundStages.begin(), boundStages.end(), stage,
                         [](const auto& entry, int key) { return entry.first < key; });
    return found != boundStages.end() && found->first == stage ? found->second : DeviceGroup{};
}

DeviceGroup Configuration::allDevices() const {
    DeviceGroup devices(static_cast<std::size_t>(std::max(0, deviceCount)));
    std::iota(devices.begin(), devices.end(), 0);
    return devices;
}

const DecodedSpec* NodeSpecs::find(std::string_view tensor) const {
    const auto found = std::find_if(specs.begin(), specs.end(),
                                    [&](const DecodedSpec& spec) { return spec.tensor == tensor; });
    return found == specs.end() ? nullptr : &*found;
}

std::vector<std::string> configurationNames(const Annotations& annotations) {
    std::vector<std::string> names;
    for (const auto& declared : annotations.configurations)
        names.push_back(declared.name());
    return names;
}

Result<Configuration> findConfiguration(const Document& document, const ShapeTable& shapes,
                                        std::string_view name, LayoutPool& pool) {
    const auto& declared = document.annotations.configurations;
    const auto found = std::find_if(declared.begin(), declared.end(),
                                    [&](const auto& proto) { return proto.name() == name; });
    if (found == declared.end())
        return noSuchConfiguration(document.annotations, name);
    Configuration configuration;
    configuration.name = found->name();
    configuration.deviceCount = std::clamp(found->num_devices(), 0, kMaxDeviceCount);
    if (found->device_size() == found->num_devices())
        configuration.deviceNames.assign(found->device().begin(), found->device().end());
    MeshMetadata metadata;
    const auto entry = document.annotations.metadata.find(meshMetadataKey(name));
    if (entry != document.annotations.metadata.end()) {
        if (auto parsed = MeshMetadata::parse(entry->second))
            metadata = std::move(*parsed);
    }
    if (metadata.mesh && metadata.mesh->deviceCount() == configuration.deviceCount) {
        configuration.mesh = *metadata.mesh;
        configuration.meshSource = Configuration::MeshSource::Metadata;
    } else if (auto derived = deriveMesh(configuration.deviceCount,
                                         allLayouts(document, shapes, configuration, pool))) {
        configuration.mesh = std::move(*derived);
        configuration.meshSource = Configuration::MeshSource::Derived;
    } else {
        configuration.mesh.axes.push_back({"d", std::max(1, configuration.deviceCount)});
    }
    bindStages(configuration, metadata);
    return configuration;
}

std::shared_ptr<const NodeSpecs> decodeNode(const Document& document, NodeId node,
                                            const ShapeTable& shapes,
                                            const Configuration& configuration, LayoutPool& pool,
                                            std::vector<Diagnostic>& diagnostics) {
    return AnnotationReader(document, shapes, configuration, pool).read(node, &diagnostics);
}

DecodedAnnotations decodeAnnotations(const Document& document, const ShapeTable& shapes,
                                     const Configuration& configuration, LayoutPool& pool) {
    DecodedAnnotations decoded;
    checkDeclarations(document, decoded.diagnostics);
    AnnotationReader reader(document, shapes, configuration, pool);
    decoded.nodes.resize(document.graph().nodes.size());
    for (std::size_t i = 0; i < decoded.nodes.size(); ++i)
        decoded.nodes[i] = reader.read(NodeId(i), &decoded.diagnostics);
    reader.checkStages(decoded.nodes, decoded.diagnostics);
    return decoded;
}

}  // namespace shardwright
