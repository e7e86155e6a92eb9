// SPDX-License-Identifier: Apache-2.0
#include "model/document.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

namespace shardwright {

namespace {

template <class Message>
bool sameMessages(const std::vector<Message>& a, const std::vector<Message>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Message& x, const Message& y) {
                          return x.SerializeAsString() == y.SerializeAsString();
                      });
}

}  // namespace

Annotations::Annotations() = default;
Annotations::Annotations(const Annotations&) = default;
Annotations::Annotations(Annotations&&) noexcept = default;
Annotations& Annotations::operator=(const Annotations&) = default;
Annotations& Annotations::operator=(Annotations&&) noexcept = default;
Annotations::~Annotations() = default;

Annotations Annotations::fromProto(const onnx::ModelProto& proto, const GraphIndex& graph) {
    Annotations annotations;
    annotations.configurations.assign(proto.configuration().begin(), proto.configuration().end());
    for (const auto& entry : proto.metadata_props()) {
        if (entry.key().starts_with(kMetadataPrefix))
            annotations.metadata.emplace(entry.key(), entry.value());
    }
    annotations.irVersion = proto.ir_version();
    NodeAnnotations::Editor nodes(graph.nodes.size());
    for (const NodeInfo& node : graph.nodes) {
        const auto& list = node.proto->device_configurations();
        if (!list.empty())
            nodes.edit(node.id.index()) =
                std::make_shared<const NodeAnnotation>(list.begin(), list.end());
    }
    annotations.nodes = std::move(nodes).finish();
    return annotations;
}

bool sameAnnotation(const std::shared_ptr<const NodeAnnotation>& a,
                    const std::shared_ptr<const NodeAnnotation>& b) {
    static const NodeAnnotation none;
    return a == b || sameMessages(a ? *a : none, b ? *b : none);
}

bool Annotations::sameAs(const Annotations& other) const {
    if (metadata != other.metadata || !sameMessages(configurations, other.configurations))
        return false;
    const std::size_t count = std::max(nodes.size(), other.nodes.size());
    for (std::size_t i = 0; i < count; ++i) {
        if (!sameAnnotation(i < nodes.size() ? nodes[i] : nullptr,
                            i < other.nodes.size() ? other.nodes[i] : nullptr))
            return false;
    }
    return true;
}

}  // namespace shardwright
