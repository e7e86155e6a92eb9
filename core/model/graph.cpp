// SPDX-License-Identifier: Apache-2.0
#include "model/graph.h"

#include <onnx/onnx_pb.h>

namespace shardwright {

ValueId GraphIndex::findValue(GraphId graph, std::string_view name) const {
    if (!graph || graph.index() >= namesByGraph.size())
        return {};
    const auto found = namesByGraph[graph.index()].find(name);
    return found != namesByGraph[graph.index()].end() ? found->second : ValueId();
}

NodePlace GraphIndex::place(NodeId id) const {
    const NodeInfo& info = node(id);
    return {info.proto->name(), info.index, info.scope ? scope(info.scope).path : std::string()};
}

std::string GraphIndex::label(NodeId id) const {
    const NodeInfo& info = node(id);
    if (!info.proto->name().empty())
        return info.proto->name();
    return info.proto->op_type() + "#" + std::to_string(info.index);
}

std::string_view GraphIndex::opType(NodeId id) const {
    return node(id).proto->op_type();
}

std::string_view GraphIndex::domain(NodeId id) const {
    const std::string& domain = node(id).proto->domain();
    return domain == "ai.onnx" ? std::string_view() : std::string_view(domain);
}

std::size_t GraphIndex::edgeCount() const {
    std::size_t count = 0;
    for (const ValueInfo& info : values) {
        if (info.producer)
            count += info.uses.size();
    }
    return count;
}

}  // namespace shardwright
