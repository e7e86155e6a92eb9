// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/timing_bar.h"

#include "ui/canvas/canvas_theme.h"
#include "ui/panels/rows_model.h"

#include <QApplication>
#include <QPainter>

#include <algorithm>
#include <array>

namespace shardwright {
namespace {

constexpr int kParts = 3;
constexpr int kTotalWidth = 64;
constexpr int kSquare = 10, kGap = 6, kBetween = 18;

std::array<QString, kParts> partNames() {
    return {TimingLegend::tr("computing"), TimingLegend::tr("communicating"),
            TimingLegend::tr("waiting")};
}

}  // namespace

QColor timingColour(int part, const QPalette& palette) {
    const CanvasTheme theme = CanvasTheme::fromPalette(palette);
    return part == 0   ? theme.axis(0)
           : part == 1 ? theme.communication
                       : palette.color(QPalette::Mid);
}

void TimingBarDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                              const QModelIndex& index) const {
    QStyleOptionViewItem background = option;
    initStyleOption(&background, index);
    const QString total = background.text;
    background.text.clear();
    const QWidget* widget = option.widget;
    (widget ? widget->style() : QApplication::style())
        ->drawControl(QStyle::CE_ItemViewItem, &background, painter, widget);
    const QVariantList parts = index.data(RowsModel::ExtraRole).toList();
    if (parts.size() <= kParts || total.isEmpty())
        return;
    const double longest = std::max(parts[kParts].toDouble(), 1e-9);
    const QRectF room = QRectF(option.rect).adjusted(4, 4, -kTotalWidth, -4);
    double x = room.left();
    for (int i = 0; i < kParts; ++i) {
        const double width = parts[i].toDouble() / longest * room.width();
        painter->fillRect(QRectF(x, room.top(), width, room.height()),
                          timingColour(i, option.palette));
        x += width;
    }
    const bool selected = option.state & QStyle::State_Selected;
    painter->setPen(option.palette.color(option.state & QStyle::State_Active ? QPalette::Active
                                                                             : QPalette::Inactive,
                                         selected ? QPalette::HighlightedText : QPalette::Text));
    painter->drawText(QRectF(x + kGap, option.rect.top(), kTotalWidth, option.rect.height()),
                      Qt::AlignVCenter | Qt::AlignLeft, total);
}

TimingLegend::TimingLegend(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

QSize TimingLegend::sizeHint() const {
    int width = 0;
    for (const QString& name : partNames())
        width += kSquare + kGap + fontMetrics().horizontalAdvance(name) + kBetween;
    return {width, fontMetrics().height() + 4};
}

void TimingLegend::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    int x = 4, part = 0;
    for (const QString& name : partNames()) {
        painter.fillRect(QRect(x, (height() - kSquare) / 2, kSquare, kSquare),
                         timingColour(part++, palette()));
        x += kSquare + kGap;
        painter.setPen(palette().color(QPalette::PlaceholderText));
        const int width = fontMetrics().horizontalAdvance(name);
        painter.drawText(QRect(x, 0, width + 2, height()), Qt::AlignVCenter, name);
        x += width + kBetween;
    }
}

}  // namespace shardwright
