// SPDX-License-Identifier: Apache-2.0
#include "sharding/codec.h"

#include "sharding/annotation_reader.h"
#include "sharding/codes.h"
#include "sharding/mesh_metadata.h"
#include "sharding/spec_fixes.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

namespace shardwright {

namespace {

NodeAnnotation presentAt(const Document& document, NodeId node) {
    const auto& nodes = document.annotations.nodes;
    return node.index() < nodes.size() && nodes[node.index()] ? *nodes[node.index()]
                                                              : NodeAnnotation{};
}

SetNodeAnnotation replaceAt(const Document& document, NodeId node, NodeAnnotation annotation) {
    dropSilenced(presentAt(document, node), annotation);
    return {node, annotation.empty()
                      ? nullptr
                      : std::make_shared<const NodeAnnotation>(std::move(annotation))};
}

onnx::NodeDeviceConfigurationProto& entryOf(NodeAnnotation& annotation,
                                            const std::string& configuration) {
    for (auto& entry : annotation) {
        if (entry.configuration_id() == configuration)
            return entry;
    }
    annotation.emplace_back().set_configuration_id(configuration);
    return annotation.back();
}

/// Replaces what we know in the first spec of the tensor and keeps the rest of the message; takes
/// away the others. False: there was none.
bool replaceSpec(NodeAnnotation& annotation, const std::string& configuration,
                 const std::string& tensor, const onnx::ShardingSpecProto* replacement) {
    bool replaced = false;
    for (auto& entry : annotation) {
        if (entry.configuration_id() != configuration)
            continue;
        auto* specs = entry.mutable_sharding_spec();
        for (int i = 0; i < specs->size();) {
            if (specs->Get(i).tensor_name() != tensor) {
                ++i;
            } else if (replacement && !replaced) {
                auto* spec = specs->Mutable(i++);
                *spec->mutable_device() = replacement->device();
                *spec->mutable_index_to_device_group_map() =
                    replacement->index_to_device_group_map();
                *spec->mutable_sharded_dim() = replacement->sharded_dim();
                replaced = true;
            } else {
                specs->DeleteSubrange(i, 1);
                replaced = replaced || !replacement;
            }
        }
    }
    return replaced;
}

/// The spec of one tensor on the devices of the new stage, where it spans those of the old one in
/// mesh terms.
std::optional<Layout> movedToStage(const Configuration& configuration, const Layout& layout,
                                   const DeviceGroup& before, const DeviceGroup& after) {
    if (layout.devices() != before || before == after)
        return std::nullopt;
    const auto sharding = decode(configuration.mesh, layout);
    if (!sharding)
        return std::nullopt;
    Result<Layout> moved = encode(configuration.mesh, *sharding, layout.shape(), after);
    return moved ? std::optional(std::move(*moved)) : std::nullopt;
}

}  // namespace

Edit editSpec(const Document& document, NodeId node, const std::string& configuration,
              const std::string& tensor, const Layout* layout, const TensorInfo& info) {
    const std::string what = quoteName(tensor) + " at " + quoteName(document.graph().label(node));
    Edit edit{(layout ? "Set the layout of " : "Remove the layout of ") + what, {}};
    NodeAnnotation annotation = presentAt(document, node);
    if (layout) {
        const onnx::ShardingSpecProto spec = encodeSpec(*layout, tensor, info);
        if (!replaceSpec(annotation, configuration, tensor, &spec))
            *entryOf(annotation, configuration).add_sharding_spec() = spec;
    } else if (!replaceSpec(annotation, configuration, tensor, nullptr)) {
        return edit;
    }
    edit.steps.push_back(replaceAt(document, node, std::move(annotation)));
    return edit;
}

Edit editStage(const Document& document, NodeId node, const Configuration& configuration, int stage,
               const ShapeTable& shapes, LayoutPool& pool) {
    const std::string label = quoteName(document.graph().label(node));
    Edit edit{stage < 0 ? "Remove the stage of " + label
                        : "Put " + label + " into stage " + std::to_string(stage),
              {}};
    NodeAnnotation annotation = presentAt(document, node);
    const auto specs = AnnotationReader(document, shapes, configuration, pool).read(node, nullptr);
    const auto devicesOf = [&](int number) {
        DeviceGroup bound = number < 0 ? DeviceGroup{} : configuration.stageDevices(number);
        return bound.empty() ? configuration.allDevices() : bound;
    };
    for (std::size_t i = 0; specs && i < specs->specs.size(); ++i) {
        const DecodedSpec& spec = specs->specs[i];
        const ValueId value = tensorAt(document.graph(), node, spec.tensor);
        if (!spec.layout || !value)
            continue;
        const auto moved =
            movedToStage(configuration, *spec.layout, devicesOf(specs->stage), devicesOf(stage));
        if (!moved)
            continue;
        const onnx::ShardingSpecProto proto = encodeSpec(*moved, spec.tensor, shapes.of(value));
        replaceSpec(annotation, configuration.name, spec.tensor, &proto);
    }
    const bool had = std::any_of(annotation.begin(), annotation.end(), [&](const auto& entry) {
        return entry.configuration_id() == configuration.name && entry.has_pipeline_stage();
    });
    if (stage < 0 && !had)
        return edit;
    for (auto& entry : annotation) {
        if (entry.configuration_id() == configuration.name)
            entry.clear_pipeline_stage();
    }
    if (stage >= 0)
        entryOf(annotation, configuration.name).set_pipeline_stage(stage);
    edit.steps.push_back(replaceAt(document, node, std::move(annotation)));
    return edit;
}

Edit editConfiguration(const Document& document, const std::string& name, const Mesh& mesh) {
    const Annotations& annotations = document.annotations;
    auto configurations =
        std::make_shared<std::vector<onnx::DeviceConfigurationProto>>(annotations.configurations);
    const auto found = std::find_if(configurations->begin(), configurations->end(),
                                    [&](const auto& proto) { return proto.name() == name; });
    const bool isNew = found == configurations->end();
    auto& proto = isNew ? configurations->emplace_back() : *found;
    proto.set_name(name);
    if (proto.num_devices() != mesh.deviceCount())
        proto.clear_device();  // Names of other devices.
    proto.set_num_devices(mesh.deviceCount());
    Edit edit{(isNew ? "Declare configuration " : "Change the mesh of ") + quoteName(name), {}};
    edit.steps.push_back(SetConfigurations{std::move(configurations)});

    const std::string key = meshMetadataKey(name);
    const auto entry = annotations.metadata.find(key);
    const std::string previous =
        entry == annotations.metadata.end() ? std::string() : entry->second;
    MeshMetadata metadata;
    if (auto parsed = MeshMetadata::parse(previous))
        metadata = std::move(*parsed);
    metadata.mesh = mesh;
    std::erase_if(metadata.stages, [&](const auto& stage) {
        return stage.second.empty() || stage.second.back() >= mesh.deviceCount();
    });
    edit.steps.push_back(SetMetadata{key, metadata.text(previous)});
    return edit;
}

Edit editStageDevices(const Document& document, const std::string& configuration, int stage,
                      const DeviceGroup& devices) {
    const std::string key = meshMetadataKey(configuration);
    const auto entry = document.annotations.metadata.find(key);
    const std::string previous =
        entry == document.annotations.metadata.end() ? std::string() : entry->second;
    MeshMetadata metadata;
    if (auto parsed = MeshMetadata::parse(previous))
        metadata = std::move(*parsed);
    const std::string number = std::to_string(stage);
    if (devices.empty())
        metadata.stages.erase(stage);
    else
        metadata.stages[stage] = devices;
    Edit edit{devices.empty() ? "Unbind stage " + number
                              : "Bind stage " + number + " to devices " + devicesText(devices),
              {}};
    edit.steps.push_back(SetMetadata{key, metadata.text(previous)});
    return edit;
}

Edit editStrip(const Document& document) {
    Edit edit{"Remove all annotations", {}};
    for (std::size_t i = 0; i < document.annotations.nodes.size(); ++i) {
        if (document.annotations.nodes[i])
            edit.steps.push_back(SetNodeAnnotation{NodeId(i), nullptr});
    }
    if (!document.annotations.configurations.empty())
        edit.steps.push_back(SetConfigurations{});
    for (const auto& [key, value] : document.annotations.metadata)
        edit.steps.push_back(SetMetadata{key, {}});
    return edit;
}

Edit joinEdits(std::string title, std::vector<Edit> edits) {
    Edit joined{std::move(title), {}};
    for (Edit& edit : edits)
        std::move(edit.steps.begin(), edit.steps.end(), std::back_inserter(joined.steps));
    return joined;
}

}  // namespace shardwright
