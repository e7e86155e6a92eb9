// SPDX-License-Identifier: Apache-2.0
#include "ui/canvas/layer_order.h"

#include <algorithm>
#include <span>

namespace shardwright {

namespace {

constexpr int kSweeps = 12;
constexpr std::size_t kSmall = 2000;  ///< Links up to which neighbours are also exchanged.

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

/// Neighbours of all vertices in one direction, in one block.
struct Adjacency {
    std::vector<int> start, list;

    Adjacency(const RankedLayout& layout, int RankedLayout::Link::*of,
              int RankedLayout::Link::*other)
        : start(layout.vertices.size() + 1), list(layout.links.size()) {
        for (const auto& link : layout.links)
            ++start[at(link.*of) + 1];
        for (std::size_t i = 1; i < start.size(); ++i)
            start[i] += start[i - 1];
        std::vector<int> next(start.begin(), start.end() - 1);
        for (const auto& link : layout.links)
            list[at(next[at(link.*of)]++)] = link.*other;
    }
    std::span<const int> of(int v) const {
        return {list.data() + start[at(v)],
                static_cast<std::size_t>(start[at(v) + 1] - start[at(v)])};
    }
};

class LayerOrder {
public:
    LayerOrder(RankedLayout& layout, const CancelToken& cancel)
        : m_layout(layout), m_cancel(cancel),
          m_up(layout, &RankedLayout::Link::lower, &RankedLayout::Link::upper),
          m_down(layout, &RankedLayout::Link::upper, &RankedLayout::Link::lower),
          m_position(layout.vertices.size()) {}

    bool run() {
        startOrder();
        auto best = m_layout.layers;
        std::int64_t fewest = crossings(m_layout);
        int withoutGain = 0;
        for (int sweep = 0; sweep < kSweeps && fewest > 0 && withoutGain < 4; ++sweep) {
            if (m_cancel.cancelled())
                return false;
            const bool downwards = sweep % 2 == 0;
            for (std::size_t i = 1; i < m_layout.layers.size(); ++i)
                sortLayer(downwards ? i : m_layout.layers.size() - 1 - i, downwards ? m_up : m_down,
                          sweep % 4 < 2);
            if (m_layout.links.size() <= kSmall)
                exchangeNeighbours();
            const std::int64_t now = crossings(m_layout);
            ++withoutGain;
            if (now < fewest) {
                fewest = now;
                best = m_layout.layers;
                withoutGain = 0;
            }
        }
        m_layout.layers = std::move(best);
        return true;
    }

private:
    /// Depth first from the top, so that what belongs together starts side by side.
    void startOrder() {
        std::vector<std::vector<int>> layers(m_layout.layers.size());
        std::vector<bool> seen(m_layout.vertices.size());
        std::vector<int> open;
        for (const auto& layer : m_layout.layers) {
            for (const int root : layer) {
                open.push_back(root);
                while (!open.empty()) {
                    const int v = open.back();
                    open.pop_back();
                    if (seen[at(v)])
                        continue;
                    seen[at(v)] = true;
                    layers[at(m_layout.vertices[at(v)].rank)].push_back(v);
                    const auto below = m_down.of(v);
                    open.insert(open.end(), below.rbegin(), below.rend());
                }
            }
        }
        m_layout.layers = std::move(layers);
        for (const auto& layer : m_layout.layers)
            number(layer);
    }

    void number(const std::vector<int>& layer) {
        for (std::size_t i = 0; i < layer.size(); ++i)
            m_position[at(layer[i])] = static_cast<int>(i);
    }

    /// By the mean position of the neighbours; vertices without any stay where they are.
    void sortLayer(std::size_t rank, const Adjacency& neighbours, bool rightFirst) {
        auto& layer = m_layout.layers[rank];
        if (layer.size() < 2)
            return;
        struct Entry {
            double mean;
            int vertex;
        };
        std::vector<Entry> moving;
        std::vector<bool> fixed(layer.size());
        for (std::size_t i = 0; i < layer.size(); ++i) {
            const auto list = neighbours.of(layer[i]);
            fixed[i] = list.empty();
            double sum = 0;
            for (const int other : list)
                sum += m_position[at(other)];
            if (!fixed[i])
                moving.push_back({sum / static_cast<double>(list.size()), layer[i]});
        }
        if (rightFirst)
            std::reverse(moving.begin(), moving.end());
        std::stable_sort(moving.begin(), moving.end(),
                         [](auto& a, auto& b) { return a.mean < b.mean; });
        std::size_t next = 0;
        for (std::size_t i = 0; i < layer.size(); ++i) {
            if (!fixed[i])
                layer[i] = moving[next++].vertex;
        }
        number(layer);
    }

    std::int64_t pairCrossings(int left, int right, const Adjacency& neighbours) const {
        std::int64_t count = 0;
        for (const int a : neighbours.of(left)) {
            for (const int b : neighbours.of(right))
                count += m_position[at(a)] > m_position[at(b)];
        }
        return count;
    }

    void exchangeNeighbours() {
        for (int round = 0; round < 3; ++round) {
            bool changed = false;
            for (auto& layer : m_layout.layers) {
                for (std::size_t i = 0; i + 1 < layer.size(); ++i) {
                    const int a = layer[i], b = layer[i + 1];
                    const auto before = pairCrossings(a, b, m_up) + pairCrossings(a, b, m_down);
                    if (before == 0 ||
                        before <= pairCrossings(b, a, m_up) + pairCrossings(b, a, m_down))
                        continue;
                    std::swap(layer[i], layer[i + 1]);
                    std::swap(m_position[at(a)], m_position[at(b)]);
                    changed = true;
                }
            }
            if (!changed)
                return;
        }
    }

    RankedLayout& m_layout;
    const CancelToken& m_cancel;
    Adjacency m_up, m_down;
    std::vector<int> m_position;
};

/// Inversions of a sequence of positions below `size`, with a Fenwick tree.
std::int64_t inversions(const std::vector<int>& sequence, std::size_t size,
                        std::vector<int>& tree) {
    tree.assign(size + 1, 0);
    std::int64_t count = 0;
    int inserted = 0;
    for (const int position : sequence) {
        int notAbove = 0;
        for (std::size_t i = at(position) + 1; i > 0; i &= i - 1)
            notAbove += tree[i];
        count += inserted - notAbove;
        for (std::size_t i = at(position) + 1; i <= size; i += i & (~i + 1))
            ++tree[i];
        ++inserted;
    }
    return count;
}

}  // namespace

std::int64_t crossings(const RankedLayout& layout) {
    const Adjacency down(layout, &RankedLayout::Link::upper, &RankedLayout::Link::lower);
    std::vector<int> position(layout.vertices.size());
    for (const auto& layer : layout.layers) {
        for (std::size_t i = 0; i < layer.size(); ++i)
            position[at(layer[i])] = static_cast<int>(i);
    }
    std::int64_t total = 0;
    std::vector<int> sequence, below, tree;
    for (std::size_t r = 0; r + 1 < layout.layers.size(); ++r) {
        sequence.clear();
        for (const int v : layout.layers[r]) {
            below.clear();
            for (const int other : down.of(v))
                below.push_back(position[at(other)]);
            std::sort(below.begin(), below.end());
            sequence.insert(sequence.end(), below.begin(), below.end());
        }
        if (sequence.size() > 1)
            total += inversions(sequence, layout.layers[r + 1].size(), tree);
    }
    return total;
}

bool orderLayers(RankedLayout& layout, const CancelToken& cancel) {
    return LayerOrder(layout, cancel).run();
}

}  // namespace shardwright
