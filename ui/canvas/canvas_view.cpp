// SPDX-License-Identifier: Apache-2.0
//
// Where the canvas looks: scrolling, zooming, going places.

#include "ui/canvas/graph_canvas.h"

#include <QResizeEvent>
#include <QScrollBar>
#include <QVariantAnimation>

#include <algorithm>
#include <cmath>

namespace shardwright {

namespace {
constexpr double kMinZoom = 1e-4, kMaxZoom = 4;
constexpr double kReadableZoom = 0.6;  ///< Below it a drawing opens in part rather than whole.
constexpr double kZoomStep = 1.2;
constexpr double kMargin = 24;
}  // namespace

QPointF GraphCanvas::toScene(QPointF viewportPoint) const {
    return m_origin + viewportPoint / m_zoom;
}

QPointF GraphCanvas::fromScene(QPointF scenePoint) const {
    return (scenePoint - m_origin) * m_zoom;
}

QRectF GraphCanvas::visibleSceneRect() const {
    return {m_origin, QSizeF(viewport()->size()) / m_zoom};
}

std::vector<NodeId> GraphCanvas::nodesInView() const {
    std::vector<NodeId> nodes;
    if (!m_placed)
        return nodes;
    std::vector<int> found;
    m_placed->boxesIn(visibleSceneRect(), found);
    for (const int box : found)
        if (const NodeId node = m_placed->boxes()[static_cast<std::size_t>(box)].node)
            nodes.push_back(node);
    found.clear();
    m_placed->edgesIn(visibleSceneRect(), found);
    for (const int edge : found) {
        const ValueId value = m_placed->edges()[static_cast<std::size_t>(edge)].value;
        if (const NodeId node = m_placed->graph().value(value).producer)
            nodes.push_back(node);
    }
    return nodes;
}

std::vector<ScopeId> GraphCanvas::closedScopesInView() const {
    std::vector<ScopeId> scopes;
    if (!m_placed)
        return scopes;
    std::vector<int> found;
    m_placed->boxesIn(visibleSceneRect(), found);
    for (const int index : found) {
        const PlacedBox& box = m_placed->boxes()[static_cast<std::size_t>(index)];
        if (box.kind == BoxKind::Scope && !box.open)
            scopes.push_back(box.scope);
    }
    return scopes;
}

void GraphCanvas::setView(QPointF topLeft, double zoom) {
    const bool zoomed = zoom != m_zoom;
    m_zoom = std::clamp(zoom, kMinZoom, kMaxZoom);
    m_origin = topLeft;
    updateScrollBars();
    viewport()->update();
    if (zoomed)
        emit zoomChanged(m_zoom);
    emit viewChanged();
}

/// The bars reach a part of the window beyond the drawing, so that what lies at its edge can be
/// brought to the middle.
void GraphCanvas::updateScrollBars() {
    m_settingScrollBars = true;
    const QRectF bounds = m_placed ? m_placed->bounds() : QRectF();
    const auto set = [&](QScrollBar* bar, double low, double high, double size, double& origin) {
        const double room = size * 0.5 / m_zoom;
        const double first = low - room, last = std::max(first, high + room - size / m_zoom);
        origin = std::clamp(origin, first, last);
        bar->setRange(static_cast<int>(std::floor(first * m_zoom)),
                      static_cast<int>(std::ceil(last * m_zoom)));
        bar->setPageStep(static_cast<int>(size));
        bar->setSingleStep(40);
        bar->setValue(static_cast<int>(std::lround(origin * m_zoom)));
    };
    set(horizontalScrollBar(), bounds.left(), bounds.right(), viewport()->width(), m_origin.rx());
    set(verticalScrollBar(), bounds.top(), bounds.bottom(), viewport()->height(), m_origin.ry());
    m_settingScrollBars = false;
}

void GraphCanvas::scrollContentsBy(int, int) {
    if (m_settingScrollBars)
        return;
    m_initialView = false;
    m_origin = QPointF(horizontalScrollBar()->value(), verticalScrollBar()->value()) / m_zoom;
    viewport()->update();
    emit viewChanged();
}

void GraphCanvas::resizeEvent(QResizeEvent*) {
    if (m_initialView && m_placed)
        showInitialView();
    else
        updateScrollBars();
    emit viewChanged();
}

double GraphCanvas::fitScale(const QRectF& rect) const {
    if (rect.isEmpty())
        return 1;
    const double x = (viewport()->width() - 2 * kMargin) / rect.width();
    const double y = (viewport()->height() - 2 * kMargin) / rect.height();
    return std::clamp(std::min(x, y), kMinZoom, 1.0);
}

void GraphCanvas::showInitialView() {
    const QRectF bounds = m_placed->bounds();
    const double fit = fitScale(bounds);
    if (fit >= kReadableZoom) {
        setView(bounds.center() - QPointF(viewport()->width(), viewport()->height()) / 2 / fit,
                fit);
    } else {
        goToInputs();
    }
    m_initialView = true;
}

void GraphCanvas::goToInputs() {
    if (!m_placed)
        return;
    const double zoom = std::max(m_initialView ? 0.85 : m_zoom, kReadableZoom);
    const QRectF start = m_placed->startRect();
    const double width = viewport()->width() / zoom;
    // A drawing that is narrower than the window stays in its middle.
    const QRectF bounds = m_placed->bounds();
    const double x = bounds.width() < width ? bounds.center().x() : start.center().x();
    setView({x - width / 2, start.top() - kMargin / zoom}, zoom);
}

void GraphCanvas::fitAll() {
    if (!m_placed)
        return;
    m_initialView = false;
    const double zoom = fitScale(m_placed->bounds());
    setView(m_placed->bounds().center() -
                QPointF(viewport()->width(), viewport()->height()) / 2 / zoom,
            zoom);
}

QRectF GraphCanvas::selectionRect() const {
    QRectF rect;
    if (!m_placed)
        return rect;
    for (const NodeId node : m_selected)
        rect |= m_placed->rectOf(node);
    if (m_selectedValue)
        for (const int edge : m_placed->edgesOfValue(m_selectedValue)) {
            const PlacedEdge& line = m_placed->edges()[static_cast<std::size_t>(edge)];
            for (const int end : {line.from, line.to})
                rect |= m_placed->boxes()[static_cast<std::size_t>(end)].rect;
        }
    if (const int box = currentBox(); rect.isNull() && box >= 0)
        rect = m_placed->boxes()[static_cast<std::size_t>(box)].rect;
    return rect;
}

void GraphCanvas::fitSelection() {
    if (!m_placed)
        return;
    const QRectF rect = selectionRect();
    if (rect.isNull())
        return fitAll();
    m_initialView = false;
    glideTo(rect.center(), fitScale(rect));
}

void GraphCanvas::zoomAround(QPointF viewportPoint, double factor) {
    const QPointF held = toScene(viewportPoint);
    const double zoom = std::clamp(m_zoom * factor, kMinZoom, kMaxZoom);
    m_initialView = false;
    m_glide->stop();
    setView(held - viewportPoint / zoom, zoom);
}

void GraphCanvas::setZoom(double zoom) {
    zoomAround(QPointF(viewport()->width(), viewport()->height()) / 2, zoom / m_zoom);
}

void GraphCanvas::zoomIn() {
    setZoom(m_zoom * kZoomStep);
}

void GraphCanvas::zoomOut() {
    setZoom(m_zoom / kZoomStep);
}

void GraphCanvas::actualSize() {
    setZoom(1);
}

void GraphCanvas::glideTo(QPointF centre, double zoom) {
    m_glide->stop();
    m_glide->disconnect(this);
    m_initialView = false;
    const QPointF from = visibleSceneRect().center();
    const double fromZoom = m_zoom;
    const auto look = [this](QPointF middle, double scale) {
        setView(middle - QPointF(viewport()->width(), viewport()->height()) / 2 / scale, scale);
    };
    // Over a long way the eye cannot follow anyway.
    const QPointF way = (centre - from) * fromZoom;
    const bool near =
        std::abs(way.x()) < 4 * viewport()->width() && std::abs(way.y()) < 4 * viewport()->height();
    if (!isVisible() || !near)
        return look(centre, zoom);
    connect(m_glide.get(), &QVariantAnimation::valueChanged, this, [=](const QVariant& value) {
        const double t = value.toDouble();
        const double scale = fromZoom * std::pow(zoom / fromZoom, t);
        look(from + (centre - from) * t, scale);
    });
    m_glide->start();
}

void GraphCanvas::centreOnScenePoint(QPointF point) {
    m_glide->stop();
    m_initialView = false;
    setView(point - QPointF(viewport()->width(), viewport()->height()) / 2 / m_zoom, m_zoom);
}

void GraphCanvas::centreOn(NodeId node) {
    if (!m_scene || !m_placed || !node)
        return;
    if (m_scene->reveal(node) || m_placed->boxOf(node) < 0)
        requestScene({{}, node, {}, true});
    else
        glideTo(m_placed->rectOf(node).center(), std::max(m_zoom, kReadableZoom));
}

void GraphCanvas::centreOnScope(ScopeId scope) {
    if (!m_scene || !m_placed || !scope)
        return;
    if (const auto& nodes = m_placed->graph().scope(scope).nodes;
        !m_placed->structure()->container(scope).drawn && !nodes.empty())
        return centreOn(nodes.front());
    if (m_scene->reveal(scope) || m_placed->boxOf(scope) < 0) {
        requestScene({scope, {}, {}, true});
        return;
    }
    const QRectF rect = m_placed->boxes()[static_cast<std::size_t>(m_placed->boxOf(scope))].rect;
    glideTo(rect.center(), std::max(fitScale(rect), kReadableZoom));
}

void GraphCanvas::centreOnValue(ValueId value) {
    if (!m_placed || !value)
        return;
    const ValueInfo& info = m_placed->graph().value(value);
    if (info.producer)
        centreOn(info.producer);
    else if (const int box = m_placed->producerBox(value); box >= 0)
        glideTo(m_placed->boxes()[static_cast<std::size_t>(box)].rect.center(),
                std::max(m_zoom, kReadableZoom));
    else if (!info.uses.empty())
        centreOn(info.uses.front().node);
}

/// As little movement as brings the rectangle onto the screen.
void GraphCanvas::ensureVisible(const QRectF& rect) {
    const double margin = 40 / m_zoom;
    const QRectF seen = visibleSceneRect().adjusted(margin, margin, -margin, -margin);
    if (seen.contains(rect))
        return;
    QPointF shift;
    shift.rx() = rect.left() < seen.left() ? rect.left() - seen.left()
                                           : std::max(0.0, rect.right() - seen.right());
    shift.ry() = rect.top() < seen.top() ? rect.top() - seen.top()
                                         : std::max(0.0, rect.bottom() - seen.bottom());
    glideTo(visibleSceneRect().center() + shift, m_zoom);
}

void GraphCanvas::applyAnchor(const Anchor& anchor) {
    if (anchor.fit) {
        m_glide->stop();
        return fitAll();
    }
    int box = -1;
    if (anchor.node)
        box = m_placed->visibleBox(anchor.node);
    else if (anchor.scope)
        box = m_placed->boxOf(anchor.scope);
    if (box < 0) {
        updateScrollBars();
        if (!visibleSceneRect().intersects(m_placed->bounds()))
            fitAll();
        viewport()->update();
        emit viewChanged();
        return;
    }
    const QRectF rect = m_placed->boxes()[static_cast<std::size_t>(box)].rect;
    m_glide->stop();
    m_initialView = false;
    if (anchor.centre) {
        const double zoom = std::max(m_zoom, kReadableZoom);
        setView(rect.center() - QPointF(viewport()->width(), viewport()->height()) / 2 / zoom,
                zoom);
    } else {
        setView(rect.topLeft() - anchor.viewportPoint / m_zoom, m_zoom);
    }
}

}  // namespace shardwright
