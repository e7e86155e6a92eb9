// SPDX-License-Identifier: Apache-2.0
#include "ui/canvas/minimap.h"

#include "ui/canvas/graph_canvas.h"
#include "ui/canvas/scene_painter.h"

#include <QMouseEvent>
#include <QPainter>

#include <algorithm>

namespace shardwright {

namespace {
constexpr double kMargin = 6;
}

Minimap::Minimap(GraphCanvas* canvas, QWidget* parent) : QWidget(parent), m_canvas(canvas) {
    setAccessibleName(tr("Overview of the graph"));
    setCursor(Qt::PointingHandCursor);
    connect(canvas, &GraphCanvas::sceneChanged, this, &Minimap::drawingChanged);
    connect(canvas, &GraphCanvas::viewChanged, this, qOverload<>(&QWidget::update));
    connect(canvas, &GraphCanvas::busyChanged, this, qOverload<>(&QWidget::update));
}

QSize Minimap::sizeHint() const {
    return {200, 150};
}

QRectF Minimap::shownBounds() const {
    return m_canvas && m_canvas->scene() ? m_canvas->scene()->bounds() : QRectF();
}

double Minimap::scale() const {
    const QRectF bounds = shownBounds();
    if (bounds.isEmpty())
        return 1;
    // A tall narrow drawing keeps a width that can be seen; then the map shows the part around the
    // view only.
    const double fit = std::min((width() - 2 * kMargin) / bounds.width(),
                                (height() - 2 * kMargin) / bounds.height());
    return std::min(fit, 1.0);
}

QPointF Minimap::toWidget(QPointF scenePoint) const {
    const QRectF bounds = shownBounds();
    return QPointF(width(), height()) / 2 + (scenePoint - bounds.center()) * scale();
}

QRectF Minimap::viewFrame() const {
    if (!m_canvas)
        return {};
    const QRectF seen = m_canvas->visibleSceneRect();
    QRectF frame(toWidget(seen.topLeft()), toWidget(seen.bottomRight()));
    if (frame.width() < 4 || frame.height() < 4) {
        const QPointF middle = frame.center();
        frame.setSize({std::max(frame.width(), 4.0), std::max(frame.height(), 4.0)});
        frame.moveCenter(middle);
    }
    return frame;
}

void Minimap::drawingChanged() {
    m_picture = QPixmap();
    update();
}

void Minimap::redraw() {
    const double ratio = devicePixelRatioF();
    m_picture = QPixmap((QSizeF(size()) * ratio).toSize());
    m_picture.setDevicePixelRatio(ratio);
    m_picture.fill(m_canvas->theme().background);
    const auto scene = m_canvas->scene();
    if (!scene)
        return;
    QPainter painter(&m_picture);
    painter.translate(toWidget({}));
    painter.scale(scale(), scale());
    ScenePainter(painter, *scene, m_canvas->theme(), scale()).paint(scene->bounds());
}

void Minimap::paintEvent(QPaintEvent*) {
    if (!m_canvas)
        return;
    if (m_picture.isNull())
        redraw();
    QPainter painter(this);
    painter.drawPixmap(0, 0, m_picture);
    const CanvasTheme& theme = m_canvas->theme();
    painter.setPen(QPen(theme.scopeFrame, 1));
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
    if (!m_canvas->scene())
        return;
    QColor fill = theme.accent;
    fill.setAlphaF(0.14F);
    painter.setBrush(fill);
    painter.setPen(QPen(theme.accent, 1.4));
    painter.drawRect(viewFrame() & QRectF(rect()).adjusted(1, 1, -2, -2));
}

void Minimap::resizeEvent(QResizeEvent*) {
    drawingChanged();
}

void Minimap::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange)
        drawingChanged();
    QWidget::changeEvent(event);
}

void Minimap::goTo(QPointF widgetPoint) {
    if (m_canvas && m_canvas->scene())
        m_canvas->centreOnScenePoint(shownBounds().center() +
                                     (widgetPoint - QPointF(width(), height()) / 2) / scale());
}

void Minimap::mousePressEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton)
        goTo(event->position());
}

void Minimap::mouseMoveEvent(QMouseEvent* event) {
    if (event->buttons().testFlag(Qt::LeftButton))
        goTo(event->position());
}

}  // namespace shardwright
