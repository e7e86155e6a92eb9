// SPDX-License-Identifier: Apache-2.0
//
// Order of painting: frames from outer to inner, lines, boxes, titles of frames (lines run under
// them), marks.

#include "ui/canvas/scene_painter.h"

#include <algorithm>

namespace shardwright {

namespace {
std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}
constexpr double kFarZoom = 0.22;
constexpr int kManyBoxes = 2500;
}  // namespace

ScenePainter::ScenePainter(QPainter& painter, const PlacedScene& scene, const CanvasTheme& theme,
                           double zoom)
    : m_painter(painter), m_scene(scene), m_theme(theme), m_zoom(zoom), m_titleFont(titleFont()),
      m_smallFont(smallFont()), m_tinyFont(smallFont()) {
    m_tinyFont.setPixelSize(10);
}

void ScenePainter::setOverlay(const Overlay* overlay, GraphCanvas::EdgeText edgeText,
                              GraphCanvas::Marks marks) {
    m_overlay = overlay;
    m_edgeText = edgeText;
    m_marks = marks;
}

void ScenePainter::paint(const QRectF& part) {
    if (m_visible.isNull())
        m_visible = part;
    // Badges and shadows stick out of their boxes.
    const QRectF wide = part.adjusted(-14, -14, 14, 14);
    std::vector<int> boxes, edges;
    m_scene.boxesIn(wide, boxes);
    m_scene.edgesIn(wide.adjusted(-150, -30, 150, 30), edges);
    const bool far = !m_fullDetail && (m_zoom < kFarZoom || boxes.size() > kManyBoxes);
    m_painter.setRenderHint(QPainter::Antialiasing, !far);
    m_painter.setRenderHint(QPainter::TextAntialiasing);
    // Outer frames come before inner ones in the list of boxes, but not before all boxes of other
    // scopes.
    std::vector<int> frames;
    std::copy_if(boxes.begin(), boxes.end(), std::back_inserter(frames),
                 [&](int i) { return m_scene.boxes()[at(i)].open; });
    std::stable_sort(frames.begin(), frames.end(), [&](int a, int b) {
        return m_scene.boxes()[at(a)].depth < m_scene.boxes()[at(b)].depth;
    });
    for (const int i : frames)
        paintFrame(m_scene.boxes()[at(i)]);
    if (far) {
        paintEdgesFar(edges);
        paintBoxesFar(boxes);
    } else {
        paintEdges(edges);
        for (const int i : frames)
            paintFrameTitle(m_scene.boxes()[at(i)]);
        for (const int i : boxes)
            paintBox(i);
        if (readable()) {
            for (const int e : edges) {
                paintEdgeText(m_scene.edges()[at(e)]);
                paintEdgeMarks(m_scene.edges()[at(e)]);
            }
        }
    }
    m_painter.setRenderHint(QPainter::Antialiasing);
    paintPortalLines();
    for (const int i : boxes) {
        const PlacedBox& box = m_scene.boxes()[at(i)];
        paintOutline(box);
        if (!readable())
            paintFarTitle(box);
        else if (m_overlay && !far && box.kind == BoxKind::Node)
            paintNodeMarks(box);
    }
}

bool ScenePainter::isSelected(const PlacedBox& box) const {
    if (!m_selection)
        return false;
    switch (box.kind) {
        case BoxKind::Node: return m_selection->nodes.contains(box.node);
        case BoxKind::Scope: return m_selection->scope == box.scope;
        case BoxKind::InPort:
        case BoxKind::OutPort: return false;
        default: return m_selection->value && m_selection->value == box.value;
    }
}

bool ScenePainter::isHighlighted(const PlacedBox& box) const {
    if (!m_selection || m_selection->highlighted.isEmpty())
        return false;
    if (box.kind == BoxKind::Node)
        return m_selection->highlighted.contains(box.node);
    if (box.kind != BoxKind::Scope || box.open)
        return false;
    const SceneStructure& structure = *m_scene.structure();
    return std::any_of(
        m_selection->highlighted.begin(), m_selection->highlighted.end(),
        [&](NodeId node) { return structure.contains(box.scope, structure.place(node).scope); });
}

namespace {

/// Follows one value from an edge over the ports of frames to its far end.
void follow(const PlacedScene& scene, int edge, bool up, std::vector<int>& out) {
    const auto edges = scene.edgesOfValue(scene.edges()[at(edge)].value);
    if (edges.size() > 400)
        return;
    std::vector<int> open{edge};
    while (!open.empty()) {
        const PlacedEdge& now = scene.edges()[at(open.back())];
        open.pop_back();
        const int end = up ? now.from : now.to;
        const PlacedBox& box = scene.boxes()[at(end)];
        for (const int e : edges) {
            const PlacedEdge& next = scene.edges()[at(e)];
            const int near = up ? next.to : next.from;
            const bool joined =
                (box.kind == BoxKind::InPort || box.kind == BoxKind::OutPort)
                    ? (up ? box.kind == BoxKind::InPort : box.kind == BoxKind::OutPort) &&
                          near == box.parent
                    : box.open && scene.boxes()[at(near)].parent == end &&
                          scene.boxes()[at(near)].kind == (up ? BoxKind::OutPort : BoxKind::InPort);
            if (joined && std::find(out.begin(), out.end(), e) == out.end()) {
                out.push_back(e);
                open.push_back(e);
            }
        }
    }
}

}  // namespace

std::vector<int> activeEdges(const PlacedScene& scene, const QSet<NodeId>& nodes, ScopeId scope,
                             ValueId value) {
    std::vector<int> active;
    const auto ofValue = scene.edgesOfValue(value);
    active.assign(ofValue.begin(), ofValue.end());
    std::vector<int> boxes, near;
    if (nodes.size() <= 200) {
        for (const NodeId node : nodes)
            boxes.push_back(scene.boxOf(node));
    }
    if (scope)
        boxes.push_back(scene.boxOf(scope));
    for (const int box : boxes) {
        if (box < 0)
            continue;
        near.clear();
        scene.edgesIn(scene.boxes()[at(box)].rect.adjusted(-1, -1, 1, 1), near);
        for (const int e : near) {
            const PlacedEdge& edge = scene.edges()[at(e)];
            if (edge.from != box && edge.to != box)
                continue;
            active.push_back(e);
            follow(scene, e, edge.to == box, active);
        }
    }
    std::sort(active.begin(), active.end());
    active.erase(std::unique(active.begin(), active.end()), active.end());
    return active;
}

}  // namespace shardwright
