// SPDX-License-Identifier: Apache-2.0
#include "run/node_checks.h"

#include "run/verify.h"

#include <algorithm>
#include <unordered_map>

namespace shardwright {

namespace {

using ByValue = std::unordered_map<ValueId, const RunResult::Output*>;

ByValue byValue(const std::vector<RunResult::Output>& tensors) {
    ByValue found;
    for (const RunResult::Output& tensor : tensors)
        found[tensor.value] = &tensor;
    return found;
}

/// What the plan reads, as the sharded run had it; without what no device has all of.
InputSet inputsOf(const Plan& plan, const ByValue& sharded, const InputSet& given) {
    InputSet inputs;
    for (const Plan::Port& port : plan.inputs) {
        if (const auto input = given.find(port.name); input != given.end())
            inputs[port.name] = input->second;
        else if (const auto at = sharded.find(port.value); at != sharded.end())
            if (auto whole = gather(*at->second))
                inputs[port.name] = std::move(*whole);
    }
    return inputs;
}

}  // namespace

Result<std::set<ValueId>>
rightFromTheirInputs(const Analysis& analysis, const std::vector<ValueId>& values,
                     const RunResult& sharded, const InputSet& inputs, const Tolerances& tolerances,
                     const RunOptions& options, std::uint64_t seed, const CancelToken& cancel) {
    const ByValue observed = byValue(sharded.observed);
    const auto known = [&](ValueId value) {
        const ValueInfo& info = analysis.graph().value(value);
        return !value || observed.count(value) > 0 || inputs.count(info.name) > 0 ||
               info.kind == ValueKind::Initializer;
    };
    std::vector<NodeId> nodes;
    for (const ValueId value : values) {
        const NodeId id = analysis.graph().value(value).producer;
        if (!id || (!nodes.empty() && nodes.back() == id))
            continue;
        const NodeInfo& node = analysis.graph().node(id);
        if (std::all_of(node.inputs.begin(), node.inputs.end(), known) &&
            std::all_of(node.captures.begin(), node.captures.end(), known))
            nodes.push_back(id);
    }
    auto plan = lowerApart(analysis, nodes, seed);
    if (!plan)
        return plan.error();
    RunOptions alone = options;
    alone.decorate = {};
    auto result = execute(**plan, alone, inputsOf(**plan, observed, inputs), cancel);
    if (!result)
        return result.error();
    const ByValue own = byValue(result->outputs);
    std::set<ValueId> right;
    for (const ValueId value : values)
        if (own.count(value) > 0 && observed.count(value) > 0 &&
            checkTensor(*observed.at(value), *own.at(value), tolerances.ofNodeAlone(value)).agrees)
            right.insert(value);
    return right;
}

}  // namespace shardwright
