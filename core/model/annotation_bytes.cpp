// SPDX-License-Identifier: Apache-2.0
#include "model/annotation_bytes.h"

#include <onnx/onnx_pb.h>

#include <limits>

namespace shardwright {

std::string annotationsToBytes(const Annotations& annotations) {
    onnx::ModelProto model;
    for (const auto& configuration : annotations.configurations)
        *model.add_configuration() = configuration;
    for (const auto& [key, value] : annotations.metadata) {
        auto* entry = model.add_metadata_props();
        entry->set_key(key);
        entry->set_value(value);
    }
    for (const auto& annotation : annotations.nodes) {
        onnx::NodeProto* node = model.mutable_graph()->add_node();
        if (!annotation)
            continue;
        for (const auto& configuration : *annotation)
            *node->add_device_configurations() = configuration;
    }
    return model.SerializeAsString();
}

Result<Annotations> annotationsFromBytes(std::string_view bytes, const Model& model) {
    onnx::ModelProto proto;
    if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
        !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
        return Error{"these bytes are not annotations", {}};
    const std::size_t nodes = model.graph().nodes.size();
    if (static_cast<std::size_t>(proto.graph().node_size()) != nodes)
        return Error{"these annotations are of a model with " +
                         std::to_string(proto.graph().node_size()) + " nodes, this one has " +
                         std::to_string(nodes),
                     {}};
    Annotations annotations;
    annotations.configurations.assign(proto.configuration().begin(), proto.configuration().end());
    for (const auto& entry : proto.metadata_props())
        annotations.metadata[entry.key()] = entry.value();
    NodeAnnotations::Editor edited(nodes);
    for (std::size_t i = 0; i < nodes; ++i) {
        const auto& configurations =
            proto.graph().node(static_cast<int>(i)).device_configurations();
        if (!configurations.empty())
            edited.edit(i) = std::make_shared<const NodeAnnotation>(configurations.begin(),
                                                                    configurations.end());
    }
    annotations.nodes = std::move(edited).finish();
    return annotations;
}

}  // namespace shardwright
