// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/run_timeline.h"

#include "ui/panels/timing_bar.h"
#include "ui/window/text.h"

#include <QHelpEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace shardwright {
namespace {

constexpr int kLabelWidth = 64, kMargin = 8;
constexpr double kMostZoom = 5000, kZoomStep = 1.25;
constexpr double kSmallestTarget = 3;  ///< Pixels beside a bar that still mean it.
constexpr int kTickWidth = 90;

/// 1, 2 or 5 times a power of ten.
double roundStep(double least) {
    const double power = std::pow(10, std::floor(std::log10(std::max(least, 1e-6))));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= least)
            return factor * power;
    return 10 * power;
}

}  // namespace

RunTimeline::RunTimeline(QWidget* parent) : QAbstractScrollArea(parent) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Timeline of the last pass"));
    viewport()->setMouseTracking(true);
}

void RunTimeline::clear() {
    m_bars.clear();
    m_devices.clear();
    m_endUs = 0;
    m_zoom = 1;
    fitScrollBars();
}

void RunTimeline::add(const RunSegmentTiming& segment) {
    const QString name = segment.firstNode.name.empty() ? tr("node %1").arg(segment.firstNode.index)
                                                        : oneLine(segment.firstNode.name, 80);
    add({segment.device, false, segment.beginUs, segment.durationUs, 0, segment.firstNode,
         segment.nodeCount == 1 ? name : tr("%1 … (%2 nodes)").arg(name).arg(segment.nodeCount)});
}

void RunTimeline::add(const RunExchangeTiming& exchange) {
    add({exchange.device, true, exchange.beginUs, exchange.durationUs, exchange.waitingUs,
         exchange.node,
         tr("%1 of %2, %3, between %4")
             .arg(toQt(exchange.kind), oneLine(exchange.tensor, 80), byteText(exchange.bytes),
                  deviceList(exchange.devices))});
}

void RunTimeline::add(Bar bar) {
    const auto at = std::ranges::lower_bound(m_devices, bar.device);
    if (at == m_devices.end() || *at != bar.device)
        m_devices.insert(at, bar.device);
    m_endUs = std::max(m_endUs, bar.beginUs + bar.durationUs);
    m_bars.push_back(std::move(bar));
    fitScrollBars();
}

int RunTimeline::rowHeight() const {
    return 2 * (fontMetrics().height() + 2) + 8;
}

int RunTimeline::axisHeight() const {
    return fontMetrics().height() + 8;
}

double RunTimeline::pixelsPerUs() const {
    const double room = std::max(50, viewport()->width() - kLabelWidth - kMargin);
    return room / std::max(m_endUs, 1e-3) * m_zoom;
}

double RunTimeline::xOf(double us) const {
    return kLabelWidth + us * pixelsPerUs() - horizontalScrollBar()->value();
}

int RunTimeline::rowOf(int device) const {
    return static_cast<int>(std::ranges::lower_bound(m_devices, device) - m_devices.begin());
}

QRectF RunTimeline::barRect(std::size_t index) const {
    const Bar& bar = m_bars[index];
    const double height = fontMetrics().height() + 2;
    const double top = axisHeight() + rowOf(bar.device) * rowHeight() + 2 -
                       verticalScrollBar()->value() + (bar.exchange ? height + 2 : 0);
    return {xOf(bar.beginUs), top, bar.durationUs * pixelsPerUs(), height};
}

int RunTimeline::barAt(QPointF position) const {
    if (position.x() < kLabelWidth || position.y() < axisHeight())
        return -1;
    int best = -1;
    double nearest = kSmallestTarget;
    for (std::size_t i = 0; i < m_bars.size(); ++i) {
        const QRectF rect = barRect(i);
        if (position.y() < rect.top() || position.y() > rect.bottom())
            continue;
        const double away =
            std::max({rect.left() - position.x(), position.x() - rect.right(), 0.0});
        if (away < nearest) {
            nearest = away;
            best = static_cast<int>(i);
        }
    }
    return best;
}

void RunTimeline::fitScrollBars() {
    const double room = std::max(50, viewport()->width() - kLabelWidth - kMargin);
    horizontalScrollBar()->setRange(0, static_cast<int>(room * m_zoom - room));
    horizontalScrollBar()->setPageStep(static_cast<int>(room));
    horizontalScrollBar()->setSingleStep(kTickWidth / 2);
    const int height = axisHeight() + static_cast<int>(m_devices.size()) * rowHeight();
    verticalScrollBar()->setRange(0, std::max(0, height - viewport()->height()));
    verticalScrollBar()->setPageStep(viewport()->height());
    verticalScrollBar()->setSingleStep(rowHeight() / 2);
    viewport()->update();
}

void RunTimeline::zoom(double factor, double atX) {
    const double us =
        (atX - kLabelWidth + horizontalScrollBar()->value()) / std::max(pixelsPerUs(), 1e-9);
    m_zoom = std::clamp(m_zoom * factor, 1.0, kMostZoom);
    fitScrollBars();
    // What is under the pointer stays there.
    horizontalScrollBar()->setValue(static_cast<int>(us * pixelsPerUs() - (atX - kLabelWidth)));
}

void RunTimeline::paintAxis(QPainter& painter) const {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(QRectF(0, 0, kLabelWidth - 8, axisHeight()), Qt::AlignVCenter | Qt::AlignRight,
                     tr("device"));
    const double step = roundStep(kTickWidth / pixelsPerUs());
    const double left = std::max(0.0, horizontalScrollBar()->value() / pixelsPerUs());
    for (double us = std::floor(left / step) * step; us <= m_endUs; us += step) {
        const double x = xOf(us);
        if (x < kLabelWidth - 1)
            continue;
        if (x > viewport()->width())
            break;
        QColor line = palette().color(QPalette::PlaceholderText);
        line.setAlphaF(0.25F);
        painter.setPen(line);
        painter.drawLine(QPointF(x, axisHeight() - 4), QPointF(x, viewport()->height()));
        painter.setPen(palette().color(QPalette::PlaceholderText));
        painter.drawText(QRectF(x + 3, 0, kTickWidth, axisHeight()), Qt::AlignVCenter,
                         us > 0 ? milliseconds(us / 1000) : QStringLiteral("0"));
    }
}

void RunTimeline::paintBar(QPainter& painter, const Bar& bar, const QRectF& rect) const {
    const QColor fill = timingColour(bar.exchange ? 1 : 0, palette());
    QRectF all = rect;
    all.setWidth(std::max(1.0, rect.width()));
    painter.fillRect(all, fill);
    if (bar.waitingUs > 0) {
        QRectF waiting = rect;
        waiting.setWidth(std::min(rect.width(), bar.waitingUs * pixelsPerUs()));
        painter.fillRect(waiting, timingColour(2, palette()));
    }
    const QRectF seen = rect & QRectF(kLabelWidth, 0, viewport()->width() - kLabelWidth, 1e6);
    constexpr double kLeastForText = 40;
    if (seen.width() < kLeastForText)
        return;
    painter.setPen(fill.lightnessF() > 0.55F ? Qt::black : Qt::white);
    if (bar.waitingUs * pixelsPerUs() > seen.width() / 2)
        painter.setPen(palette().color(QPalette::Text));
    painter.drawText(
        seen.adjusted(4, 0, -2, 0), Qt::AlignVCenter | Qt::AlignLeft,
        fontMetrics().elidedText(bar.text, Qt::ElideRight, static_cast<int>(seen.width()) - 6));
}

void RunTimeline::paintEvent(QPaintEvent*) {
    QPainter painter(viewport());
    if (m_bars.empty()) {
        painter.setPen(palette().color(QPalette::PlaceholderText));
        painter.drawText(viewport()->rect().adjusted(8, 8, -8, -8),
                         Qt::AlignCenter | Qt::TextWordWrap,
                         tr("Run the model to see what each device does when."));
        return;
    }
    painter.setClipRect(QRect(0, axisHeight(), viewport()->width(), viewport()->height()));
    for (const int device : m_devices) {
        const int top = axisHeight() + rowOf(device) * rowHeight() - verticalScrollBar()->value();
        painter.setPen(palette().color(QPalette::Text));
        painter.drawText(QRect(0, top, kLabelWidth - 8, rowHeight()),
                         Qt::AlignVCenter | Qt::AlignRight, QString::number(device));
    }
    painter.setClipping(false);
    paintAxis(painter);
    painter.setClipRect(
        QRect(kLabelWidth, axisHeight(), viewport()->width() - kLabelWidth, viewport()->height()));
    for (std::size_t i = 0; i < m_bars.size(); ++i)
        if (const QRectF rect = barRect(i);
            rect.right() >= kLabelWidth && rect.left() <= viewport()->width())
            paintBar(painter, m_bars[i], rect);
}

void RunTimeline::resizeEvent(QResizeEvent*) {
    fitScrollBars();
}

void RunTimeline::wheelEvent(QWheelEvent* event) {
    if (event->modifiers() & Qt::ControlModifier) {
        zoom(event->angleDelta().y() > 0 ? kZoomStep : 1 / kZoomStep, event->position().x());
        event->accept();
        return;
    }
    QAbstractScrollArea::wheelEvent(event);
}

void RunTimeline::keyPressEvent(QKeyEvent* event) {
    const double middle = viewport()->width() / 2.0;
    switch (event->key()) {
        case Qt::Key_Plus: zoom(kZoomStep, middle); break;
        case Qt::Key_Minus: zoom(1 / kZoomStep, middle); break;
        case Qt::Key_Home: zoom(1 / kMostZoom, middle); break;
        default: QAbstractScrollArea::keyPressEvent(event);
    }
}

void RunTimeline::mousePressEvent(QMouseEvent* event) {
    if (const int bar = barAt(event->position()); bar >= 0 && event->button() == Qt::LeftButton)
        emit nodeWanted(m_bars[static_cast<std::size_t>(bar)].node);
}

bool RunTimeline::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::MouseMove)
        viewport()->setCursor(barAt(static_cast<QMouseEvent*>(event)->position()) >= 0
                                  ? Qt::PointingHandCursor
                                  : Qt::ArrowCursor);
    if (event->type() != QEvent::ToolTip)
        return QAbstractScrollArea::viewportEvent(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const int at = barAt(help->pos());
    if (at < 0) {
        QToolTip::hideText();
        return true;
    }
    const Bar& bar = m_bars[static_cast<std::size_t>(at)];
    QString text =
        tr("Device %1: %2\n%3, from %4")
            .arg(bar.device)
            .arg(bar.text, milliseconds(bar.durationUs / 1000), milliseconds(bar.beginUs / 1000));
    if (bar.waitingUs > 0)
        text += tr("; waiting %1").arg(milliseconds(bar.waitingUs / 1000));
    QToolTip::showText(help->globalPos(), toolTipText(text), viewport());
    return true;
}

}  // namespace shardwright
