// SPDX-License-Identifier: Apache-2.0
#include "ui/canvas/port_alignment.h"

#include <algorithm>
#include <limits>

namespace shardwright {

namespace {

constexpr float kGap = 26;

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

/// Places in ascending order, at least their distance apart, whose squared ways from where they
/// want to be are least: neighbours that want to be too close become one block (pool adjacent
/// violators, Ayer and others 1955). `wanted` is taken relative to the distances before it.
std::vector<float> nearest(const std::vector<float>& wanted) {
    struct Block {
        float sum = 0;
        int count = 0;
        float mean() const { return sum / static_cast<float>(count); }
    };
    std::vector<Block> blocks;
    for (const float w : wanted) {
        blocks.push_back({w, 1});
        while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
            blocks[blocks.size() - 2].sum += blocks.back().sum;
            blocks[blocks.size() - 2].count += blocks.back().count;
            blocks.pop_back();
        }
    }
    std::vector<float> places;
    for (const Block& block : blocks)
        places.insert(places.end(), static_cast<std::size_t>(block.count), block.mean());
    return places;
}

class PortAligner {
public:
    PortAligner(const RankedLayout& layout, const std::vector<float>& widths,
                std::vector<float>& middles)
        : m_layout(layout), m_widths(widths), m_middles(middles), m_wanted(middles.size()),
          m_ports(middles.size()), m_others(middles.size()) {}

    /// `v` begins or ends a line whose other end is at `x` of an open scope.
    void want(int v, float x) {
        m_wanted[at(v)] += x;
        ++m_ports[at(v)];
    }
    /// `v` has a line on its other side, too: it stays where that line wants it.
    void hold(int v) { m_others[at(v)] = true; }

    void run() {
        for (const auto& layer : m_layout.layers) {
            for (std::size_t begin = 0; begin < layer.size();) {
                std::size_t end = begin;
                while (end < layer.size() && moves(layer[end]))
                    ++end;
                if (end > begin)
                    place(layer, begin, end);
                begin = std::max(end, begin + 1);
            }
        }
    }

private:
    bool moves(int v) const { return m_ports[at(v)] > 0 && !m_others[at(v)]; }
    float distance(int left, int right) const {
        return (m_widths[at(left)] + m_widths[at(right)]) / 2 + kGap;
    }

    void place(const std::vector<int>& layer, std::size_t begin, std::size_t end) {
        std::vector<int> run(layer.begin() + static_cast<std::ptrdiff_t>(begin),
                             layer.begin() + static_cast<std::ptrdiff_t>(end));
        const auto wanted = [&](int v) {
            return m_wanted[at(v)] / static_cast<float>(m_ports[at(v)]);
        };
        std::stable_sort(run.begin(), run.end(),
                         [&](int a, int b) { return wanted(a) < wanted(b); });
        std::vector<float> before(run.size()), relative(run.size());
        for (std::size_t i = 0; i < run.size(); ++i) {
            before[i] = i == 0 ? 0 : before[i - 1] + distance(run[i - 1], run[i]);
            relative[i] = wanted(run[i]) - before[i];
        }
        float low = std::numeric_limits<float>::lowest(), high = std::numeric_limits<float>::max();
        if (begin > 0)
            low = m_middles[at(layer[begin - 1])] + distance(layer[begin - 1], run.front());
        if (end < layer.size())
            high = m_middles[at(layer[end])] - distance(run.back(), layer[end]) - before.back();
        if (low > high)  // The places of before had smaller gaps: leave them.
            return;
        const std::vector<float> places = nearest(relative);
        for (std::size_t i = 0; i < run.size(); ++i)
            m_middles[at(run[i])] = std::clamp(places[i], low, high) + before[i];
    }

    const RankedLayout& m_layout;
    const std::vector<float>& m_widths;
    std::vector<float>& m_middles;
    std::vector<float> m_wanted;
    std::vector<int> m_ports;
    std::vector<bool> m_others;
};

}  // namespace

void alignWithPorts(const RankedLayout& layout, const std::vector<ItemShape>& shapes,
                    const std::vector<float>& widths, const std::vector<float>& upperOffset,
                    const std::vector<float>& lowerOffset, std::vector<float>& middles) {
    const auto isOpen = [&](int v) { return v < layout.itemCount && shapes[at(v)].fixedPorts; };
    PortAligner down(layout, widths, middles), up(layout, widths, middles);
    for (std::size_t l = 0; l < layout.links.size(); ++l) {
        const auto& [upper, lower, net, edge] = layout.links[l];
        down.hold(lower);
        up.hold(upper);
        if (isOpen(lower) && upper < layout.itemCount && !isOpen(upper))
            down.want(upper, middles[at(lower)] + lowerOffset[l]);
        if (isOpen(upper) && lower < layout.itemCount && !isOpen(lower))
            up.want(lower, middles[at(upper)] + upperOffset[l]);
    }
    down.run();
    up.run();
}

}  // namespace shardwright
