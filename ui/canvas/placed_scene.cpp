// SPDX-License-Identifier: Apache-2.0
#include "ui/canvas/placed_scene.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardwright {

namespace {

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

double distanceToSegment(QPointF p, QPointF a, QPointF b) {
    const QPointF d = b - a;
    const double length = QPointF::dotProduct(d, d);
    const double t = length == 0 ? 0 : std::clamp(QPointF::dotProduct(p - a, d) / length, 0.0, 1.0);
    const QPointF nearest = a + t * d;
    return std::hypot(p.x() - nearest.x(), p.y() - nearest.y());
}

/// To the curve that starts and ends vertically, by short straight pieces.
double distanceToCurve(QPointF p, QPointF a, QPointF b) {
    constexpr int kPieces = 12;
    double best = std::numeric_limits<double>::max();
    QPointF from = a;
    for (int i = 1; i <= kPieces; ++i) {
        const double t = static_cast<double>(i) / kPieces, s = 1 - t;
        const double middle = (a.y() + b.y()) / 2;
        const double x = a.x() * (s * s * s + 3 * s * s * t) + b.x() * (3 * s * t * t + t * t * t);
        const double y = a.y() * s * s * s + middle * 3 * s * t + b.y() * t * t * t;
        best = std::min(best, distanceToSegment(p, from, {x, y}));
        from = {x, y};
    }
    return best;
}

}  // namespace

int PlacedScene::boxAt(QPointF point) const {
    std::vector<int> found;
    boxesIn(QRectF(point, QSizeF()), found);
    int best = -1;
    for (const int i : found) {
        const PlacedBox& box = m_boxes[at(i)];
        const bool leaf = !box.open && box.rect.height() > 0;
        const bool bestLeaf = best >= 0 && !m_boxes[at(best)].open;
        if (box.rect.height() > 0 && (best < 0 || (leaf && !bestLeaf) ||
                                      (leaf == bestLeaf && box.depth >= m_boxes[at(best)].depth)))
            best = i;
    }
    return best;
}

int PlacedScene::edgeAt(QPointF point, double reach) const {
    std::vector<int> found;
    edgesIn(QRectF(point.x() - reach, point.y() - reach, 2 * reach, 2 * reach), found);
    int best = -1;
    double nearest = reach;
    for (const int e : found) {
        const auto line = points(m_edges[at(e)]);
        for (std::size_t i = 1; i < line.size(); ++i) {
            const double distance = distanceToCurve(point, line[i - 1], line[i]);
            if (distance < nearest) {
                nearest = distance;
                best = e;
            }
        }
    }
    return best;
}

QRectF PlacedScene::rectOf(NodeId node) const {
    const int box = visibleBox(node);
    return box < 0 ? QRectF() : m_boxes[at(box)].rect;
}

int PlacedScene::visibleBox(NodeId node) const {
    return visibleBox(m_structure->place(node));
}

int PlacedScene::visibleBox(ItemPlace place) const {
    while (place.scope && place.item >= 0) {
        const auto& boxes = m_itemBoxes[place.scope.index()];
        if (!boxes.empty())
            return boxes[at(place.item)];
        const SceneContainer& inside = m_structure->container(place.scope);
        place = {inside.parent, inside.itemInParent};
    }
    return -1;
}

int PlacedScene::producerBox(ValueId value) const {
    return visibleBox(m_structure->producer(value));
}

std::span<const int> PlacedScene::edgesOfValue(ValueId value) const {
    if (!value || m_valueEdgeStart.empty())
        return {};
    const int begin = m_valueEdgeStart[value.index()];
    return {m_valueEdges.data() + begin, at(m_valueEdgeStart[value.index() + 1] - begin)};
}

std::vector<int> PlacedScene::consumerBoxes(ValueId value) const {
    std::vector<int> boxes;
    for (const int e : edgesOfValue(value)) {
        const PlacedBox& end = m_boxes[at(m_edges[at(e)].to)];
        if (end.kind == BoxKind::Node || end.kind == BoxKind::Output ||
            (end.kind == BoxKind::Scope && !end.open))
            boxes.push_back(m_edges[at(e)].to);
    }
    std::sort(boxes.begin(), boxes.end());
    boxes.erase(std::unique(boxes.begin(), boxes.end()), boxes.end());
    return boxes;
}

namespace {

/// Values that come into (go out of) a box, in the order of their places along its edge.
std::vector<ValueId> valuesAt(const PlacedScene& scene, int box, bool in) {
    std::vector<int> near;
    const QRectF& rect = scene.boxes()[at(box)].rect;
    const double y = in ? rect.top() : rect.bottom();
    scene.edgesIn(QRectF(rect.left() - 1, y - 1, rect.width() + 2, 2), near);
    std::vector<std::pair<double, ValueId>> found;
    for (const int e : near) {
        const PlacedEdge& edge = scene.edges()[at(e)];
        if ((in ? edge.to : edge.from) == box)
            found.emplace_back((in ? scene.points(edge).back() : scene.points(edge).front()).x(),
                               edge.value);
    }
    std::sort(found.begin(), found.end());
    std::vector<ValueId> values;
    for (const auto& [x, value] : found) {
        if (values.empty() || values.back() != value)
            values.push_back(value);
    }
    return values;
}

int beside(const PlacedScene& scene, int box, bool left) {
    const PlacedBox& from = scene.boxes()[at(box)];
    const QRectF bounds = scene.bounds();
    QRectF band(bounds.left(), from.rect.top(), bounds.width(), from.rect.height());
    if (left)
        band.setRight(from.rect.left() - 1);
    else
        band.setLeft(from.rect.right() + 1);
    std::vector<int> found;
    scene.boxesIn(band, found);
    int best = -1;
    double nearest = std::numeric_limits<double>::max();
    for (const int i : found) {
        const PlacedBox& other = scene.boxes()[at(i)];
        const bool target = other.kind == BoxKind::Node || other.kind == BoxKind::Scope ||
                            other.kind == BoxKind::Input || other.kind == BoxKind::Output;
        if (!target || other.open || i == box)
            continue;
        const double distance =
            left ? from.rect.left() - other.rect.right() : other.rect.left() - from.rect.right();
        if (distance >= 0 && distance < nearest) {
            nearest = distance;
            best = i;
        }
    }
    return best;
}

}  // namespace

int PlacedScene::neighbour(int box, Walk direction) const {
    if (box < 0)
        return -1;
    if (direction == Walk::Left || direction == Walk::Right)
        return beside(*this, box, direction == Walk::Left);
    const bool up = direction == Walk::Producer;
    const double x = m_boxes[at(box)].rect.center().x();
    int best = -1;
    double nearest = std::numeric_limits<double>::max();
    for (const ValueId value : valuesAt(*this, box, up)) {
        std::vector<int> ends;
        if (up)
            ends.push_back(producerBox(value));
        else
            ends = consumerBoxes(value);
        for (const int end : ends) {
            if (end < 0 || end == box)
                continue;
            // The nearest by what the eye sees: the next rank before the same column.
            const QPointF to = m_boxes[at(end)].rect.center();
            const double distance =
                std::abs(to.y() - m_boxes[at(box)].rect.center().y()) + std::abs(to.x() - x) * 0.5;
            if (distance < nearest) {
                nearest = distance;
                best = end;
            }
        }
    }
    return best;
}

}  // namespace shardwright
