// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/timing_chart.h"

#include "ui/canvas/canvas_theme.h"
#include "ui/window/text.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>

namespace shardwright {
namespace {

constexpr int kLabelWidth = 76;
constexpr int kTotalWidth = 80;
constexpr int kParts = 3;

double part(const RunDeviceTiming& timing, int index) {
    return index == 0 ? timing.computeMs : index == 1 ? timing.communicationMs : timing.waitingMs;
}

double total(const RunDeviceTiming& timing) {
    return timing.computeMs + timing.communicationMs + timing.waitingMs;
}

}  // namespace

TimingChart::TimingChart(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void TimingChart::setTimings(std::vector<RunDeviceTiming> timings) {
    m_timings = std::move(timings);
    std::ranges::stable_sort(m_timings, {}, &RunDeviceTiming::device);
    QStringList texts;
    for (const RunDeviceTiming& timing : m_timings)
        texts << rowText(timing);
    setAccessibleDescription(texts.join(u'\n'));
    updateGeometry();
    update();
}

int TimingChart::rowHeight() const {
    return fontMetrics().height() + 10;
}

QSize TimingChart::sizeHint() const {
    return {420, (static_cast<int>(m_timings.size()) + 1) * rowHeight() + 8};
}

double TimingChart::largest() const {
    double most = 0;
    for (const RunDeviceTiming& timing : m_timings)
        most = std::max(most, total(timing));
    return most;
}

QRectF TimingChart::barRect(int row) const {
    return {double(kLabelWidth), double(rowHeight() * (row + 1) + 4),
            double(width() - kLabelWidth - kTotalWidth), double(rowHeight() - 8)};
}

QColor TimingChart::colour(int index) const {
    const CanvasTheme theme = CanvasTheme::fromPalette(palette());
    return index == 0   ? theme.axis(0)
           : index == 1 ? theme.communication
                        : palette().color(QPalette::Mid);
}

QString TimingChart::rowText(const RunDeviceTiming& timing) const {
    return tr("Device %1: computing %2, communicating %3, waiting %4; preparing took %5, memory %6")
        .arg(timing.device)
        .arg(milliseconds(timing.computeMs), milliseconds(timing.communicationMs),
             milliseconds(timing.waitingMs), milliseconds(timing.prepareMs),
             byteText(timing.peakBytes));
}

void TimingChart::paintLegend(QPainter& painter) const {
    const QString names[kParts] = {tr("computing"), tr("communicating"), tr("waiting")};
    int x = kLabelWidth;
    const int middle = rowHeight() / 2;
    for (int i = 0; i < kParts; ++i) {
        painter.fillRect(QRect(x, middle - 5, 10, 10), colour(i));
        x += 16;
        painter.setPen(palette().color(QPalette::PlaceholderText));
        const int width = painter.fontMetrics().horizontalAdvance(names[i]);
        painter.drawText(QRect(x, 0, width + 2, rowHeight()), Qt::AlignVCenter, names[i]);
        x += width + 18;
    }
}

void TimingChart::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (m_timings.empty())
        return;
    paintLegend(painter);
    const double most = std::max(largest(), 1e-9);
    for (int row = 0; row < static_cast<int>(m_timings.size()); ++row) {
        const RunDeviceTiming& timing = m_timings[static_cast<std::size_t>(row)];
        const QRectF bar = barRect(row);
        painter.setPen(palette().color(QPalette::Text));
        painter.drawText(QRectF(0, bar.top() - 4, kLabelWidth - 8, rowHeight()),
                         Qt::AlignVCenter | Qt::AlignLeft, tr("device %1").arg(timing.device));
        double x = bar.left();
        for (int i = 0; i < kParts; ++i) {
            const double width = part(timing, i) / most * bar.width();
            painter.fillRect(QRectF(x, bar.top(), width, bar.height()), colour(i));
            x += width;
        }
        painter.drawText(QRectF(x + 6, bar.top() - 4, kTotalWidth, rowHeight()),
                         Qt::AlignVCenter | Qt::AlignLeft, milliseconds(total(timing)));
    }
}

bool TimingChart::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const int row = help->pos().y() / rowHeight() - 1;
        if (row >= 0 && row < static_cast<int>(m_timings.size()))
            QToolTip::showText(help->globalPos(),
                               toolTipText(rowText(m_timings[static_cast<std::size_t>(row)])),
                               this);
        else
            QToolTip::hideText();
        return true;
    }
    return QWidget::event(event);
}

}  // namespace shardwright
