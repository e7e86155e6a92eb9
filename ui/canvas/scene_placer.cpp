// SPDX-License-Identifier: Apache-2.0
//
// From inner scopes to outer ones, every open scope is ranked once (by content, so that equal
// scopes share the work) and arranged with its items at their present sizes. Then everything gets
// its absolute place, from outer to inner.

#include "ui/canvas/box_text.h"
#include "ui/canvas/dot_layout.h"
#include "ui/canvas/graph_scene.h"
#include "ui/canvas/scope_input.h"

#include <algorithm>
#include <unordered_map>

namespace shardwright {

namespace {

/// Larger scopes are laid out without Graphviz, whose time grows steeply.
constexpr std::size_t kGraphvizBoxes = 300;

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

}  // namespace

class ScenePlacer {
public:
    ScenePlacer(const SceneRequest& request, const CancelToken& cancel)
        : m_request(request), m_structure(*request.structure), m_cancel(cancel),
          m_scene(std::make_shared<PlacedScene>()), m_inputs(m_structure.scopeCount()),
          m_layouts(std::make_shared<LayoutStore>(*request.layouts)) {}

    SceneResult run() {
        m_result.arrangements = m_request.arrangements;
        const auto& order = m_structure.scopesInnerLast();
        for (const ScopeId scope : order) {
            const ScopeId parent = m_structure.container(scope).parent;
            m_visible.push_back(
                m_structure.container(scope).drawn &&
                (!parent || (m_request.open[parent.index()] && m_visible[positionOf(parent)])));
            m_position[scope.value] = m_visible.size() - 1;
        }
        for (std::size_t i = order.size(); i-- > 0;) {
            if (m_cancel.cancelled())
                return {};
            if (m_visible[i] && m_request.open[order[i].index()] && !arrangeScope(order[i]))
                return {};
        }
        placeAll();
        index();
        m_result.layouts = std::move(m_layouts);
        m_result.scene = std::move(m_scene);
        return std::move(m_result);
    }

private:
    std::size_t positionOf(ScopeId scope) const { return m_position.at(scope.value); }

    std::shared_ptr<const RankedLayout> ranked(const LayoutInput& input) {
        const std::uint64_t key = input.hash();
        for (auto [entry, end] = m_layouts->equal_range(key); entry != end; ++entry) {
            if (*entry->second.first == input)
                return entry->second.second;
        }
        std::shared_ptr<const RankedLayout> layout;
        if (m_request.useGraphviz && input.items.size() > 3 && input.items.size() <= kGraphvizBoxes)
            layout = rankWithDot(input, m_cancel);
        if (!layout)
            layout = rankLayered(input, m_cancel);
        if (layout) {
            m_layouts->emplace(key,
                               std::make_pair(std::make_shared<const LayoutInput>(input), layout));
            ++m_result.scopesLaidOut;
        }
        return layout;
    }

    bool arrangeScope(ScopeId scope) {
        const SceneContainer& inside = m_structure.container(scope);
        ScopeInput& info = m_inputs[scope.index()];
        info = scopeInput(inside);
        const auto layout = ranked(info.input);
        if (!layout)
            return false;
        std::vector<ItemShape> shapes;
        for (const int i : info.itemOf)
            shapes.push_back(shapeOf(inside.items[at(i)], info));
        fillNets(info, inside, shapes);
        auto& known = m_result.arrangements[scope.index()];
        if (known && known->ranked == layout && known->shapes == shapes)
            return true;
        ArrangeOptions options;
        if (scope.index() != 0) {
            options.titleHeight = kFrameTitleHeight;
            // Room for the title and some marks beside it.
            options.minimumWidth =
                m_structure.container(inside.parent).items[at(inside.itemInParent)].width + 44;
        }
        known = arrange(layout, std::move(shapes), options);
        ++m_result.scopesArranged;
        return true;
    }

    ItemShape shapeOf(const SceneItem& item, const ScopeInput&) const {
        ItemShape shape{item.width, item.height, false, {}, {}};
        if (item.kind == BoxKind::Scope && m_request.open[item.scope.index()]) {
            const Arrangement& inner = *m_result.arrangements[item.scope.index()];
            shape.width = inner.width;
            shape.height = inner.height;
            shape.fixedPorts = true;
        }
        return shape;
    }

    /// Tells open scopes where the lines of each net meet them.
    void fillNets(const ScopeInput& info, const SceneContainer& inside,
                  std::vector<ItemShape>& shapes) {
        for (const LayoutInput::Edge& edge : info.input.edges) {
            for (const bool out : {true, false}) {
                const int end = out ? edge.from : edge.to;
                if (!shapes[at(end)].fixedPorts)
                    continue;
                const ScopeId scope = inside.items[at(info.itemOf[at(end)])].scope;
                auto& ports = out ? shapes[at(end)].outPorts : shapes[at(end)].inPorts;
                ports.emplace_back(edge.net, portOffset(scope, info.values[at(edge.net)], out));
            }
        }
        for (ItemShape& shape : shapes) {
            std::sort(shape.outPorts.begin(), shape.outPorts.end());
            shape.outPorts.erase(std::unique(shape.outPorts.begin(), shape.outPorts.end()),
                                 shape.outPorts.end());
        }
    }

    float portOffset(ScopeId scope, ValueId value, bool out) {
        auto& offsets = m_ports[scope.value];
        if (offsets.empty()) {
            const SceneContainer& inside = m_structure.container(scope);
            const Arrangement& inner = *m_result.arrangements[scope.index()];
            const ScopeInput& info = m_inputs[scope.index()];
            for (std::size_t i = 0; i < info.itemOf.size(); ++i) {
                const SceneItem& item = inside.items[at(info.itemOf[i])];
                if (item.kind != BoxKind::InPort && item.kind != BoxKind::OutPort)
                    continue;
                const int key = item.value.value * 2 + (item.kind == BoxKind::OutPort);
                offsets[key] = inner.spots[i].x + inner.spots[i].width / 2 - inner.width / 2;
            }
            if (offsets.empty())
                offsets[-1] = 0;
        }
        const auto found = offsets.find(value.value * 2 + out);
        return found == offsets.end() ? 0.0F : found->second;
    }

    struct Frame {
        ScopeId scope;
        QPointF corner;
        int box;
    };

    void placeAll() {
        m_scene->m_structure = m_request.structure;
        m_scene->m_itemBoxes.resize(m_structure.scopeCount());
        m_scene->m_nodeBox.assign(m_structure.graph().nodes.size(), -1);
        m_scene->m_scopeBox.assign(m_structure.scopeCount(), -1);
        std::vector<Frame> open{{ScopeId(0), {}, -1}};
        while (!open.empty()) {
            const Frame frame = open.back();
            open.pop_back();
            placeScope(frame, open);
        }
        const Arrangement& root = *m_result.arrangements[0];
        m_scene->m_bounds = QRectF(0, 0, root.width, root.height);
    }

    void placeScope(const Frame& frame, std::vector<Frame>& open) {
        const SceneContainer& inside = m_structure.container(frame.scope);
        const ScopeInput& info = m_inputs[frame.scope.index()];
        const Arrangement& arrangement = *m_result.arrangements[frame.scope.index()];
        const RankedLayout& layout = *arrangement.ranked;
        std::vector<int> boxes(layout.vertices.size(), -1);
        std::vector<int>& itemBoxes = m_scene->m_itemBoxes[frame.scope.index()];
        itemBoxes.assign(inside.items.size(), -1);
        for (std::size_t v = 0; v < layout.vertices.size(); ++v) {
            if (layout.vertices[v].kind == RankedLayout::Kind::Bend)
                continue;
            const Arrangement::Spot& spot = arrangement.spots[v];
            PlacedBox box;
            box.rect = QRectF(frame.corner.x() + spot.x, frame.corner.y() + spot.y, spot.width,
                              spot.height);
            box.parent = frame.box;
            box.depth = inside.depth;
            boxes[v] = static_cast<int>(m_scene->m_boxes.size());
            if (v < at(layout.itemCount)) {
                const int item = info.itemOf[v];
                itemBoxes[at(item)] = boxes[v];
                fillBox(box, inside.items[at(item)], boxes[v]);
                if (box.open)
                    open.push_back({box.scope, box.rect.topLeft(), boxes[v]});
            } else {
                const bool out = layout.vertices[v].kind == RankedLayout::Kind::StubOut;
                box.kind = out ? BoxKind::PortalOut : BoxKind::PortalIn;
                box.value = info.values[at(layout.vertices[v].net)];
            }
            m_scene->m_boxes.push_back(box);
        }
        for (const Arrangement::Line& line : arrangement.lines)
            addEdge(frame.corner, line, boxes, info.values[at(line.net)]);
    }

    void fillBox(PlacedBox& box, const SceneItem& item, int position) {
        box.kind = item.kind;
        box.family = item.family;
        box.node = item.node;
        box.scope = item.scope;
        box.value = item.value;
        if (item.kind == BoxKind::Node) {
            m_scene->m_nodeBox[item.node.index()] = position;
            ++m_scene->m_drawnNodes;
        } else if (item.kind == BoxKind::Scope) {
            m_scene->m_scopeBox[item.scope.index()] = position;
            box.open = m_request.open[item.scope.index()];
        }
    }

    void addEdge(QPointF corner, const Arrangement::Line& line, const std::vector<int>& boxes,
                 ValueId value) {
        PlacedEdge edge;
        edge.value = value;
        edge.from = boxes[at(line.from)];
        edge.to = boxes[at(line.to)];
        edge.firstPoint = static_cast<std::uint32_t>(m_scene->m_points.size());
        edge.pointCount = static_cast<std::uint32_t>(line.points.size());
        for (const auto& [x, y] : line.points)
            m_scene->m_points.emplace_back(corner.x() + x, corner.y() + y);
        const PlacedBox& end = m_scene->m_boxes[at(edge.to)];
        edge.arrow = end.kind != BoxKind::InPort && end.kind != BoxKind::OutPort &&
                     end.kind != BoxKind::PortalOut && !end.open;
        m_scene->m_edges.push_back(edge);
    }

    void index() {
        PlacedScene& scene = *m_scene;
        std::vector<QRectF> rects;
        for (const PlacedBox& box : scene.m_boxes)
            rects.push_back(box.rect);
        scene.m_boxIndex = SpatialIndex(rects);
        rects.clear();
        for (const PlacedEdge& edge : scene.m_edges) {
            QRectF bounds(scene.m_points[edge.firstPoint], QSizeF());
            for (const QPointF& p : scene.points(edge)) {
                bounds.setCoords(std::min(bounds.left(), p.x()), std::min(bounds.top(), p.y()),
                                 std::max(bounds.right(), p.x()), std::max(bounds.bottom(), p.y()));
            }
            rects.push_back(bounds);
        }
        scene.m_edgeIndex = SpatialIndex(rects);
        indexValues();
        scene.m_start = startOf(scene);
    }

    /// Where reading begins: the highest input of the graph itself, not of a function or a body.
    static QRectF startOf(const PlacedScene& scene) {
        const PlacedBox* start = nullptr;
        for (const PlacedBox& box : scene.m_boxes) {
            if (box.kind != BoxKind::Input)
                continue;
            const bool better = !start || (box.parent < 0 && start->parent >= 0) ||
                                (box.parent == start->parent && box.rect.top() < start->rect.top());
            if (better)
                start = &box;
        }
        if (!start && !scene.m_boxes.empty())
            start = &scene.m_boxes.front();
        return start ? start->rect : QRectF();
    }

    void indexValues() {
        PlacedScene& scene = *m_scene;
        scene.m_valueEdgeStart.assign(m_structure.graph().values.size() + 1, 0);
        for (const PlacedEdge& edge : scene.m_edges)
            ++scene.m_valueEdgeStart[edge.value.index() + 1];
        for (std::size_t i = 1; i < scene.m_valueEdgeStart.size(); ++i)
            scene.m_valueEdgeStart[i] += scene.m_valueEdgeStart[i - 1];
        std::vector<int> next(scene.m_valueEdgeStart.begin(), scene.m_valueEdgeStart.end() - 1);
        scene.m_valueEdges.resize(scene.m_edges.size());
        for (std::size_t e = 0; e < scene.m_edges.size(); ++e)
            scene.m_valueEdges[at(next[scene.m_edges[e].value.index()]++)] = static_cast<int>(e);
    }

    const SceneRequest& m_request;
    const SceneStructure& m_structure;
    const CancelToken& m_cancel;
    std::shared_ptr<PlacedScene> m_scene;
    std::vector<ScopeInput> m_inputs;
    std::shared_ptr<LayoutStore> m_layouts;
    SceneResult m_result;
    std::vector<bool> m_visible;  ///< By position in the order of scopes: all around it are open.
    std::unordered_map<int, std::size_t> m_position;
    std::unordered_map<int, std::unordered_map<int, float>> m_ports;
};

SceneResult placeScene(const SceneRequest& request, const CancelToken& cancel) {
    return ScenePlacer(request, cancel).run();
}

}  // namespace shardwright
