// SPDX-License-Identifier: Apache-2.0
//
// Graphviz decides which rank each box has and what lies left of what. Coordinates are then
// assigned as for the program's own layout, so that boxes can grow when a scope opens without
// another run.

#include "ui/canvas/dot_layout.h"

#include "ui/canvas/child_process.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>

namespace shardwright {

namespace {

using Pin = LayoutInput::Pin;
using Kind = RankedLayout::Kind;

constexpr int kMilliseconds = 5000;

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

/// What dot's plain text says. Boxes by name; the control points of one edge after the other.
struct PlainDrawing {
    std::map<std::string, std::pair<double, double>, std::less<>> boxes;
    struct Curve {
        std::string from, to;
        std::vector<std::pair<double, double>> points;
    };
    std::vector<Curve> curves;
};

bool parsePlain(std::string_view text, PlainDrawing& drawing) {
    std::istringstream lines{std::string(text)};
    std::string line, word;
    while (std::getline(lines, line)) {
        std::istringstream in(line);
        in >> word;
        if (word == "stop")
            return true;
        if (word == "node") {
            std::string name;
            double x = 0, y = 0;
            if (!(in >> name >> x >> y))
                return false;
            drawing.boxes[name] = {x, -y};
        } else if (word == "edge") {
            PlainDrawing::Curve curve;
            std::size_t count = 0;
            if (!(in >> curve.from >> curve.to >> count) || count > 100000)
                return false;
            curve.points.resize(count);
            for (auto& [x, y] : curve.points) {
                if (!(in >> x >> y))
                    return false;
                y = -y;
            }
            drawing.curves.push_back(std::move(curve));
        }
    }
    return false;
}

/// x of a curve at a height, along its control points.
double curveX(const PlainDrawing::Curve& curve, double y) {
    for (std::size_t i = 1; i < curve.points.size(); ++i) {
        const auto [x0, y0] = curve.points[i - 1];
        const auto [x1, y1] = curve.points[i];
        if ((y0 <= y && y <= y1) || (y1 <= y && y <= y0))
            return y1 == y0 ? x0 : x0 + (x1 - x0) * (y - y0) / (y1 - y0);
    }
    return curve.points.empty() ? 0 : curve.points.back().first;
}

std::string itemName(int i) {
    return "n" + std::to_string(i);
}

/// Ranks from heights: boxes of a rank share their middle.
bool itemRanks(const LayoutInput& input, const PlainDrawing& drawing, std::vector<int>& ranks) {
    std::vector<double> heights;
    for (const auto& [name, place] : drawing.boxes)
        heights.push_back(place.second);
    std::sort(heights.begin(), heights.end());
    std::vector<double> levels;
    for (const double h : heights) {
        if (levels.empty() || h - levels.back() > 0.02)
            levels.push_back(h);
    }
    for (std::size_t i = 0; i < input.items.size(); ++i) {
        const auto found = drawing.boxes.find(itemName(static_cast<int>(i)));
        if (found == drawing.boxes.end())
            return false;
        const auto level =
            std::lower_bound(levels.begin(), levels.end(), found->second.second - 0.02);
        ranks.push_back(static_cast<int>(level - levels.begin()));
    }
    return true;
}

/// Up towards what a box reads, where no line gets longer by it: dot leaves such boxes anywhere in
/// between. Boxes without lines go to the top.
void settle(const LayoutInput& input, const std::vector<bool>& portal, std::vector<int>& ranks) {
    std::vector<int> in(ranks.size()), out(ranks.size());
    std::vector<std::vector<int>> producers(ranks.size());
    for (std::size_t e = 0; e < input.edges.size(); ++e) {
        if (portal[e])
            continue;
        ++out[at(input.edges[e].from)];
        ++in[at(input.edges[e].to)];
        producers[at(input.edges[e].to)].push_back(input.edges[e].from);
    }
    const bool ports = std::any_of(input.items.begin(), input.items.end(),
                                   [](auto& i) { return i.pin == Pin::Top; });
    // Producers come before readers in the list.
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (input.items[i].pin != Pin::None || in[i] < out[i] || (in[i] == 0 && out[i] > 0))
            continue;
        int earliest = ports ? 1 : 0;
        for (const int producer : producers[i])
            earliest = std::max(earliest, ranks[at(producer)] + 1);
        ranks[i] = std::min(ranks[i], earliest);
    }
}

/// Where dot has each vertex across; bends lie on the curves.
std::vector<double> acrossOf(const LayoutInput& input, const RankedLayout& layout,
                             const PlainDrawing& drawing) {
    std::vector<double> levelY(layout.layers.size(), std::nan(""));
    for (int i = 0; i < layout.itemCount; ++i)
        levelY[at(layout.vertices[at(i)].rank)] = drawing.boxes.find(itemName(i))->second.second;
    std::map<std::pair<std::string, std::string>, const PlainDrawing::Curve*> curves;
    for (const auto& curve : drawing.curves)
        curves[{curve.from, curve.to}] = &curve;

    std::vector<double> x(layout.vertices.size());
    std::vector<int> count(layout.vertices.size());
    std::map<std::pair<int, int>, int> bends;
    for (std::size_t v = 0; v < layout.vertices.size(); ++v) {
        const auto& vertex = layout.vertices[v];
        if (vertex.kind == Kind::Bend) {
            bends[{vertex.net, vertex.rank}] = static_cast<int>(v);
            continue;
        }
        std::string name = itemName(static_cast<int>(v));
        if (vertex.kind == Kind::StubOut)
            name = "o" + std::to_string(vertex.net);
        else if (vertex.kind == Kind::StubIn)
            name = "i" + std::to_string(vertex.edge);
        if (const auto found = drawing.boxes.find(name); found != drawing.boxes.end())
            x[v] = found->second.first;
    }
    for (std::size_t e = 0; e < input.edges.size(); ++e) {
        const LayoutInput::Edge& edge = input.edges[e];
        const auto curve = curves.find({itemName(edge.from), itemName(edge.to)});
        if (layout.portal[e] || curve == curves.end())
            continue;
        for (int r = layout.vertices[at(edge.from)].rank + 1; r < layout.vertices[at(edge.to)].rank;
             ++r) {
            const int bend = bends.at({edge.net, r});
            const double y = levelY[at(r)];
            x[at(bend)] += std::isnan(y) ? x[at(edge.from)] : curveX(*curve->second, y);
            ++count[at(bend)];
        }
    }
    for (std::size_t v = 0; v < x.size(); ++v) {
        if (count[v] > 1)
            x[v] /= count[v];
    }
    // Stubs that dot did not know of: beside their box.
    for (const auto& link : layout.links) {
        if (layout.vertices[at(link.lower)].kind == Kind::StubOut && x[at(link.lower)] == 0)
            x[at(link.lower)] = x[at(link.upper)];
        if (layout.vertices[at(link.upper)].kind == Kind::StubIn && x[at(link.upper)] == 0)
            x[at(link.upper)] = x[at(link.lower)];
    }
    return x;
}

void addBox(std::string& out, const std::string& name, float width, float height) {
    char text[96];
    std::snprintf(text, sizeof text, "[width=%.2f,height=%.2f]\n", static_cast<double>(width) / 72,
                  static_cast<double>(std::max(height, 4.0F)) / 72);
    out += name + text;
}

}  // namespace

std::string dotSource(const LayoutInput& input, const std::vector<bool>& portal) {
    std::string out = "digraph "
                      "g{nodesep=0.35;ranksep=0.5;nslimit=4;mclimit=2;node[shape=box,fixedsize="
                      "true,label=\"\"]\n";
    for (const Pin pin : {Pin::Top, Pin::Bottom}) {
        std::string rank;
        for (std::size_t i = 0; i < input.items.size(); ++i) {
            if (input.items[i].pin == pin)
                rank += itemName(static_cast<int>(i)) + ";";
        }
        if (!rank.empty())
            out += std::string("{rank=") + (pin == Pin::Top ? "source;" : "sink;") + rank + "}\n";
    }
    for (std::size_t i = 0; i < input.items.size(); ++i)
        addBox(out, itemName(static_cast<int>(i)), input.items[i].width, input.items[i].height);
    std::vector<bool> stub(at(input.netCount));
    for (std::size_t e = 0; e < input.edges.size(); ++e) {
        const LayoutInput::Edge& edge = input.edges[e];
        if (!portal[e]) {
            out += itemName(edge.from) + "->" + itemName(edge.to) + "\n";
            continue;
        }
        if (edge.from == edge.to)
            continue;
        const std::string outName = "o" + std::to_string(edge.net),
                          inName = "i" + std::to_string(e);
        if (!stub[at(edge.net)] && input.items[at(edge.from)].pin != Pin::Bottom) {
            stub[at(edge.net)] = true;
            addBox(out, outName, kStubWidth, kStubHeight);
            out += itemName(edge.from) + "->" + outName + "\n";
        }
        addBox(out, inName, kStubWidth, kStubHeight);
        out += inName + "->" + itemName(edge.to) + "\n";
    }
    return out + "}\n";
}

std::shared_ptr<const RankedLayout>
rankedFromPlain(const LayoutInput& input, std::vector<bool> portal, std::string_view plain) {
    PlainDrawing drawing;
    std::vector<int> ranks;
    if (!parsePlain(plain, drawing) || !itemRanks(input, drawing, ranks))
        return nullptr;
    settle(input, portal, ranks);
    auto layout = std::make_shared<RankedLayout>(
        withStubsAndBends(input, std::move(ranks), std::move(portal)));
    const std::vector<double> x = acrossOf(input, *layout, drawing);
    for (auto& layer : layout->layers) {
        std::stable_sort(layer.begin(), layer.end(),
                         [&](int a, int b) { return x[at(a)] < x[at(b)]; });
    }
    layout->fromDot = true;
    return layout;
}

std::shared_ptr<const RankedLayout> rankWithDot(const LayoutInput& input,
                                                const CancelToken& cancel) {
    std::vector<bool> portal = highFanOut(input);
    const auto plain =
        runProgram({"dot", "-Tplain"}, dotSource(input, portal), kMilliseconds, cancel);
    return plain ? rankedFromPlain(input, std::move(portal), *plain) : nullptr;
}

}  // namespace shardwright
