// SPDX-License-Identifier: Apache-2.0
//
// Layered layout after Sugiyama, in steps that are each linear or nearly so:
// 1. Edges that lead backwards in the order of the items, and values with many readers, become
// portals.
// 2. Ranks by longest path; then boxes without (or with few) inputs move down to what reads them.
// 3. Edges that would span too many ranks become portals, too: their bends are what makes large
// graphs slow.
// 4. Portals get stubs beside their ends; the other edges get bends, one a rank and value, so that
// the readers of
//    one value share a trunk.
// 5. A depth-first start order, then barycentre sweeps down and up; the order with the fewest
// crossings wins.

#include "ui/canvas/layered_layout.h"

#include "ui/canvas/layer_order.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_map>

namespace shardwright {

namespace {

using Pin = LayoutInput::Pin;

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
    hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
    hash *= 0xff51afd7ed558ccdULL;
    return hash ^ (hash >> 33);
}

std::uint64_t bitsOf(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

struct Degrees {
    std::vector<int> in, out;
};

Degrees degrees(const LayoutInput& input, const std::vector<bool>& portal) {
    Degrees count{std::vector<int>(input.items.size()), std::vector<int>(input.items.size())};
    for (std::size_t e = 0; e < input.edges.size(); ++e) {
        if (portal[e])
            continue;
        ++count.out[at(input.edges[e].from)];
        ++count.in[at(input.edges[e].to)];
    }
    return count;
}

/// Edges by one end, as positions in input.edges.
std::vector<std::vector<int>> edgesBy(const LayoutInput& input, int LayoutInput::Edge::*end) {
    std::vector<std::vector<int>> lists(input.items.size());
    for (std::size_t e = 0; e < input.edges.size(); ++e)
        lists[at(input.edges[e].*end)].push_back(static_cast<int>(e));
    return lists;
}

std::vector<int> longestPathRanks(const LayoutInput& input,
                                  const std::vector<std::vector<int>>& incoming) {
    std::vector<int> ranks(input.items.size());
    for (std::size_t i = 0; i < input.items.size(); ++i) {
        for (const int e : incoming[i]) {
            const int from = input.edges[at(e)].from;
            if (from < static_cast<int>(i))
                ranks[i] = std::max(ranks[i], ranks[at(from)] + 1);
        }
    }
    return ranks;
}

/// Moves boxes down towards their readers where that shortens more lines than it lengthens.
void tighten(const LayoutInput& input, const std::vector<bool>& portal,
             const std::vector<std::vector<int>>& outgoing, std::vector<int>& ranks) {
    const Degrees degree = degrees(input, portal);
    for (std::size_t i = input.items.size(); i-- > 0;) {
        if (input.items[i].pin != Pin::None || (degree.in[i] != 0 && degree.out[i] <= degree.in[i]))
            continue;
        int lowest = std::numeric_limits<int>::max();
        for (const int e : outgoing[i]) {
            const int to = input.edges[at(e)].to;
            if (to > static_cast<int>(i) && input.items[at(to)].pin != Pin::Bottom)
                lowest = std::min(lowest, ranks[at(to)] - 1);
        }
        if (lowest != std::numeric_limits<int>::max())
            ranks[i] = std::max(ranks[i], lowest);
    }
}

void addStubs(const LayoutInput& input, RankedLayout& layout) {
    std::vector<int> stubOfNet(at(input.netCount), -1);
    for (std::size_t e = 0; e < input.edges.size(); ++e) {
        const LayoutInput::Edge& edge = input.edges[e];
        if (!layout.portal[e] || edge.from == edge.to)
            continue;
        if (stubOfNet[at(edge.net)] < 0) {
            stubOfNet[at(edge.net)] = static_cast<int>(layout.vertices.size());
            layout.vertices.push_back({RankedLayout::Kind::StubOut,
                                       layout.vertices[at(edge.from)].rank + 1, edge.net, -1});
            layout.links.push_back({edge.from, stubOfNet[at(edge.net)], edge.net, -1});
        }
        const int stub = static_cast<int>(layout.vertices.size());
        layout.vertices.push_back({RankedLayout::Kind::StubIn,
                                   layout.vertices[at(edge.to)].rank - 1, edge.net,
                                   static_cast<int>(e)});
        layout.links.push_back({stub, edge.to, edge.net, static_cast<int>(e)});
    }
}

void addBends(const LayoutInput& input, RankedLayout& layout) {
    // (net, rank) -> bend: readers of one value share the line as far down as they can.
    std::unordered_map<std::uint64_t, int> bends;
    for (std::size_t e = 0; e < input.edges.size(); ++e) {
        const LayoutInput::Edge& edge = input.edges[e];
        if (layout.portal[e])
            continue;
        int above = edge.from;
        for (int rank = layout.vertices[at(edge.from)].rank + 1;
             rank < layout.vertices[at(edge.to)].rank; ++rank) {
            const auto key =
                (static_cast<std::uint64_t>(edge.net) << 32) | static_cast<std::uint32_t>(rank);
            const auto [entry, added] =
                bends.try_emplace(key, static_cast<int>(layout.vertices.size()));
            if (added) {
                layout.vertices.push_back({RankedLayout::Kind::Bend, rank, edge.net, -1});
                layout.links.push_back({above, entry->second, edge.net, -1});
            }
            above = entry->second;
        }
        layout.links.push_back({above, edge.to, edge.net, static_cast<int>(e)});
    }
}

/// Ports keep the first and the last rank to themselves; ranks without anything vanish.
void settleRanks(const LayoutInput& input, std::vector<int>& ranks,
                 const std::vector<bool>& portal) {
    const bool top = std::any_of(input.items.begin(), input.items.end(),
                                 [](auto& i) { return i.pin == Pin::Top; });
    int last = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (input.items[i].pin != Pin::Bottom)
            last = std::max(last, ranks[i]);
    }
    std::vector<bool> used(at(last) + 4);
    const auto use = [&](int rank) { used[at(rank + 1)] = true; };
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (input.items[i].pin == Pin::None)
            use(ranks[i]);
    }
    for (std::size_t e = 0; e < portal.size(); ++e) {
        const LayoutInput::Edge& edge = input.edges[e];
        if (!portal[e] || edge.from == edge.to)
            continue;
        if (input.items[at(edge.to)].pin != Pin::Bottom)
            use(ranks[at(edge.to)] - 1);
        if (input.items[at(edge.from)].pin == Pin::None)
            use(ranks[at(edge.from)] + 1);
    }
    // Stubs of ports lie beside the first and last boxes' rank; give them one of their own.
    bool topStub = false, bottomStub = false;
    for (std::size_t e = 0; e < portal.size(); ++e) {
        topStub |= portal[e] && input.items[at(input.edges[e].from)].pin == Pin::Top;
        bottomStub |= portal[e] && input.items[at(input.edges[e].to)].pin == Pin::Bottom;
    }
    std::vector<int> packed(used.size());
    int next = (top ? 1 : 0) + (topStub ? 1 : 0);
    for (std::size_t r = 0; r < used.size(); ++r)
        packed[r] = used[r] ? next++ : next;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (input.items[i].pin == Pin::None)
            ranks[i] = packed[at(ranks[i] + 1)];
        else
            ranks[i] = input.items[i].pin == Pin::Top ? 0 : next + (bottomStub ? 1 : 0);
    }
}

}  // namespace

std::uint64_t LayoutInput::hash() const {
    std::uint64_t hash = items.size();
    for (const Item& item : items)
        hash = mix(mix(hash, bitsOf(item.width) << 32 | bitsOf(item.height)),
                   static_cast<std::uint64_t>(item.pin));
    for (const Edge& edge : edges) {
        hash = mix(hash, static_cast<std::uint64_t>(edge.from) << 32 |
                             static_cast<std::uint32_t>(edge.to));
        hash = mix(hash, static_cast<std::uint64_t>(edge.net));
    }
    return hash;
}

std::vector<bool> highFanOut(const LayoutInput& input) {
    std::vector<int> readers(at(input.netCount));
    for (const LayoutInput::Edge& edge : input.edges)
        ++readers[at(edge.net)];
    std::vector<bool> portal(input.edges.size());
    for (std::size_t e = 0; e < input.edges.size(); ++e) {
        const LayoutInput::Edge& edge = input.edges[e];
        portal[e] = readers[at(edge.net)] > kMaxFanOut || edge.from >= edge.to;
    }
    return portal;
}

RankedLayout withStubsAndBends(const LayoutInput& input, std::vector<int> itemRanks,
                               std::vector<bool> portal) {
    for (std::size_t e = 0; e < portal.size(); ++e) {
        const LayoutInput::Edge& edge = input.edges[e];
        const bool pinned = input.items[at(edge.from)].pin != Pin::None ||
                            input.items[at(edge.to)].pin != Pin::None;
        // A port is as far from a box as the frame is high; what counts is whether a line can be
        // drawn at all.
        const int span = itemRanks[at(edge.to)] - itemRanks[at(edge.from)];
        portal[e] = portal[e] || span < 1 || (!pinned && span > kMaxSpan);
    }
    settleRanks(input, itemRanks, portal);
    for (std::size_t e = 0; e < portal.size(); ++e) {
        const LayoutInput::Edge& edge = input.edges[e];
        portal[e] = portal[e] || itemRanks[at(edge.to)] - itemRanks[at(edge.from)] > kMaxSpan;
    }
    settleRanks(input, itemRanks, portal);

    RankedLayout layout;
    layout.itemCount = static_cast<int>(input.items.size());
    layout.portal = std::move(portal);
    for (std::size_t i = 0; i < input.items.size(); ++i)
        layout.vertices.push_back({RankedLayout::Kind::Item, itemRanks[i], -1, -1});
    addStubs(input, layout);
    addBends(input, layout);
    int last = 0;
    for (const RankedLayout::Vertex& vertex : layout.vertices)
        last = std::max(last, vertex.rank);
    layout.layers.resize(at(last) + 1);
    for (std::size_t v = 0; v < layout.vertices.size(); ++v)
        layout.layers[at(layout.vertices[v].rank)].push_back(static_cast<int>(v));
    return layout;
}

std::vector<bool> weakVertices(const RankedLayout& layout) {
    std::vector<int> degree(layout.vertices.size());
    for (const RankedLayout::Link& link : layout.links) {
        ++degree[at(link.upper)];
        ++degree[at(link.lower)];
    }
    std::vector<bool> weak(layout.vertices.size());
    for (std::size_t v = 0; v < weak.size(); ++v) {
        const RankedLayout::Kind kind = layout.vertices[v].kind;
        weak[v] = kind == RankedLayout::Kind::StubIn || kind == RankedLayout::Kind::StubOut ||
                  (kind == RankedLayout::Kind::Item && degree[v] <= 1);
    }
    return weak;
}

std::shared_ptr<const RankedLayout> rankLayered(const LayoutInput& input,
                                                const CancelToken& cancel) {
    std::vector<bool> portal = highFanOut(input);
    const auto incoming = edgesBy(input, &LayoutInput::Edge::to);
    const auto outgoing = edgesBy(input, &LayoutInput::Edge::from);
    std::vector<int> ranks = longestPathRanks(input, incoming);
    tighten(input, portal, outgoing, ranks);
    if (cancel.cancelled())
        return nullptr;
    auto layout = std::make_shared<RankedLayout>(
        withStubsAndBends(input, std::move(ranks), std::move(portal)));
    if (!orderLayers(*layout, cancel))
        return nullptr;
    return layout;
}

}  // namespace shardwright
