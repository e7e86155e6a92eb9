// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/scope_facts.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

namespace shardwright {
namespace {

std::int64_t sum(std::int64_t a, std::int64_t b) {
    return a > std::numeric_limits<std::int64_t>::max() - b
               ? std::numeric_limits<std::int64_t>::max()
               : a + b;
}

void addWeight(const Analysis& analysis, ValueId value, ScopeFacts& facts) {
    const TensorInfo& info = analysis.shapes->of(value);
    const std::int64_t count = std::max<std::int64_t>(info.elementCount(), 0);
    const int bits = std::max(elementBits(info.elementType), 0);
    ++facts.weights;
    facts.parameters = sum(facts.parameters, count);
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 256;
    facts.parameterBytes =
        sum(facts.parameterBytes, std::min(count, kMost) / 8 * bits + count % 8 * bits / 8);
}

void addStages(const Analysis& analysis, ScopeFacts& facts) {
    for (const NodeId node : facts.nodes) {
        const auto& specs = analysis.annotations.nodes;
        const NodeSpecs* own = node.index() < specs.size() ? specs[node.index()].get() : nullptr;
        const int stage = own ? own->stage : -1;
        facts.explicitNodes += own && (stage >= 0 || !own->specs.empty());
        if (stage < 0) {
            ++facts.nodesWithoutStage;
            continue;
        }
        facts.firstStage = facts.firstStage < 0 ? stage : std::min(facts.firstStage, stage);
        facts.lastStage = std::max(facts.lastStage, stage);
    }
}

}  // namespace

std::vector<NodeId> nodesIn(const GraphIndex& graph, ScopeId scope) {
    std::vector<NodeId> nodes;
    std::vector<ScopeId> open{scope};
    while (!open.empty()) {
        const ScopeInfo& info = graph.scope(open.back());
        open.pop_back();
        nodes.insert(nodes.end(), info.nodes.begin(), info.nodes.end());
        open.insert(open.end(), info.children.begin(), info.children.end());
    }
    return nodes;
}

ScopeFacts scopeFacts(const Analysis& analysis, ScopeId scope) {
    const GraphIndex& graph = analysis.graph();
    ScopeFacts facts;
    facts.nodes = nodesIn(graph, scope);
    std::vector<bool> inside(graph.nodes.size());
    std::map<std::pair<std::string_view, std::string_view>, int> operators;
    std::set<int> weights;
    for (const NodeId node : facts.nodes) {
        inside[node.index()] = true;
        ++operators[{graph.domain(node), graph.opType(node)}];
        for (const ValueId value : graph.node(node).inputs)
            if (value && graph.value(value).kind == ValueKind::Initializer &&
                weights.insert(value.value).second)
                addWeight(analysis, value, facts);
    }
    for (const auto& [name, count] : operators)
        facts.operators.push_back({std::string(name.first), std::string(name.second), count});
    std::ranges::stable_sort(facts.operators, std::greater<>(), &ScopeFacts::Operator::count);
    addStages(analysis, facts);
    for (const CommEntry& entry : analysis.communication.entries) {
        if (!entry.node || !inside[entry.node.index()])
            continue;
        const auto groups = static_cast<std::int64_t>(entry.groups.size());
        auto& total = facts.communication[entry.kind];
        total.count += groups;
        total.bytes = sum(total.bytes, entry.bytes * groups);
        facts.communicationBytes = sum(facts.communicationBytes, entry.bytes * groups);
    }
    for (const Diagnostic& diagnostic : analysis.diagnostics) {
        if (!diagnostic.node || !inside[diagnostic.node.index()])
            continue;
        facts.errors += diagnostic.severity == Severity::Error;
        facts.warnings += diagnostic.severity == Severity::Warning ||
                          diagnostic.severity == Severity::Unsupported;
    }
    return facts;
}

}  // namespace shardwright
