// SPDX-License-Identifier: Apache-2.0
//
// Marks over boxes: what the analysis says. They use room that is there anyway, so that none of
// them moves a box.

#include "ui/canvas/scene_painter.h"

#include <QFontMetricsF>

#include <algorithm>

namespace shardwright {

namespace {

constexpr double kChipHeight = 15;

QFont bold(QFont font) {
    font.setWeight(QFont::DemiBold);
    return font;
}

}  // namespace

void ScenePainter::paintNodeMarks(const PlacedBox& box) {
    if (!readable())
        return;
    const NodeMarks& marks = m_overlay->node(box.node);
    if (m_marks.testFlag(GraphCanvas::StageMarks))
        paintStage(marks.stage, marks.stage, box.rect.topLeft());
    if (m_marks.testFlag(GraphCanvas::DiagnosticMarks))
        paintDiagnostics(marks.errors, marks.warnings, box.rect.topRight() + QPointF(3, -1));
}

/// Axis names in the order of the mesh, up to `rightMiddle`; those in `filled` filled, the
/// others (inferred) outlined. Gives the width used.
double ScenePainter::paintChips(const std::vector<int>& axes, const std::vector<int>& filled,
                                QPointF rightMiddle, double room) {
    struct Chip {
        QString name;
        double width;
        QColor colour;
        bool filled;
    };
    constexpr double kGap = 3, kMoreRoom = 24;
    const QFont font = bold(m_tinyFont);
    const QFontMetricsF metrics(font);
    std::vector<Chip> chips;
    double used = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        QString name = m_overlay->axisName(axes[i]);
        double width = metrics.horizontalAdvance(name) + 10;
        const bool last = i + 1 == axes.size();
        const bool fits = used + width + (last ? 0 : kMoreRoom) <= room;
        if (!fits) {
            name = QStringLiteral("+%1").arg(axes.size() - i);
            width = metrics.horizontalAdvance(name) + 10;
        }
        chips.push_back({name, width, m_theme.axis(axes[i]),
                         std::find(filled.begin(), filled.end(), axes[i]) != filled.end()});
        used += width + kGap;
        if (!fits)
            break;
    }
    double left = rightMiddle.x() - used + kGap;
    for (const Chip& chip : chips) {
        const QRectF rect(left, rightMiddle.y() - kChipHeight / 2, chip.width, kChipHeight);
        m_painter.setPen(
            QPen(chip.filled ? chip.colour.darker(115) : chip.colour, chip.filled ? 0.8 : 1.6));
        m_painter.setBrush(chip.filled ? chip.colour : m_theme.box);
        m_painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
        paintText(font, chip.filled ? readableOn(chip.colour) : m_theme.text, rect, Qt::AlignCenter,
                  chip.name);
        left += chip.width + kGap;
    }
    return used;
}

void ScenePainter::paintStage(int first, int last, QPointF corner) {
    if (first < 0)
        return;
    const QFont font = bold(m_tinyFont);
    const QString words = first == last ? QStringLiteral("S%1").arg(first)
                                        : QStringLiteral("S%1\u2013%2").arg(first).arg(last);
    const double width = std::max(20.0, QFontMetricsF(font).horizontalAdvance(words) + 10);
    const QRectF badge(corner.x() - 7, corner.y() - 9, width, kChipHeight);
    const QColor colour = m_theme.stage(first);
    m_painter.setPen(QPen(m_theme.background, 1.4));
    m_painter.setBrush(colour);
    m_painter.drawRoundedRect(badge, 4, 4);
    paintText(font, readableOn(colour), badge, Qt::AlignCenter, words);
}

void ScenePainter::paintDiagnostics(int errors, int warnings, QPointF middle) {
    if (errors == 0 && warnings == 0)
        return;
    const QColor colour = errors > 0 ? m_theme.error : m_theme.warning;
    m_painter.setPen(QPen(m_theme.background, 1.6));
    m_painter.setBrush(colour);
    const int count = errors > 0 ? errors : warnings;
    // Shape as well as colour: an error is round, a warning a triangle.
    if (errors > 0) {
        m_painter.drawEllipse(middle, 8, 8);
    } else {
        const QPointF triangle[] = {middle + QPointF(0, -9.5), middle + QPointF(10, 7.5),
                                    middle + QPointF(-10, 7.5)};
        m_painter.drawPolygon(triangle, 3);
    }
    const QString words = count == 1 || count > 9 ? QStringLiteral("!") : QString::number(count);
    const QRectF rect(middle.x() - 8, middle.y() - 8 + (errors > 0 ? 0 : 1.5), 16, 16);
    paintText(bold(m_tinyFont), readableOn(colour), rect, Qt::AlignCenter, words);
}

void ScenePainter::paintChevron(QPointF middle, bool open, const QColor& colour) {
    m_painter.setPen(QPen(colour, 1.8, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    m_painter.setBrush(Qt::NoBrush);
    const QPointF down[] = {middle + QPointF(-4, -2), middle + QPointF(0, 2.5),
                            middle + QPointF(4, -2)};
    const QPointF right[] = {middle + QPointF(-2, -4), middle + QPointF(2.5, 0),
                             middle + QPointF(-2, 4)};
    m_painter.drawPolyline(open ? down : right, 3);
}

}  // namespace shardwright
