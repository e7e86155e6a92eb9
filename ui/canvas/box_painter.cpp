// SPDX-License-Identifier: Apache-2.0
#include "ui/canvas/box_text.h"
#include "ui/canvas/byte_text.h"
#include "ui/canvas/scene_painter.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainterPath>

#include <algorithm>
#include <array>
#include <cmath>

namespace shardwright {

namespace {

constexpr double kRadius = 6;

QString text(const char* source) {
    return QCoreApplication::translate("GraphCanvas", source);
}

QString nodeCount(int count) {
    return count == 1 ? text("1 node") : text("%1 nodes").arg(count);
}

QPainterPath topRounded(const QRectF& r, double radius) {
    QPainterPath path;
    path.moveTo(r.bottomLeft());
    path.lineTo(r.left(), r.top() + radius);
    path.quadTo(r.topLeft(), r.topLeft() + QPointF(radius, 0));
    path.lineTo(r.right() - radius, r.top());
    path.quadTo(r.topRight(), r.topRight() + QPointF(0, radius));
    path.lineTo(r.bottomRight());
    path.closeSubpath();
    return path;
}

}  // namespace

void ScenePainter::paintText(const QFont& font, const QColor& colour, const QRectF& rect, int flags,
                             const QString& words, Qt::TextElideMode elide) {
    m_painter.setFont(font);
    m_painter.setPen(colour);
    const QFontMetricsF metrics(font);
    m_painter.drawText(rect, flags | Qt::TextSingleLine | Qt::TextDontClip,
                       metrics.elidedText(words, elide, rect.width() + 0.5));
}

/// From afar: filled rectangles, one batch a colour.
void ScenePainter::paintBoxesFar(const std::vector<int>& boxes) {
    std::array<std::vector<QRectF>, 16> batches;
    for (const int i : boxes) {
        const PlacedBox& box = m_scene.boxes()[static_cast<std::size_t>(i)];
        if (box.open || box.rect.height() == 0)
            continue;
        std::size_t batch = static_cast<std::size_t>(box.family);
        if (box.kind != BoxKind::Node)
            batch = 11 + (box.kind == BoxKind::Scope    ? 0
                          : box.kind == BoxKind::Input  ? 1
                          : box.kind == BoxKind::Output ? 2
                                                        : 3);
        batches[batch].push_back(box.rect);
    }
    m_painter.setPen(Qt::NoPen);
    for (std::size_t b = 0; b < batches.size(); ++b) {
        if (batches[b].empty())
            continue;
        QColor colour;
        switch (b) {
            case 11: colour = m_theme.scopeFrame; break;
            case 12: colour = m_theme.input; break;
            case 13: colour = m_theme.output; break;
            case 14: colour = m_theme.portal; break;
            default: colour = m_theme.family(static_cast<OpFamily>(b));
        }
        m_painter.setBrush(m_theme.dark ? colour.lighter(125) : colour.darker(112));
        m_painter.drawRects(batches[b].data(), static_cast<int>(batches[b].size()));
    }
}

void ScenePainter::paintBox(int index) {
    const PlacedBox& box = m_scene.boxes()[static_cast<std::size_t>(index)];
    switch (box.kind) {
        case BoxKind::Node: paintNode(box); break;
        case BoxKind::Scope:
            if (!box.open)
                paintScope(box);
            break;
        case BoxKind::Input:
        case BoxKind::Output: paintEndpoint(box); break;
        case BoxKind::PortalIn:
        case BoxKind::PortalOut: paintPortal(box); break;
        case BoxKind::InPort:
        case BoxKind::OutPort:
            if (readable()) {
                m_painter.setPen(Qt::NoPen);
                m_painter.setBrush(m_theme.edge);
                m_painter.drawEllipse(box.rect.center(), 2.5, 2.5);
            }
            break;
    }
}

void ScenePainter::paintNode(const PlacedBox& box) {
    const QRectF& r = box.rect;
    const QColor header = m_theme.family(box.family);
    const bool onlyHeader = r.height() <= kHeaderHeight + 1;
    m_painter.setPen(QPen(m_theme.boxBorder, 1));
    m_painter.setBrush(onlyHeader || !readable() ? header : m_theme.box);
    m_painter.drawRoundedRect(r, kRadius, kRadius);
    if (!readable())
        return;
    const QRectF top(r.left(), r.top(), r.width(), kHeaderHeight);
    if (!onlyHeader) {
        m_painter.setPen(Qt::NoPen);
        m_painter.setBrush(header);
        m_painter.drawPath(topRounded(top.adjusted(0.5, 0.5, -0.5, 0), kRadius - 0.5));
    }
    const GraphIndex& graph = m_scene.graph();
    if (r.height() <= kConstantHeight) {
        paintText(m_smallFont, m_theme.mutedText, r, Qt::AlignCenter,
                  cleanText(graph.opType(box.node), 40));
        return;
    }
    double chips = 0;
    if (m_overlay && m_marks.testFlag(GraphCanvas::AxisMarks)) {
        const NodeMarks& marks = m_overlay->node(box.node);
        chips = paintChips(marks.axes, marks.explicitAxes, {r.right() - 6, top.center().y()},
                           r.width() * 0.55);
    }
    paintText(m_titleFont, m_theme.familyText(box.family), top.adjusted(10, 0, -8 - chips, 0),
              Qt::AlignLeft | Qt::AlignVCenter, cleanText(graph.opType(box.node), 40));
    double y = top.bottom() + 4;
    const auto line = [&](const QString& words, const QColor& colour, Qt::TextElideMode elide) {
        paintText(m_smallFont, colour, {r.left() + 10, y, r.width() - 20, kLineHeight},
                  Qt::AlignLeft | Qt::AlignVCenter, words, elide);
        y += kLineHeight;
    };
    if (onlyHeader)
        return;
    const BoxContents& contents = m_scene.structure()->boxContents();
    if (contents.names) {
        const std::string name =
            shownName(graph, box.node, m_scene.structure()->place(box.node).scope);
        if (!name.empty())
            line(cleanText(name), m_theme.text, Qt::ElideMiddle);
    }
    if (contents.attributes)
        for (const std::string& attribute : attributeLines(graph, box.node))
            line(cleanText(attribute, 60), m_theme.mutedText, Qt::ElideRight);
    if (!contents.weights)
        return;
    const std::vector<ValueId> weights = weightsOf(graph, box.node);
    for (std::size_t i = 0; i < weights.size() && i < kWeightLines; ++i) {
        QString words = cleanText(shortValueName(graph.value(weights[i]).name), 60);
        if (i + 1 == kWeightLines && weights.size() > kWeightLines)
            words = text("and %1 more").arg(weights.size() - i);
        else if (const QString shape = m_overlay ? m_overlay->shapeText(weights[i]) : QString();
                 !shape.isEmpty())
            words += QStringLiteral("  ") + shape;
        line(words, m_theme.mutedText, Qt::ElideRight);
    }
}

void ScenePainter::paintFrame(const PlacedBox& box) {
    QPen pen(m_theme.scopeFrame, 1);
    pen.setCosmetic(m_zoom < 1);
    m_painter.setPen(pen);
    m_painter.setBrush(m_theme.scopeFill[box.depth % 2]);
    if (m_zoom < 0.2)
        m_painter.drawRect(box.rect);
    else
        m_painter.drawRoundedRect(box.rect, 8, 8);
}

void ScenePainter::paintFrameTitle(const PlacedBox& box) {
    if (!readable())
        return;
    QRectF bar(box.rect.left(), box.rect.top(), box.rect.width(), kFrameTitleHeight);
    m_painter.setPen(Qt::NoPen);
    m_painter.setBrush(m_theme.scopeTitle);
    m_painter.drawPath(topRounded(bar.adjusted(0.5, 0.5, -0.5, 0), 7.5));
    paintChevron({bar.left() + 15, bar.center().y()}, true, m_theme.text);
    // The name stays in sight while any part of its bar is.
    bar.setLeft(std::max(bar.left(), std::min(m_visible.left(), bar.right() - 160)));
    double right = std::min(bar.right(), std::max(m_visible.right(), bar.left() + 160)) - 10;
    if (m_overlay) {
        const ScopeMarks& marks = m_overlay->scope(box.scope);
        if (m_marks.testFlag(GraphCanvas::AxisMarks))
            right -=
                paintChips(marks.axes, marks.axes, {right, bar.center().y()}, bar.width() * 0.4);
    }
    const QString name = cleanText(m_scene.graph().scope(box.scope).name, 120);
    const QRectF room(bar.left() + 28, bar.top(), right - bar.left() - 34, bar.height());
    paintText(m_titleFont, m_theme.text, room, Qt::AlignLeft | Qt::AlignVCenter, name,
              Qt::ElideMiddle);
    const double used = QFontMetricsF(m_titleFont).horizontalAdvance(name) + 10;
    if (used + 60 < room.width()) {
        paintText(m_smallFont, m_theme.mutedText, room.adjusted(used, 0, 0, 0),
                  Qt::AlignLeft | Qt::AlignVCenter,
                  nodeCount(m_scene.structure()->container(box.scope).nodesInside));
    }
}

void ScenePainter::paintScope(const PlacedBox& box) {
    const QRectF& r = box.rect;
    QPen pen(m_theme.scopeFrame, 1);
    m_painter.setPen(pen);
    m_painter.setBrush(m_theme.scopeBox);
    // A second sheet behind says that there is more inside.
    m_painter.drawRoundedRect(r.adjusted(4, 4, 4, 4), 8, 8);
    m_painter.drawRoundedRect(r, 8, 8);
    if (!readable())
        return;
    paintChevron({r.left() + 15, r.top() + 18}, false, m_theme.text);
    double chips = 0;
    const ScopeMarks* marks = m_overlay ? &m_overlay->scope(box.scope) : nullptr;
    if (marks && m_marks.testFlag(GraphCanvas::AxisMarks))
        chips =
            paintChips(marks->axes, marks->axes, {r.right() - 8, r.top() + 18}, r.width() * 0.45);
    paintText(m_titleFont, m_theme.text, {r.left() + 28, r.top() + 7, r.width() - 36 - chips, 22},
              Qt::AlignLeft | Qt::AlignVCenter,
              cleanText(m_scene.graph().scope(box.scope).name, 80), Qt::ElideMiddle);
    const bool pending = m_selection && m_selection->pending.contains(box.scope);
    const QString count = pending
                              ? text("opening ...")
                              : nodeCount(m_scene.structure()->container(box.scope).nodesInside);
    paintText(m_smallFont, m_theme.mutedText,
              {r.left() + 28, r.top() + 28, r.width() - 36, kLineHeight},
              Qt::AlignLeft | Qt::AlignVCenter, count);
    if (!marks)
        return;
    if (marks->collectives > 0 && m_marks.testFlag(GraphCanvas::CommunicationMarks)) {
        paintText(m_smallFont, m_theme.communication,
                  {r.left() + 28, r.top() + 44, r.width() - 34, kLineHeight},
                  Qt::AlignLeft | Qt::AlignVCenter,
                  (marks->collectives == 1 ? text("1 collective")
                                           : text("%1 collectives").arg(marks->collectives)) +
                      QStringLiteral(", ") + byteText(marks->bytes));
    }
    if (m_marks.testFlag(GraphCanvas::StageMarks))
        paintStage(marks->firstStage, marks->lastStage, r.topLeft());
    if (m_marks.testFlag(GraphCanvas::DiagnosticMarks))
        paintDiagnostics(marks->errors, marks->warnings, r.topRight() + QPointF(3, -1));
}

void ScenePainter::paintEndpoint(const PlacedBox& box) {
    const QRectF& r = box.rect;
    const QColor fill = box.kind == BoxKind::Input ? m_theme.input : m_theme.output;
    m_painter.setPen(QPen(m_theme.boxBorder, 1));
    m_painter.setBrush(fill);
    m_painter.drawRoundedRect(r, r.height() / 2, r.height() / 2);
    if (readable())
        paintText(m_titleFont, m_theme.text, r.adjusted(12, 0, -12, 0), Qt::AlignCenter,
                  cleanText(m_scene.graph().value(box.value).name), Qt::ElideMiddle);
}

void ScenePainter::paintPortal(const PlacedBox& box) {
    const QRectF& r = box.rect;
    m_painter.setPen(Qt::NoPen);
    m_painter.setBrush(m_theme.portal);
    m_painter.drawRoundedRect(r, 4, 4);
    if (m_zoom < 0.55)
        return;
    const bool out = box.kind == BoxKind::PortalOut;
    QString words = cleanText(shortValueName(m_scene.graph().value(box.value).name), 60);
    words = out ? words + QStringLiteral(" \u2192") : QStringLiteral("\u2192 ") + words;
    paintText(m_tinyFont, m_theme.portalText, r.adjusted(6, 0, -6, 0), Qt::AlignCenter, words,
              Qt::ElideMiddle);
}

void ScenePainter::paintOutline(const PlacedBox& box) {
    const bool selected = isSelected(box);
    if (!selected && !isHighlighted(box))
        return;
    const QColor colour = selected ? m_theme.accent : m_theme.highlight;
    QRectF rect = box.rect;
    // At least a few pixels large, so that a find is seen from afar.
    const double least = 5 / m_zoom;
    if (rect.width() < least || rect.height() < least) {
        const QPointF middle = rect.center();
        rect.setSize({std::max(rect.width(), least), std::max(rect.height(), least)});
        rect.moveCenter(middle);
    }
    const double radius = box.kind == BoxKind::Input || box.kind == BoxKind::Output
                              ? rect.height() / 2 + 2
                              : kRadius + 2;
    QColor glow = colour;
    glow.setAlphaF(0.22F);
    const double width = std::max(2.2, 1.6 / m_zoom);
    m_painter.setBrush(readable() ? QBrush(Qt::NoBrush) : QBrush(colour));
    if (readable()) {
        m_painter.setPen(QPen(glow, width * 3));
        m_painter.drawRoundedRect(rect.adjusted(-2, -2, 2, 2), radius, radius);
    }
    m_painter.setPen(QPen(colour, width));
    m_painter.drawRoundedRect(rect.adjusted(-1.5, -1.5, 1.5, 1.5), radius, radius);
}

/// Names of scopes that are large on the screen while their contents are too small to read.
void ScenePainter::paintFarTitle(const PlacedBox& box) {
    if (box.kind != BoxKind::Scope)
        return;
    const double width = box.rect.width() * m_zoom, height = box.rect.height() * m_zoom;
    if (width < 56 || height < (box.open ? 40 : 13))
        return;
    QFont font = m_titleFont;
    font.setPixelSize(11);
    const double size = 1 / m_zoom;
    m_painter.save();
    m_painter.translate(box.rect.topLeft());
    m_painter.scale(size, size);
    const QString name = cleanText(m_scene.graph().scope(box.scope).name, 80);
    if (box.open) {
        const double w = std::min(width, QFontMetricsF(font).horizontalAdvance(name) + 12);
        m_painter.setPen(Qt::NoPen);
        m_painter.setBrush(m_theme.scopeTitle);
        m_painter.drawRoundedRect(QRectF(0, 0, w, 16), 3, 3);
        paintText(font, m_theme.text, QRectF(6, 0, w - 8, 16), Qt::AlignLeft | Qt::AlignVCenter,
                  name, Qt::ElideMiddle);
    } else {
        paintText(font, m_theme.text, QRectF(3, 0, width - 6, height), Qt::AlignCenter, name,
                  Qt::ElideMiddle);
    }
    m_painter.restore();
}

}  // namespace shardwright
