// SPDX-License-Identifier: Apache-2.0
//
// x: four alignments of vertices with their median neighbours (towards the top or the bottom,
// leaning left or right) make vertical blocks; each is packed tightly; the middle of the four is
// taken. Links count from where they meet a box, so that a line into the port of an open scope is
// straight when it can be. y: ranks below each other, with more air where lines have far to go
// sideways.

#include "ui/canvas/arrangement.h"

#include "ui/canvas/block_alignment.h"
#include "ui/canvas/port_alignment.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace shardwright {

namespace {

using Kind = RankedLayout::Kind;

constexpr float kRankGap = 46;
constexpr float kMaxRankGap = 110;
constexpr float kStubNear = 24;  ///< How far a stub lies from its box.
constexpr float kPortSpacing = 22;
constexpr float kTall = 220;

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

class Arranger {
public:
    Arranger(std::shared_ptr<const RankedLayout> ranked, std::vector<ItemShape> shapes,
             const ArrangeOptions& options)
        : m_options(options), m_result(std::make_shared<Arrangement>()) {
        m_result->ranked = std::move(ranked);
        m_result->shapes = std::move(shapes);
    }

    std::shared_ptr<const Arrangement> run() {
        setSizes();
        setPorts();
        placeAcross();
        placeDown();
        traceLines();
        return std::move(m_result);
    }

private:
    const RankedLayout& ranked() const { return *m_result->ranked; }
    Arrangement::Spot& spot(int v) { return m_result->spots[at(v)]; }
    bool isItem(int v) const { return v < ranked().itemCount; }

    void setSizes() {
        m_result->spots.resize(ranked().vertices.size());
        for (std::size_t v = 0; v < ranked().vertices.size(); ++v) {
            Arrangement::Spot& s = m_result->spots[v];
            if (isItem(static_cast<int>(v))) {
                s.width = m_result->shapes[v].width;
                s.height = m_result->shapes[v].height;
            } else if (ranked().vertices[v].kind != Kind::Bend) {
                s.width = kStubWidth;
                s.height = kStubHeight;
            }
        }
    }

    /// Where each link meets its two ends, from the middle of the box.
    void setPorts() {
        m_position.resize(ranked().vertices.size());
        for (const auto& layer : ranked().layers) {
            for (std::size_t i = 0; i < layer.size(); ++i)
                m_position[at(layer[i])] = static_cast<float>(i);
        }
        m_weak = weakVertices(ranked());
        m_upperOffset.assign(ranked().links.size(), 0);
        m_lowerOffset.assign(ranked().links.size(), 0);
        std::vector<std::vector<int>> out(at(ranked().itemCount)), in(at(ranked().itemCount));
        for (std::size_t l = 0; l < ranked().links.size(); ++l) {
            const auto& link = ranked().links[l];
            if (isItem(link.upper))
                out[at(link.upper)].push_back(static_cast<int>(l));
            if (isItem(link.lower))
                in[at(link.lower)].push_back(static_cast<int>(l));
        }
        for (int item = 0; item < ranked().itemCount; ++item) {
            setOutPorts(item, out[at(item)]);
            setInPorts(item, in[at(item)]);
        }
    }

    static float fixedOffset(const std::vector<std::pair<int, float>>& ports, int net) {
        const auto found =
            std::find_if(ports.begin(), ports.end(), [&](auto& port) { return port.first == net; });
        return found == ports.end() ? 0.0F : found->second;
    }

    /// All links of one value leave at one point.
    void setOutPorts(int item, const std::vector<int>& links) {
        const ItemShape& shape = m_result->shapes[at(item)];
        std::map<int, std::pair<float, int>> nets;  // net -> sum of positions, count
        for (const int l : links) {
            auto& [sum, count] = nets[ranked().links[at(l)].net];
            sum += m_position[at(ranked().links[at(l)].lower)];
            ++count;
        }
        std::vector<std::pair<float, int>> order;
        for (const auto& [net, mean] : nets)
            order.emplace_back(mean.first / static_cast<float>(mean.second), net);
        std::sort(order.begin(), order.end());
        std::map<int, float> offset;
        for (std::size_t i = 0; i < order.size(); ++i)
            offset[order[i].second] = shape.fixedPorts
                                          ? fixedOffset(shape.outPorts, order[i].second)
                                          : spread(i, order.size(), shape.width);
        for (const int l : links)
            m_upperOffset[at(l)] = offset[ranked().links[at(l)].net];
    }

    /// One link, the middle one of those that matter, meets the box in its middle: a chain of boxes
    /// is then straight however many other inputs they have.
    void setInPorts(int item, std::vector<int> links) {
        const ItemShape& shape = m_result->shapes[at(item)];
        const auto upper = [&](int l) { return ranked().links[at(l)].upper; };
        std::stable_sort(links.begin(), links.end(), [&](int a, int b) {
            return m_position[at(upper(a))] < m_position[at(upper(b))];
        });
        std::vector<std::size_t> lines;
        for (std::size_t i = 0; i < links.size(); ++i) {
            if (!m_weak[at(upper(links[i]))])
                lines.push_back(i);
        }
        const std::size_t main =
            lines.empty() ? (links.size() - 1) / 2 : lines[(lines.size() - 1) / 2];
        const std::size_t sides = std::max(main, links.size() - 1 - main);
        const float step =
            std::min(kPortSpacing,
                     (shape.width / 2 - 10) / static_cast<float>(std::max<std::size_t>(sides, 1)));
        for (std::size_t i = 0; i < links.size(); ++i) {
            m_lowerOffset[at(links[i])] =
                shape.fixedPorts ? fixedOffset(shape.inPorts, ranked().links[at(links[i])].net)
                                 : (static_cast<float>(i) - static_cast<float>(main)) * step;
        }
    }

    static float spread(std::size_t index, std::size_t count, float width) {
        const float step = std::min(2 * kPortSpacing, (width - 16) / static_cast<float>(count));
        return (static_cast<float>(index) - static_cast<float>(count - 1) / 2) * step;
    }

    /// Large open scopes are put middle under middle: with straight lines between ports that lie
    /// far from it, a stack of layers would drift sideways.
    std::vector<float> forAlignment(std::vector<float> offsets,
                                    int RankedLayout::Link::*end) const {
        for (std::size_t l = 0; l < offsets.size(); ++l) {
            const int v = ranked().links[l].*end;
            if (isItem(v) && m_result->shapes[at(v)].fixedPorts)
                offsets[l] = 0;
        }
        return offsets;
    }

    void placeAcross() {
        std::vector<float> widths;
        for (const Arrangement::Spot& s : m_result->spots)
            widths.push_back(s.width);
        std::vector<float> middles =
            alignBlocks(ranked(), widths, forAlignment(m_upperOffset, &RankedLayout::Link::upper),
                        forAlignment(m_lowerOffset, &RankedLayout::Link::lower));
        alignWithPorts(ranked(), m_result->shapes, widths, m_upperOffset, m_lowerOffset, middles);
        float left = 0, right = 0;
        for (std::size_t v = 0; v < middles.size(); ++v) {
            m_result->spots[v].x = middles[v] - widths[v] / 2;
            left = v == 0 ? m_result->spots[v].x : std::min(left, m_result->spots[v].x);
            right = v == 0 ? left + widths[v] : std::max(right, m_result->spots[v].x + widths[v]);
        }
        const float content = right - left + 2 * m_options.margin;
        m_result->width = std::max(content, m_options.minimumWidth);
        const float shift = m_options.margin - left + (m_result->width - content) / 2;
        for (Arrangement::Spot& s : m_result->spots)
            s.x = std::round((s.x + shift) * 2) / 2;
    }

    float gapBelow(std::size_t rank, const std::vector<float>& reach) const {
        const auto onlyPorts = [&](std::size_t r) {
            return std::all_of(ranked().layers[r].begin(), ranked().layers[r].end(), [&](int v) {
                return !isItem(v) || m_result->shapes[at(v)].height == 0;
            });
        };
        const float base = onlyPorts(rank) || onlyPorts(rank + 1) ? kRankGap * 0.6F : kRankGap;
        return std::min(base + reach[rank] * 0.05F, kMaxRankGap);
    }

    void placeDown() {
        const auto& layers = ranked().layers;
        std::vector<float> reach(layers.size());
        for (std::size_t l = 0; l < ranked().links.size(); ++l) {
            const auto& link = ranked().links[l];
            float& far = reach[at(ranked().vertices[at(link.upper)].rank)];
            far = std::max(far, std::abs(endX(link.upper, m_upperOffset[l]) -
                                         endX(link.lower, m_lowerOffset[l])));
        }
        m_top.resize(layers.size());
        m_bottom.resize(layers.size());
        const bool portsAbove = !layers.empty() && !layers[0].empty() && isPort(layers[0][0]);
        float y = portsAbove ? 0 : m_options.titleHeight + m_options.margin;
        for (std::size_t r = 0; r < layers.size(); ++r) {
            float height = 0;
            for (const int v : layers[r])
                height = std::max(height, spot(v).height);
            m_top[r] = y;
            // Lines run straight down behind the title.
            m_bottom[r] = y + height + (r == 0 && portsAbove ? m_options.titleHeight : 0);
            for (const int v : layers[r])
                spot(v).y = y + offsetInRank(v, height);
            if (r + 1 < layers.size())
                y += height + gapBelow(r, reach);
            if (r == 0 && portsAbove)
                y += m_options.titleHeight;
        }
        const bool portsBelow = !layers.empty() && !layers.back().empty() && layers.size() > 1 &&
                                isPort(layers.back()[0]);
        m_result->height = layers.empty() ? m_options.titleHeight
                                          : m_bottom.back() + (portsBelow ? 0 : m_options.margin);
    }

    bool isPort(int v) const { return isItem(v) && m_result->shapes[at(v)].height == 0; }

    float offsetInRank(int v, float height) {
        const float room = height - spot(v).height;
        const bool lowest = ranked().vertices[at(v)].rank + 1 == static_cast<int>(m_top.size());
        switch (ranked().vertices[at(v)].kind) {
            case Kind::Bend: return 0;
            case Kind::StubOut: return -kStubNear;
            case Kind::StubIn: return room + (lowest ? 0 : kStubNear);
            case Kind::Item: break;
        }
        // Beside an open scope a small box stays near what it is joined to.
        return height > kTall ? (hasInputs(v) ? 0 : room) : std::round(room / 2);
    }

    bool hasInputs(int item) {
        if (m_hasInputs.empty()) {
            m_hasInputs.resize(ranked().vertices.size());
            for (const auto& link : ranked().links)
                m_hasInputs[at(link.lower)] = true;
        }
        return m_hasInputs[at(item)];
    }

    float endX(int v, float offset) {
        return spot(v).x + spot(v).width / 2 + (isItem(v) ? offset : 0.0F);
    }

    /// Chains the links of each edge from its item (or stub) down to its end.
    void traceLines() {
        const auto& links = ranked().links;
        std::vector<int> into(ranked().vertices.size(),
                              -1);  // The one link that leads into a bend.
        for (std::size_t l = 0; l < links.size(); ++l) {
            if (ranked().vertices[at(links[l].lower)].kind == Kind::Bend)
                into[at(links[l].lower)] = static_cast<int>(l);
        }
        for (std::size_t l = 0; l < links.size(); ++l) {
            if (ranked().vertices[at(links[l].lower)].kind == Kind::Bend)
                continue;
            std::vector<int> chain{static_cast<int>(l)};
            while (into[at(links[at(chain.back())].upper)] >= 0)
                chain.push_back(into[at(links[at(chain.back())].upper)]);
            std::reverse(chain.begin(), chain.end());
            addLine(chain);
        }
    }

    void addLine(const std::vector<int>& chain) {
        const auto& first = ranked().links[at(chain.front())];
        const auto& last = ranked().links[at(chain.back())];
        Arrangement::Line line{first.upper, last.lower, last.net, {}};
        const auto add = [&](float x, float y) {
            if (line.points.empty() || line.points.back() != std::pair(x, y))
                line.points.emplace_back(x, y);
        };
        const auto rank = [&](int v) { return at(ranked().vertices[at(v)].rank); };
        const float startX = endX(first.upper, m_upperOffset[at(chain.front())]);
        add(startX, spot(first.upper).y + spot(first.upper).height);
        // Straight down beside taller boxes of the same rank, so that no line crosses one.
        if (isItem(first.upper))
            add(startX, m_bottom[rank(first.upper)]);
        for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
            const int bend = ranked().links[at(chain[i])].lower;
            add(spot(bend).x, m_top[rank(bend)]);
            add(spot(bend).x, m_bottom[rank(bend)]);
        }
        const float finishX = endX(last.lower, m_lowerOffset[at(chain.back())]);
        if (isItem(last.lower))
            add(finishX, m_top[rank(last.lower)]);
        add(finishX, spot(last.lower).y);
        m_result->lines.push_back(std::move(line));
    }

    ArrangeOptions m_options;
    std::shared_ptr<Arrangement> m_result;
    std::vector<float> m_position;
    std::vector<bool> m_weak;
    std::vector<float> m_upperOffset, m_lowerOffset;  ///< By link.
    std::vector<float> m_top, m_bottom;               ///< By rank.
    std::vector<bool> m_hasInputs;
};

}  // namespace

std::shared_ptr<const Arrangement> arrange(std::shared_ptr<const RankedLayout> ranked,
                                           std::vector<ItemShape> shapes,
                                           const ArrangeOptions& options) {
    return Arranger(std::move(ranked), std::move(shapes), options).run();
}

}  // namespace shardwright
