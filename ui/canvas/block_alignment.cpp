// SPDX-License-Identifier: Apache-2.0
//
// U. Brandes and B. Koepf, "Fast and Simple Horizontal Coordinate Assignment" (2001), with shifts
// inside a block for links that do not meet a box in its middle, and with blocks packed by two
// passes over their order instead of classes.

#include "ui/canvas/block_alignment.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace shardwright {

namespace {

using Kind = RankedLayout::Kind;

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

/// One end of a link as seen from the other.
struct Neighbour {
    int vertex = -1;
    float shift = 0;  ///< Of the middle of the vertex looked from against this one's when the link
                      ///< is straight.
    bool inner = false;  ///< Bend to bend.
};

/// Between the middles of two vertices side by side.
float distance(const std::vector<float>& widths, const std::vector<bool>& isBox, int left,
               int right) {
    const bool boxes = isBox[at(left)] && isBox[at(right)];
    return (widths[at(left)] + widths[at(right)]) / 2 + (boxes ? 26.0F : 14.0F);
}

using Neighbours = std::vector<std::vector<Neighbour>>;

/// One of the four passes. `sign` is -1 for the passes that lean right: they see the drawing
/// mirrored.
class Pass {
public:
    Pass(const std::vector<std::vector<int>>& layers, const Neighbours& before,
         const std::vector<float>& widths, const std::vector<bool>& isBox, float sign)
        : m_layers(layers), m_before(before), m_widths(widths), m_isBox(isBox), m_sign(sign),
          m_position(widths.size()), m_root(widths.size()), m_align(widths.size()),
          m_shift(widths.size()) {
        std::iota(m_root.begin(), m_root.end(), 0);
        std::iota(m_align.begin(), m_align.end(), 0);
        for (const auto& layer : layers) {
            for (std::size_t i = 0; i < layer.size(); ++i)
                m_position[at(layer[i])] = static_cast<int>(i);
        }
    }

    std::vector<float> run() {
        for (std::size_t r = 1; r < m_layers.size(); ++r)
            alignLayer(r);
        const std::vector<float> blocks = pack();
        std::vector<float> x(m_widths.size());
        for (std::size_t v = 0; v < x.size(); ++v)
            x[v] = m_sign * (blocks[at(m_root[v])] + m_shift[v]);
        return x;
    }

private:
    /// Links between bends win over links that cross them (the paper's conflicts of type 1).
    std::vector<std::pair<int, int>> innerRanges(std::size_t rank) const {
        std::vector<std::pair<int, int>> ranges(m_layers[rank].size());
        int low = 0;
        std::size_t begin = 0;
        const auto& layer = m_layers[rank];
        for (std::size_t i = 0; i <= layer.size(); ++i) {
            int high = std::numeric_limits<int>::max();
            bool bound = i == layer.size();
            if (!bound) {
                for (const Neighbour& n : m_before[at(layer[i])]) {
                    if (n.inner) {
                        high = m_position[at(n.vertex)];
                        bound = true;
                    }
                }
            }
            if (!bound)
                continue;
            for (; begin < i; ++begin)
                ranges[begin] = {low, high};
            if (i < layer.size()) {
                ranges[begin++] = {high, high};
                low = high;
            }
        }
        return ranges;
    }

    void alignLayer(std::size_t rank) {
        const auto ranges = innerRanges(rank);
        int previous = -1;
        std::vector<Neighbour> sorted;
        for (std::size_t i = 0; i < m_layers[rank].size(); ++i) {
            const int v = m_layers[rank][i];
            sorted = m_before[at(v)];
            if (sorted.empty())
                continue;
            std::sort(sorted.begin(), sorted.end(), [&](const Neighbour& a, const Neighbour& b) {
                return m_position[at(a.vertex)] < m_position[at(b.vertex)];
            });
            const std::array<std::size_t, 2> medians{(sorted.size() - 1) / 2, sorted.size() / 2};
            for (const std::size_t m : medians) {
                const Neighbour& n = sorted[m];
                const int position = m_position[at(n.vertex)];
                if (m_align[at(v)] != v || previous >= position || position < ranges[i].first ||
                    position > ranges[i].second || m_align[at(n.vertex)] != m_root[at(n.vertex)])
                    continue;
                m_align[at(n.vertex)] = v;
                m_root[at(v)] = m_root[at(n.vertex)];
                m_align[at(v)] = m_root[at(v)];
                m_shift[at(v)] = m_shift[at(n.vertex)] + m_sign * n.shift;
                previous = position;
            }
        }
    }

    float gap(int left, int right) const { return distance(m_widths, m_isBox, left, right); }

    struct Constraint {
        int other;
        float distance;
    };

    /// As far left as the neighbours allow, then towards the neighbours on the right where there is
    /// room.
    std::vector<float> pack() const {
        const std::size_t count = m_widths.size();
        std::vector<std::vector<Constraint>> right(count);
        std::vector<int> waiting(count);
        for (const auto& layer : m_layers) {
            for (std::size_t i = 1; i < layer.size(); ++i) {
                const int u = layer[i - 1], v = layer[i];
                right[at(m_root[at(u)])].push_back(
                    {m_root[at(v)], m_shift[at(u)] - m_shift[at(v)] + gap(u, v)});
                ++waiting[at(m_root[at(v)])];
            }
        }
        std::vector<int> order;
        for (std::size_t v = 0; v < count; ++v) {
            if (m_root[v] == static_cast<int>(v) && waiting[v] == 0)
                order.push_back(static_cast<int>(v));
        }
        std::vector<float> x(count);
        for (std::size_t i = 0; i < order.size(); ++i) {
            for (const Constraint& c : right[at(order[i])]) {
                x[at(c.other)] = std::max(x[at(c.other)], x[at(order[i])] + c.distance);
                if (--waiting[at(c.other)] == 0)
                    order.push_back(c.other);
            }
        }
        for (std::size_t i = order.size(); i-- > 0;) {
            float limit = std::numeric_limits<float>::max();
            for (const Constraint& c : right[at(order[i])])
                limit = std::min(limit, x[at(c.other)] - c.distance);
            if (limit != std::numeric_limits<float>::max())
                x[at(order[i])] = std::max(x[at(order[i])], limit);
        }
        return x;
    }

    const std::vector<std::vector<int>>& m_layers;
    const Neighbours& m_before;
    const std::vector<float>& m_widths;
    const std::vector<bool>& m_isBox;
    float m_sign;
    std::vector<int> m_position, m_root, m_align;
    std::vector<float> m_shift;
};

float extent(const std::vector<float>& x, const std::vector<float>& widths, float& low,
             float& high) {
    low = std::numeric_limits<float>::max();
    high = std::numeric_limits<float>::lowest();
    for (std::size_t v = 0; v < x.size(); ++v) {
        low = std::min(low, x[v] - widths[v] / 2);
        high = std::max(high, x[v] + widths[v] / 2);
    }
    return high - low;
}

/// Who may be put straight under whom. Weak vertices stand back where others are; those that lose
/// all links that way are loose.
std::vector<bool> joinNeighbours(const RankedLayout& layout, const std::vector<float>& upperOffset,
                                 const std::vector<float>& lowerOffset, Neighbours& above,
                                 Neighbours& below) {
    const std::vector<bool> weak = weakVertices(layout);
    std::vector<bool> strongAbove(weak.size()), strongBelow(weak.size()), loose(weak.size());
    for (const auto& link : layout.links) {
        if (!weak[at(link.upper)])
            strongAbove[at(link.lower)] = true;
        if (!weak[at(link.lower)])
            strongBelow[at(link.upper)] = true;
    }
    for (std::size_t l = 0; l < layout.links.size(); ++l) {
        const auto& link = layout.links[l];
        if ((weak[at(link.upper)] && strongAbove[at(link.lower)]) ||
            (weak[at(link.lower)] && strongBelow[at(link.upper)]))
            continue;
        const bool inner = layout.vertices[at(link.upper)].kind == Kind::Bend &&
                           layout.vertices[at(link.lower)].kind == Kind::Bend;
        above[at(link.lower)].push_back({link.upper, upperOffset[l] - lowerOffset[l], inner});
        below[at(link.upper)].push_back({link.lower, lowerOffset[l] - upperOffset[l], inner});
    }
    for (std::size_t v = 0; v < weak.size(); ++v)
        loose[v] = weak[v] && above[v].empty() && below[v].empty();
    return loose;
}

/// Loose vertices go as near to what they are joined to as their neighbours in the rank allow.
void pullLoose(const RankedLayout& layout, const std::vector<bool>& loose,
               const std::vector<float>& widths, const std::vector<bool>& isBox,
               const std::vector<float>& upperOffset, const std::vector<float>& lowerOffset,
               std::vector<float>& x) {
    std::vector<float> wanted = x;
    for (std::size_t l = 0; l < layout.links.size(); ++l) {
        const auto& link = layout.links[l];
        if (loose[at(link.upper)])
            wanted[at(link.upper)] = x[at(link.lower)] + lowerOffset[l];
        if (loose[at(link.lower)])
            wanted[at(link.lower)] = x[at(link.upper)] + upperOffset[l];
    }
    for (const auto& layer : layout.layers) {
        for (int pass = 0; pass < 2; ++pass) {
            for (std::size_t k = 0; k < layer.size(); ++k) {
                const std::size_t i = pass == 0 ? k : layer.size() - 1 - k;
                const int v = layer[i];
                if (!loose[at(v)])
                    continue;
                float to = wanted[at(v)];
                if (i + 1 < layer.size())
                    to = std::min(to,
                                  x[at(layer[i + 1])] - distance(widths, isBox, v, layer[i + 1]));
                if (i > 0)
                    to = std::max(to,
                                  x[at(layer[i - 1])] + distance(widths, isBox, layer[i - 1], v));
                x[at(v)] = to;
            }
        }
    }
}

}  // namespace

std::vector<float> alignBlocks(const RankedLayout& layout, const std::vector<float>& widths,
                               const std::vector<float>& upperOffset,
                               const std::vector<float>& lowerOffset) {
    const std::size_t count = layout.vertices.size();
    if (count == 0)
        return {};
    Neighbours above(count), below(count);
    const std::vector<bool> loose = joinNeighbours(layout, upperOffset, lowerOffset, above, below);
    std::vector<bool> isBox(count);
    for (std::size_t v = 0; v < count; ++v)
        isBox[v] = layout.vertices[v].kind == Kind::Item;
    std::array<std::vector<float>, 4> passes;
    std::array<float, 4> low{}, high{}, width{};
    auto layers = layout.layers;
    for (int upwards = 0; upwards < 2; ++upwards) {
        for (int mirrored = 0; mirrored < 2; ++mirrored) {
            const std::size_t p = at(upwards * 2 + mirrored);
            passes[p] =
                Pass(layers, upwards ? below : above, widths, isBox, mirrored ? -1.0F : 1.0F).run();
            width[p] = extent(passes[p], widths, low[p], high[p]);
            for (auto& layer : layers)
                std::reverse(layer.begin(), layer.end());
        }
        std::reverse(layers.begin(), layers.end());
    }
    const auto narrowest =
        static_cast<std::size_t>(std::min_element(width.begin(), width.end()) - width.begin());
    std::vector<float> x(count);
    for (std::size_t p = 0; p < 4; ++p) {
        const float shift = p % 2 == 0 ? low[narrowest] - low[p] : high[narrowest] - high[p];
        for (float& value : passes[p])
            value += shift;
    }
    for (std::size_t v = 0; v < count; ++v) {
        std::array<float, 4> four{passes[0][v], passes[1][v], passes[2][v], passes[3][v]};
        std::sort(four.begin(), four.end());
        x[v] = (four[1] + four[2]) / 2;
    }
    pullLoose(layout, loose, widths, isBox, upperOffset, lowerOffset, x);
    return x;
}

}  // namespace shardwright
