// SPDX-License-Identifier: Apache-2.0
#include "plan/expanded_size.h"

#include <limits>
#include <vector>

namespace shardwright::lowering {

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// The graphs that a graph's nodes call or have as bodies, one entry a use.
std::vector<GraphId> usedBy(const GraphIndex& graph, GraphId id) {
    std::vector<GraphId> used;
    for (const NodeId node : graph.graph(id).nodes) {
        const NodeInfo& info = graph.node(node);
        if (info.function)
            used.push_back(info.function);
        used.insert(used.end(), info.bodies.begin(), info.bodies.end());
    }
    return used;
}

struct Frame {
    GraphId graph;
    std::vector<GraphId> used;
    std::size_t next = 0;
};

}  // namespace

std::optional<std::int64_t> expandedNodeCount(const GraphIndex& graph) {
    enum class State : char { New, Open, Done };
    std::vector<State> states(graph.graphs.size(), State::New);
    std::vector<std::int64_t> counts(graph.graphs.size(), 0);
    // Depth first with a stack of its own: files decide how deep calls go.
    std::vector<Frame> stack;
    const auto open = [&](GraphId id) {
        states[id.index()] = State::Open;
        counts[id.index()] = static_cast<std::int64_t>(graph.graph(id).nodes.size());
        stack.push_back({id, usedBy(graph, id)});
    };
    open(graph.main().id);
    while (!stack.empty()) {
        Frame& frame = stack.back();
        if (frame.next == frame.used.size()) {
            states[frame.graph.index()] = State::Done;
            stack.pop_back();
            continue;
        }
        const GraphId used = frame.used[frame.next];
        if (states[used.index()] == State::Open)
            return std::nullopt;
        if (states[used.index()] == State::New) {
            open(used);  // Looked at again when it is done.
            continue;
        }
        ++frame.next;
        std::int64_t& count = counts[frame.graph.index()];
        const std::int64_t more = counts[used.index()];
        count = count > kMost - more ? kMost : count + more;
    }
    return counts[graph.main().id.index()];
}

}  // namespace shardwright::lowering
