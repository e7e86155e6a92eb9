// SPDX-License-Identifier: Apache-2.0
#include "sharding/codec.h"

#include "sharding/annotation_reader.h"
#include "sharding/mesh_metadata.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <numeric>
#include <set>

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

struct AnnotationCache::Impl {
    std::shared_ptr<const Model> model;
    std::vector<std::string> declared;
    Configuration configuration;
    NodeAnnotations annotations;
    NodeSpecsArray nodes;
    std::set<NodeId> staged, inBodies;
    std::map<std::size_t, std::vector<Diagnostic>> diagnostics;  ///< Of nodes, by NodeId.
};

AnnotationCache::AnnotationCache() : m_impl(std::make_unique<Impl>()) {}
AnnotationCache::~AnnotationCache() = default;

/// Brings a cache up to date with a document.
class CachedReader {
public:
    CachedReader(const Document& document, const Configuration& configuration,
                 AnnotationCache& cache)
        : m_document(document), m_configuration(configuration), m_known(*cache.m_impl) {}

    DecodedAnnotations run(AnnotationReader& reader) {
        if (!suits())
            reset();
        readChanges(reader);
        DecodedAnnotations decoded;
        checkDeclarations(m_document, decoded.diagnostics);
        for (const auto& [node, diagnostics] : m_known.diagnostics)
            decoded.diagnostics.insert(decoded.diagnostics.end(), diagnostics.begin(),
                                       diagnostics.end());
        decoded.nodes = m_known.nodes;
        decoded.staged.assign(m_known.staged.begin(), m_known.staged.end());
        decoded.inBodies.assign(m_known.inBodies.begin(), m_known.inBodies.end());
        reader.checkStages(decoded.nodes, decoded.staged, decoded.diagnostics);
        return decoded;
    }

private:
    bool suits() const {
        return m_known.model == m_document.model && m_known.configuration == m_configuration &&
               m_known.declared == configurationNames(m_document.annotations) && !toldOfUnknown();
    }

    /// The fix for an unknown configuration looks at all nodes that name it.
    bool toldOfUnknown() const {
        for (const auto& [node, diagnostics] : m_known.diagnostics)
            for (const Diagnostic& diagnostic : diagnostics)
                if (diagnostic.code == "SW110")
                    return true;
        return false;
    }

    void reset() {
        m_known = {};
        m_known.model = m_document.model;
        m_known.declared = configurationNames(m_document.annotations);
        m_known.configuration = m_configuration;
        const std::size_t nodes = m_document.graph().nodes.size();
        m_known.nodes = NodeSpecsArray::Editor(nodes).finish();
        m_known.annotations = NodeAnnotations::Editor(nodes).finish();
    }

    void readChanges(AnnotationReader& reader) {
        // A document may have no entry for its last nodes.
        NodeAnnotations::Editor sized(m_document.annotations.nodes);
        sized.grow(m_known.nodes.size());
        NodeAnnotations annotations = std::move(sized).finish();
        NodeSpecsArray::Editor nodes(std::move(m_known.nodes));
        NodeAnnotations::compare(annotations, m_known.annotations, [&](std::size_t node) {
            nodes.edit(node) = read(NodeId(node), reader);
        });
        m_known.nodes = std::move(nodes).finish();
        m_known.annotations = std::move(annotations);
    }

    std::shared_ptr<const NodeSpecs> read(NodeId id, AnnotationReader& reader) {
        std::vector<Diagnostic> diagnostics;
        auto specs = reader.read(id, &diagnostics);
        const GraphIndex& graph = m_document.graph();
        const auto note = [&](std::set<NodeId>& nodes, bool belongs) {
            if (belongs)
                nodes.insert(id);
            else
                nodes.erase(id);
        };
        note(m_known.staged, specs && specs->stage >= 0);
        note(m_known.inBodies,
             specs && !specs->specs.empty() && graph.node(id).graph != graph.main().id);
        const std::size_t node = id.index();
        m_known.diagnostics.erase(node);
        if (!diagnostics.empty())
            m_known.diagnostics.emplace(node, std::move(diagnostics));
        return specs;
    }

    const Document& m_document;
    const Configuration& m_configuration;
    AnnotationCache::Impl& m_known;
};

DecodedAnnotations decodeAnnotations(const Document& document, const ShapeTable& shapes,
                                     const Configuration& configuration, LayoutPool& pool,
                                     AnnotationCache& cache) {
    AnnotationReader reader(document, shapes, configuration, pool);
    return CachedReader(document, configuration, cache).run(reader);
}

DecodedAnnotations decodeAnnotations(const Document& document, const ShapeTable& shapes,
                                     const Configuration& configuration, LayoutPool& pool) {
    AnnotationCache cache;
    return decodeAnnotations(document, shapes, configuration, pool, cache);
}

}  // namespace shardwright
