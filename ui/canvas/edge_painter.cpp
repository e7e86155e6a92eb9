// SPDX-License-Identifier: Apache-2.0
#include "ui/canvas/byte_text.h"
#include "ui/canvas/scene_painter.h"

#include <QFontMetricsF>
#include <QLineF>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace shardwright {

namespace {

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

/// A curve leaves and arrives vertically. Far sideways it bends sooner, so that it does not look
/// like a step.
void addCurve(QPainterPath& path, QPointF from, QPointF to) {
    if (std::abs(from.x() - to.x()) < 0.5) {
        path.lineTo(to);
        return;
    }
    const double middle = (from.y() + to.y()) / 2;
    path.cubicTo(from.x(), middle, to.x(), middle, to.x(), to.y());
}

bool contains(const std::vector<int>& sorted, int value) {
    return std::binary_search(sorted.begin(), sorted.end(), value);
}

}  // namespace

QColor ScenePainter::edgeColour(const PlacedEdge& edge) const {
    if (m_overlay && m_marks.testFlag(GraphCanvas::AxisMarks)) {
        const auto& axes = m_overlay->axesOf(edge.value);
        if (!axes.empty())
            return m_theme.axis(axes.front());
    }
    return m_theme.edge;
}

/// From afar: straight hairlines in one batch a colour.
void ScenePainter::paintEdgesFar(const std::vector<int>& edges) {
    QColor colour = m_theme.edge;
    colour.setAlphaF(static_cast<float>(std::clamp(m_zoom * 6, 0.25, 0.9)));
    std::vector<QLineF> lines, active;
    const double least = 0.7 / m_zoom;
    for (const int e : edges) {
        const auto points = m_scene.points(m_scene.edges()[at(e)]);
        auto& list = m_selection && contains(m_selection->edges, e) ? active : lines;
        // Shorter than a pixel: nothing to see.
        const QPointF span = points.back() - points.front();
        if (std::abs(span.x()) + std::abs(span.y()) < least)
            continue;
        for (std::size_t i = 1; i < points.size(); ++i)
            list.emplace_back(points[i - 1], points[i]);
    }
    m_painter.setPen(QPen(colour, 0));
    m_painter.drawLines(lines.data(), static_cast<int>(lines.size()));
    QPen pen(m_theme.accent, 2);
    pen.setCosmetic(true);
    m_painter.setPen(pen);
    m_painter.drawLines(active.data(), static_cast<int>(active.size()));
}

void ScenePainter::paintEdges(const std::vector<int>& edges) {
    for (const int e : edges) {
        if (!m_selection || !contains(m_selection->edges, e))
            paintEdge(m_scene.edges()[at(e)], false);
    }
    if (!m_selection)
        return;
    for (const int e : edges) {
        if (contains(m_selection->edges, e))
            paintEdge(m_scene.edges()[at(e)], true);
    }
}

void ScenePainter::paintEdge(const PlacedEdge& edge, bool active) {
    const auto points = m_scene.points(edge);
    const QColor colour = active ? m_theme.accent : edgeColour(edge);
    const bool stub = m_scene.boxes()[at(edge.from)].kind == BoxKind::PortalIn ||
                      m_scene.boxes()[at(edge.to)].kind == BoxKind::PortalOut;
    QPen pen(colour, active ? 2.2 : (colour == m_theme.edge ? 1.3 : 1.8));
    pen.setCapStyle(Qt::FlatCap);
    if (stub && !active)
        pen.setDashPattern({2.5, 2});
    QPointF end = points.back();
    if (edge.arrow && m_zoom > 0.3)
        end.ry() -= 4;
    QPainterPath path(points.front());
    for (std::size_t i = 1; i < points.size(); ++i)
        addCurve(path, points[i - 1], i + 1 == points.size() ? end : points[i]);
    m_painter.setPen(pen);
    m_painter.setBrush(Qt::NoBrush);
    m_painter.drawPath(path);
    if (edge.arrow && m_zoom > 0.3)
        paintArrow(points.back(), colour);
}

void ScenePainter::paintArrow(QPointF tip, const QColor& colour) {
    const QPointF triangle[] = {tip, tip + QPointF(-4, -8), tip + QPointF(4, -8)};
    m_painter.setPen(Qt::NoPen);
    m_painter.setBrush(colour);
    m_painter.drawPolygon(triangle, 3);
}

/// Beside the line, just under the box that makes the value; once a value.
void ScenePainter::paintEdgeText(const PlacedEdge& edge) {
    if (m_edgeText == GraphCanvas::EdgeText::None || m_zoom < 0.55)
        return;
    const PlacedBox& from = m_scene.boxes()[at(edge.from)];
    const bool source = from.kind == BoxKind::Node || from.kind == BoxKind::Input ||
                        (from.kind == BoxKind::Scope && !from.open);
    if (!source)
        return;
    const QPointF start(m_scene.points(edge).front());
    std::vector<int> beside;
    m_scene.edgesIn(QRectF(start.x() - 2, start.y() - 1, 162, 2), beside);
    double room = 150;
    for (const int e : beside) {
        const PlacedEdge& other = m_scene.edges()[at(e)];
        const double x = m_scene.points(other).front().x();
        if (other.from == edge.from && other.value == edge.value && &other < &edge)
            return;
        if (other.from == edge.from && x > start.x() + 1)
            room = std::min(room, x - start.x() - 6);
    }
    QString text;
    QColor colour = m_theme.mutedText;
    if (m_edgeText == GraphCanvas::EdgeText::Name)
        text = cleanText(m_scene.graph().value(edge.value).name, 60);
    else if (m_overlay && m_edgeText == GraphCanvas::EdgeText::Shape)
        text = m_overlay->shapeText(edge.value);
    else if (m_overlay)
        text = m_overlay->layoutText(edge.value);
    if (m_overlay && m_edgeText == GraphCanvas::EdgeText::Layout &&
        m_overlay->isExplicit(edge.value))
        colour = m_theme.text;
    if (text.isEmpty() || room < 20)
        return;
    const QRectF rect = edgeTextRect(edge, text, room);
    if (rect.isEmpty())
        return;
    QColor halo = m_theme.background;
    halo.setAlphaF(0.82F);
    m_painter.setPen(Qt::NoPen);
    m_painter.setBrush(halo);
    m_painter.drawRoundedRect(rect, 3, 3);
    paintText(m_tinyFont, colour, rect.adjusted(2, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, text,
              Qt::ElideMiddle);
}

/// Right of the line; left of it where a box (the stub of a portal) is in the way; else shorter.
/// Empty where there is no room.
QRectF ScenePainter::edgeTextRect(const PlacedEdge& edge, const QString& text, double room) const {
    constexpr double kAway = 4, kHeight = 14, kLeast = 20;
    const QPointF start(m_scene.points(edge).front());
    const double width = std::min(room, QFontMetricsF(m_tinyFont).horizontalAdvance(text) + 4);
    const auto freeFrom = [&](const QRectF& rect) {
        std::vector<int> near;
        m_scene.boxesIn(rect, near);
        double left = rect.right();
        for (const int i : near) {
            const PlacedBox& box = m_scene.boxes()[at(i)];
            if (!box.open && i != edge.from && box.rect.intersects(rect))
                left = std::min(left, box.rect.left());
        }
        return left;
    };
    QRectF right(start.x() + kAway, start.y() + 3, width, kHeight);
    const double free = freeFrom(right);
    if (free >= right.right())
        return right;
    const QRectF left(start.x() - kAway - width, right.top(), width, kHeight);
    std::vector<int> lines;
    m_scene.edgesIn(left, lines);
    const bool alone = std::none_of(lines.begin(), lines.end(), [&](int e) {
        const PlacedEdge& other = m_scene.edges()[at(e)];
        return other.from == edge.from && m_scene.points(other).front().x() < start.x() - 1;
    });
    if (alone && freeFrom(left) >= left.right())
        return left;
    right.setRight(free - 3);
    return right.width() < kLeast ? QRectF() : right;
}

/// Collectives at the end of the line that they happen at.
void ScenePainter::paintEdgeMarks(const PlacedEdge& edge) {
    if (!m_overlay || !m_marks.testFlag(GraphCanvas::CommunicationMarks))
        return;
    for (const bool output : {true, false}) {
        const PlacedBox& box = m_scene.boxes()[at(output ? edge.from : edge.to)];
        if (box.kind != BoxKind::Node)
            continue;
        const QPointF end = output ? m_scene.points(edge).front() : m_scene.points(edge).back();
        for (const int c : m_overlay->node(box.node).communication) {
            const CommunicationMark& mark = m_overlay->communication()[at(c)];
            if (mark.value == edge.value && (mark.phase == CommPhase::Output) == output)
                paintCommunication(mark, end + QPointF(0, output ? 26 : -18));
        }
    }
}

void ScenePainter::paintCommunication(const CommunicationMark& mark, QPointF middle) {
    QString text = QString::fromStdString(collectiveName(mark.kind));
    if (!mark.shared)
        text += QStringLiteral("  ") + byteText(mark.bytes);
    const QFontMetricsF metrics(m_tinyFont);
    const double width = metrics.horizontalAdvance(text) + 26;
    const QRectF pill(middle.x() - 10, middle.y() - 8, width, 16);
    m_painter.setPen(QPen(m_theme.communication, 1.2));
    m_painter.setBrush(m_theme.box);
    m_painter.drawRoundedRect(pill, 8, 8);
    // Two arrows past each other.
    const double x = pill.left() + 10, y = middle.y();
    m_painter.drawLine(QPointF(x - 4, y - 2), QPointF(x + 4, y - 2));
    m_painter.drawLine(QPointF(x + 4, y - 2), QPointF(x + 1.5, y - 4.5));
    m_painter.drawLine(QPointF(x - 4, y + 2), QPointF(x + 4, y + 2));
    m_painter.drawLine(QPointF(x - 4, y + 2), QPointF(x - 1.5, y + 4.5));
    paintText(m_tinyFont, m_theme.text, pill.adjusted(18, 0, -4, 0),
              Qt::AlignLeft | Qt::AlignVCenter, text);
}

/// The whole line of a portal whose end is selected.
void ScenePainter::paintPortalLines() {
    if (!m_selection)
        return;
    QPen pen(m_theme.accent, 1.6, Qt::DashLine);
    pen.setCosmetic(m_zoom < 1);
    m_painter.setBrush(Qt::NoBrush);
    m_painter.setPen(pen);
    int drawn = 0;
    for (const int e : m_selection->edges) {
        const PlacedEdge& edge = m_scene.edges()[at(e)];
        const bool in = m_scene.boxes()[at(edge.from)].kind == BoxKind::PortalIn;
        if (!in && m_scene.boxes()[at(edge.to)].kind != BoxKind::PortalOut)
            continue;
        const PlacedBox& stub = m_scene.boxes()[at(in ? edge.from : edge.to)];
        for (const int other : m_scene.edgesOfValue(edge.value)) {
            const PlacedEdge& far = m_scene.edges()[at(other)];
            const PlacedBox& end = m_scene.boxes()[at(in ? far.to : far.from)];
            if (end.kind != (in ? BoxKind::PortalOut : BoxKind::PortalIn) ||
                end.parent != stub.parent || ++drawn > 2000)
                continue;
            const QPointF from = (in ? end : stub).rect.center() + QPointF(0, kStubHeight / 2);
            const QPointF to = (in ? stub : end).rect.center() - QPointF(0, kStubHeight / 2);
            QPainterPath path(from);
            const double bend = std::max(40.0, std::abs(to.y() - from.y()) / 3);
            path.cubicTo(from + QPointF(0, bend), to - QPointF(0, bend), to);
            m_painter.drawPath(path);
        }
    }
}

}  // namespace shardwright
