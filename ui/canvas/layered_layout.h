// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/cancel.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace shardwright {

/// What a layout depends on, and nothing else: equal inputs have equal layouts.
struct LayoutInput {
    enum class Pin : std::uint8_t { None, Top, Bottom };
    struct Item {
        float width = 0, height = 0;
        Pin pin = Pin::None;
        bool operator==(const Item&) const = default;
    };
    struct Edge {
        int from = -1, to = -1;
        int net = -1;  ///< Edges of one net carry the same value from the same item.
        bool operator==(const Edge&) const = default;
    };
    std::vector<Item> items;  ///< In an order in which most edges lead forward.
    std::vector<Edge> edges;
    int netCount = 0;

    bool operator==(const LayoutInput&) const = default;
    std::uint64_t hash() const;
};

/// Larger fan-outs and longer edges become portals.
inline constexpr int kMaxFanOut = 8;
inline constexpr int kMaxSpan = 12;
inline constexpr float kStubWidth = 92, kStubHeight = 18;

/// Ranks and the order within them: which box lies above and beside which, without sizes.
struct RankedLayout {
    enum class Kind : std::uint8_t { Item, Bend, StubOut, StubIn };
    struct Vertex {
        Kind kind = Kind::Item;
        int rank = 0;
        int net = -1;   ///< Of bends and stubs.
        int edge = -1;  ///< StubIn: the edge that it stands for.
    };
    /// Two vertices of neighbouring ranks.
    struct Link {
        int upper = -1, lower = -1;
        int net = -1;
        int edge = -1;  ///< Where `lower` is an item: the edge that ends there. -1 elsewhere.
    };
    int itemCount = 0;
    std::vector<Vertex> vertices;          ///< Items first.
    std::vector<std::vector<int>> layers;  ///< Vertices from left to right, by rank.
    std::vector<Link> links;
    std::vector<bool> portal;  ///< By edge.
    bool fromDot = false;
};

/// Ranks by longest path, tightened; orders by a fixed number of barycentre sweeps. Deterministic,
/// close to linear, no recursion. Null only when cancelled.
std::shared_ptr<const RankedLayout> rankLayered(const LayoutInput& input, const CancelToken& = {});

/// Steps of it that the Graphviz layout shares.
std::vector<bool> highFanOut(const LayoutInput& input);
/// Adds stubs and bends to items whose ranks are known; layers are in no particular order.
RankedLayout withStubsAndBends(const LayoutInput& input, std::vector<int> itemRanks,
                               std::vector<bool> portal);
std::int64_t crossings(const RankedLayout& layout);
/// Stubs, and boxes that only one line joins to the rest, such as constants: others come first when
/// lines are made straight.
std::vector<bool> weakVertices(const RankedLayout& layout);

}  // namespace shardwright
