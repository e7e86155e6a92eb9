// SPDX-License-Identifier: Apache-2.0
#include "sharding/option_targets.h"

#include "sharding/codes.h"
#include "sharding/glob.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <charconv>

namespace shardwright {

namespace {

/// `#in1`, `#out0`
struct Slot {
    bool output = false;
    int number = -1;
};

Slot slotOf(std::string_view tensor) {
    Slot slot;
    slot.output = tensor.starts_with("#out");
    const std::string_view digits = tensor.substr(slot.output ? 4 : 3);
    std::from_chars(digits.data(), digits.data() + digits.size(), slot.number);
    return slot;
}

bool isSlot(const ShardOption& option) {
    return option.tensor.starts_with("#");
}

/// Where stars at its ends would help a pattern with wildcards that matches nothing:
/// " A pattern matches the whole name: '*layers.0/*' would match".
template <class Matches>
std::string wholeNameHint(const std::string& pattern, const Matches& matches) {
    const std::size_t mark = findUnescaped(pattern, '!');
    const std::size_t start = mark == std::string::npos ? 0 : mark + 1;
    const std::string type = pattern.substr(0, start), glob = pattern.substr(start);
    if (glob.empty() || literalOf(glob))
        return {};
    for (const std::string& wider : {"*" + glob, glob + "*", "*" + glob + "*"})
        if (matches(type + wider))
            return " A pattern matches the whole name: " + quoteName(type + wider) + " would match";
    return {};
}

/// Sentences that follow one another: the first may have none of its own.
std::string joined(const std::string& message, const std::string& suggested,
                   const std::string& hint) {
    const bool ended = !suggested.empty();
    return message + suggested + (hint.empty() || ended ? "" : ".") + hint;
}

}  // namespace

TensorIndex::TensorIndex(const GraphIndex& graph) {
    for (const NodeInfo& node : graph.nodes) {
        const auto add = [&](const std::string& name) {
            if (name.empty())
                return;
            auto& nodes = m_nodes[name];
            if (nodes.empty() || nodes.back() != node.id)
                nodes.push_back(node.id);
        };
        std::for_each(node.proto->input().begin(), node.proto->input().end(), add);
        std::for_each(node.proto->output().begin(), node.proto->output().end(), add);
    }
}

std::vector<std::pair<std::string_view, const std::vector<NodeId>*>>
TensorIndex::match(const std::string& glob) const {
    std::vector<std::pair<std::string_view, const std::vector<NodeId>*>> matches;
    if (const auto literal = literalOf(glob)) {
        const auto found = m_nodes.find(*literal);
        if (found != m_nodes.end())
            matches.emplace_back(found->first, &found->second);
        return matches;
    }
    for (const auto& [name, nodes] : m_nodes) {
        if (globMatches(glob, name))
            matches.emplace_back(name, &nodes);
    }
    return matches;
}

std::set<std::string_view> TensorIndex::names() const {
    std::set<std::string_view> names;
    for (const auto& [name, nodes] : m_nodes)
        names.insert(name);
    return names;
}

std::vector<Target> targetsOf(const ShardOption& option, const GraphIndex& graph,
                              const TensorIndex& index) {
    std::vector<Target> targets;
    const auto wanted = [&](NodeId node) {
        return option.node.empty() || nodeMatches(option.node, graph, node);
    };
    if (!isSlot(option)) {
        for (const auto& [tensor, nodes] : index.match(option.tensor)) {
            for (const NodeId node : *nodes) {
                if (wanted(node))
                    targets.emplace_back(node, tensor);
            }
        }
        std::sort(targets.begin(), targets.end());
        return targets;
    }
    const Slot slot = slotOf(option.tensor);
    for (const NodeInfo& node : graph.nodes) {
        const auto& names = slot.output ? node.proto->output() : node.proto->input();
        if (slot.number >= 0 && slot.number < names.size() && !names[slot.number].empty() &&
            wanted(node.id))
            targets.emplace_back(node.id, names[slot.number]);
    }
    return targets;
}

bool anyNodeMatches(const GraphIndex& graph, std::string_view pattern) {
    return std::ranges::any_of(
        graph.nodes, [&](const NodeInfo& node) { return nodeMatches(pattern, graph, node.id); });
}

Error noNodeMatches(const GraphIndex& graph, const std::string& pattern, const std::string& place) {
    const std::size_t mark = findUnescaped(pattern, '!');
    const std::string glob = mark == std::string::npos ? pattern : pattern.substr(mark + 1);
    std::vector<std::string> labels;
    labels.reserve(graph.nodes.size());
    for (const NodeInfo& node : graph.nodes)
        labels.push_back(graph.label(node.id));
    return {joined("no node matches " + quoteName(pattern),
                   suggestion(glob, std::set<std::string_view>(labels.begin(), labels.end())),
                   wholeNameHint(pattern, [&](const auto& p) { return anyNodeMatches(graph, p); })),
            place};
}

Error noTargetOf(const ShardOption& option, const GraphIndex& graph, const TensorIndex& index) {
    const std::string place = "--shard " + quoteName(option.text);
    if (!option.node.empty() && !anyNodeMatches(graph, option.node))
        return noNodeMatches(graph, option.node, place);
    const std::string where =
        option.node.empty() ? std::string() : " that matches " + quoteName(option.node);
    if (isSlot(option))
        return {"no node" + where + " has a tensor " + option.tensor, place};
    if (const auto matches = index.match(option.tensor); !matches.empty())
        return {"no node" + where + " has a tensor " + quoteName(option.tensor) + "; " +
                    quoteName(matches[0].first) + " is at " +
                    quoteName(graph.label(matches[0].second->front())),
                place};
    return {joined("no tensor matches " + quoteName(option.tensor),
                   suggestion(option.tensor, index.names()),
                   wholeNameHint(option.tensor,
                                 [&](const auto& p) { return !index.match(p).empty(); })),
            place};
}

}  // namespace shardwright
