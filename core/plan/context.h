// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"
#include "plan/seeds.h"

#include <string>

namespace shardwright::lowering {

/// Ends a lowering; thrown and caught inside core/plan only.
struct Refusal {
    std::string message;
    std::string place;
};

/// What every step of the lowering looks up.
class Context {
public:
    /// Without `annotated`, everything is whole on device 0: the program to verify against.
    Context(const Analysis& analysis, bool annotated, std::uint64_t seed);

    const Analysis& analysis;
    const GraphIndex& graph;
    const ShapeTable& shapes;
    const bool annotated;
    const Seeds seeds;
    int deviceCount = 1;
    int opset = 0;  ///< Of the default domain; 0 where the model does not import it.

    bool everywhere(NodeId node) const {
        return !annotated || analysis.meaning.nodes[node.index()].everywhere;
    }
    const Rule& rule(NodeId node) const { return *analysis.rules->of(node); }
    const TensorInfo& info(ValueId value) const { return shapes.of(value); }
    const std::string& name(ValueId value) const { return graph.value(value).name; }
    bool sized(ValueId value) const {
        return info(value).kind == TensorInfo::Kind::Tensor && info(value).concrete();
    }
    /// Refuses a value whose sizes are not all known.
    Box whole(ValueId value, NodeId where) const;
    /// As the communication planner counts: 8 where the type is unknown.
    int bits(ValueId value) const;
    [[noreturn]] void refuse(NodeId where, const std::string& message) const;
};

std::string dimsText(const std::vector<std::int64_t>& dims);  ///< "[2, 3]"
std::vector<std::int64_t> dimsOf(const Box& box);

}  // namespace shardwright::lowering
