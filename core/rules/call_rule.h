// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rules/rule.h"

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace shardwright {

/// The rule of a node that runs other graphs (If, Loop, Scan, SequenceMap, a call of a function),
/// and what it says of the nodes and tensors inside.
struct CallRule {
    /// A part of a dimension or of a factor inside: a factor of the call, or -1 where it is whole.
    struct Part {
        int factor = -1;
        std::int64_t size = 1;
    };
    using Parts = std::vector<Part>;  ///< Major to minor.

    Rule rule;
    std::unordered_map<NodeId, std::vector<Parts>> factors;  ///< By node inside: one list a factor.
    /// By tensor inside that is not `free`: one list a dimension.
    std::unordered_map<ValueId, std::vector<Parts>> tensors;
    /// Values inside that follow from constants and shapes alone: whole wherever the call runs, and
    /// cut for whoever reads them.
    std::unordered_set<ValueId> free;
    /// By graph: how each of its outputs is wanted.
    std::unordered_map<GraphId, std::vector<std::vector<Parts>>> outputs;
};

/// Null: it has none (a function that calls itself).
using RuleOfNode = std::function<const Rule*(NodeId)>;

/// Graphs inside a node: its bodies, or the function that it calls.
std::vector<GraphId> graphsInside(const NodeInfo& node);

/// Whether the rule of a node comes from the graphs inside of it.
bool runsGraphs(const NodeContext& context);

/// Why it cannot; empty where it can: a tensor of the call without known shape, attributes of the
/// call that the caller of a function gives, ...
std::string callObstacle(const NodeContext& context, const RuleOfNode& ruleOf);

/// From the rules of the nodes inside. Their factors are one where they index the same dimension of
/// a tensor; what one of them sums over, needs whole or needs neighbours of is whole, and its
/// reason names that node. Dimensions of loop states are one in the initial value, the body's input
/// and output, and the result; the dimension that the iterations run along is whole.
/// Of a function whose calls differ (needsOwnModel) this is to be asked of the model of the call.
///   If(c) { Relu(x) } else { Softmax(x, axis 1) }     ., d0 d1^ -> d0 d1^
CallRule deriveCall(const NodeContext& context, const RuleOfNode& ruleOf);

}  // namespace shardwright
