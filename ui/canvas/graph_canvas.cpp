// SPDX-License-Identifier: Apache-2.0
#include "ui/canvas/graph_canvas.h"

#include "check/analysis.h"
#include "ui/canvas/box_text.h"
#include "ui/canvas/overlay.h"
#include "ui/canvas/scene_jobs.h"
#include "ui/canvas/scene_painter.h"

#include <QPainter>
#include <QPaintEvent>
#include <QVariantAnimation>

namespace shardwright {

namespace {

/// What a job that opens a model gives back; the scene is handed over to the GUI thread.
struct OpenedModel {
    std::shared_ptr<GraphScene> scene;
    SceneResult result;
};

}  // namespace

GraphCanvas::GraphCanvas(QWidget* parent)
    : QAbstractScrollArea(parent), m_jobs(std::make_unique<SceneJobs>()),
      m_glide(std::make_unique<QVariantAnimation>()), m_theme(CanvasTheme::fromPalette(palette())),
      m_drawn(std::make_unique<DrawnSelection>()) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Graph"));
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
    viewport()->setMouseTracking(true);
    viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
    viewport()->grabGesture(Qt::PinchGesture);
    m_glide->setDuration(140);
    m_glide->setEasingCurve(QEasingCurve::OutCubic);
    m_glide->setStartValue(0.0);
    m_glide->setEndValue(1.0);
    updateScrollBars();
}

GraphCanvas::~GraphCanvas() {
    m_glide->stop();
}

void GraphCanvas::setModel(std::shared_ptr<const Model> model) {
    m_jobs->cancel(SceneJobs::Kind::Place);
    m_jobs->cancel(SceneJobs::Kind::Marks);
    m_glide->stop();
    m_model = std::move(model);
    m_scene.reset();
    m_placed.reset();
    m_analysis.reset();
    m_overlay.reset();
    m_history.clear();
    m_highlighted.clear();
    m_pendingScopes.clear();
    changeSelection({}, false);
    m_initialView = true;
    if (m_model)
        buildScene({}, {});
    updateBusy();
    updateScrollBars();
    viewport()->update();
}

/// `open`: scopes to open; empty: those that a model opens with, at its beginning.
void GraphCanvas::buildScene(std::vector<bool> open, Anchor anchor) {
    m_jobs->start(
        SceneJobs::Kind::Place,
        [model = m_model, metrics = std::make_shared<FontTextMetrics>(), contents = m_contents,
         open](const CancelToken& cancel) -> OpenedModel {
            const auto structure = SceneStructure::build(model, *metrics, cancel, contents);
            if (!structure)
                return {};
            auto scene = open.empty() ? std::make_shared<GraphScene>(structure)
                                      : std::make_shared<GraphScene>(structure, open);
            SceneResult result = placeScene(scene->request(), cancel);
            return {std::move(scene), std::move(result)};
        },
        [this, anchor, again = !open.empty()](OpenedModel opened) {
            if (!opened.scene || !opened.result.scene)
                return;
            m_scene = std::make_unique<GraphScene>(std::move(*opened.scene));
            if (again)
                sceneArrived(opened.result, anchor);
            else
                modelArrived(opened.result);
            if (m_analysis)
                requestOverlay();
        });
    updateBusy();
}

void GraphCanvas::modelArrived(const SceneResult& result) {
    m_scene->accept(result);
    m_placed = result.scene;
    showInitialView();
    refreshMarks();
    updateBusy();
    emit sceneReady();
    emit sceneChanged();
    emit zoomChanged(m_zoom);
}

void GraphCanvas::setBoxContents(const BoxContents& contents) {
    if (contents == m_contents)
        return;
    m_contents = contents;
    if (!m_model)
        return;
    if (!m_scene || !m_placed)
        return buildScene({}, {});
    // What is selected, else what is in the middle of the view, stays where it is.
    const QPointF middle(viewport()->width() / 2.0, viewport()->height() / 2.0);
    int box = currentBox();
    if (box < 0 ||
        !visibleSceneRect().intersects(m_placed->boxes()[static_cast<std::size_t>(box)].rect))
        box = m_placed->boxAt(toScene(middle));
    Anchor anchor;
    if (box >= 0) {
        const PlacedBox& held = m_placed->boxes()[static_cast<std::size_t>(box)];
        const QPointF corner = fromScene(held.rect.topLeft());
        anchor = {held.scope, held.node, corner, false, held.rect.topLeft(), corner};
    }
    buildScene(m_scene->openScopes(), anchor);
}

void GraphCanvas::requestScene(Anchor anchor) {
    m_jobs->start(
        SceneJobs::Kind::Place,
        [request = m_scene->request()](const CancelToken& cancel) {
            return placeScene(request, cancel);
        },
        [this, anchor](const SceneResult& result) {
            if (result.scene)
                sceneArrived(result, anchor);
        });
    updateBusy();
    refreshMarks();
}

void GraphCanvas::sceneArrived(const SceneResult& result, Anchor anchor) {
    anchor.viewportPoint += fromScene(anchor.sceneCorner) - anchor.viewportCorner;
    m_scene->accept(result);
    m_placed = result.scene;
    m_pendingScopes.clear();
    // On the way to what was selected last: it may lie elsewhere now.
    const bool onTheWay =
        m_glide->state() == QAbstractAnimation::Running && !anchor.centre && !anchor.fit;
    applyAnchor(anchor);
    if (const int box = currentBox(); onTheWay && box >= 0)
        glideTo(m_placed->boxes()[static_cast<std::size_t>(box)].rect.center(), m_zoom);
    refreshMarks();
    updateBusy();
    emit sceneChanged();
}

void GraphCanvas::setAnalysis(std::shared_ptr<const Analysis> analysis) {
    m_analysis = std::move(analysis);
    if (!m_analysis) {
        m_jobs->cancel(SceneJobs::Kind::Marks);
        m_overlay.reset();
        viewport()->update();
    } else if (m_scene) {
        requestOverlay();
    }
    updateBusy();
}

void GraphCanvas::requestOverlay() {
    m_jobs->start(
        SceneJobs::Kind::Marks,
        [analysis = m_analysis, structure = m_placed->structure(),
         before = m_overlay](const CancelToken& cancel) {
            return analysis->document.model == structure->model()
                       ? Overlay::build(analysis, *structure, cancel, before.get())
                       : std::shared_ptr<const Overlay>();
        },
        [this](std::shared_ptr<const Overlay> overlay) {
            if (overlay)
                m_overlay = std::move(overlay);
            viewport()->update();
            updateBusy();
        });
}

bool GraphCanvas::isBusy() const {
    return m_jobs->running(SceneJobs::Kind::Place) || m_jobs->running(SceneJobs::Kind::Marks);
}

void GraphCanvas::updateBusy() {
    if (m_busy == isBusy())
        return;
    m_busy = isBusy();
    emit busyChanged(m_busy);
}

void GraphCanvas::cancelPending() {
    m_jobs->cancel(SceneJobs::Kind::Place);
    m_jobs->cancel(SceneJobs::Kind::Marks);
    m_pendingScopes.clear();
    // Open and closed scopes are again what is on screen.
    if (m_scene && m_placed) {
        for (const ScopeId scope : m_placed->structure()->scopesInnerLast()) {
            if (const int box = m_placed->boxOf(scope); box >= 0)
                m_scene->setExpanded(scope, m_placed->boxes()[static_cast<std::size_t>(box)].open);
        }
    }
    refreshMarks();
    updateBusy();
}

void GraphCanvas::setEdgeText(EdgeText text) {
    m_edgeText = text;
    viewport()->update();
}

void GraphCanvas::setMarks(Marks marks) {
    m_marks = marks;
    viewport()->update();
}

bool GraphCanvas::isExpanded(ScopeId scope) const {
    return m_scene && scope && m_scene->isExpanded(scope);
}

void GraphCanvas::setExpanded(ScopeId scope, bool expanded) {
    if (!m_scene || !m_placed || !m_scene->setExpanded(scope, expanded))
        return;
    Anchor anchor;
    anchor.scope = scope;
    if (const int box = m_placed->boxOf(scope); box >= 0) {
        // What was under the eye stays there: the title, or the upper edge of the view where the
        // title is above it.
        const QPointF corner =
            fromScene(m_placed->boxes()[static_cast<std::size_t>(box)].rect.topLeft());
        anchor.viewportPoint = {std::max(corner.x(), std::min(20.0, viewport()->width() * 0.1)),
                                std::max(corner.y(), 20.0)};
        if (expanded)
            anchor.viewportPoint = corner;
        anchor.sceneCorner = m_placed->boxes()[static_cast<std::size_t>(box)].rect.topLeft();
        anchor.viewportCorner = corner;
    }
    m_pendingScopes.insert(scope);
    requestScene(anchor);
    emit scopeToggled(scope, expanded);
}

void GraphCanvas::toggleScope(ScopeId scope) {
    setExpanded(scope, !isExpanded(scope));
}

void GraphCanvas::expandAll() {
    if (!m_scene)
        return;
    m_scene->expandAll();
    requestScene({});
}

void GraphCanvas::collapseAll() {
    if (!m_scene)
        return;
    m_scene->collapseAll();
    // What is left is small, and lies somewhere else than what one looked at.
    Anchor anchor;
    anchor.fit = true;
    requestScene(anchor);
}

/// The painter's copy of the selection, with the edges that it draws out.
void GraphCanvas::refreshMarks() {
    m_drawn->nodes = QSet<NodeId>(m_selected.begin(), m_selected.end());
    m_drawn->scope = m_selectedScope;
    m_drawn->value = m_selectedValue;
    m_drawn->highlighted = m_highlighted;
    m_drawn->pending = m_pendingScopes;
    m_drawn->edges.clear();
    if (m_placed)
        m_drawn->edges = activeEdges(*m_placed, m_drawn->nodes, m_selectedScope, m_selectedValue);
    viewport()->update();
}

void GraphCanvas::paintEvent(QPaintEvent* event) {
    QPainter painter(viewport());
    painter.fillRect(event->rect(), m_theme.background);
    if (!m_placed) {
        painter.setPen(m_theme.mutedText);
        painter.setFont(titleFont());
        if (m_model)
            painter.drawText(viewport()->rect(), Qt::AlignCenter, tr("Drawing the graph ..."));
        return;
    }
    painter.save();
    painter.scale(m_zoom, m_zoom);
    painter.translate(-m_origin);
    ScenePainter scene(painter, *m_placed, m_theme, m_zoom);
    scene.setOverlay(m_overlay.get(), m_edgeText, m_marks);
    scene.setSelection(m_drawn.get());
    scene.setVisible(visibleSceneRect());
    const QRectF part(toScene(event->rect().topLeft()), QSizeF(event->rect().size()) / m_zoom);
    scene.paint(part);
    painter.restore();
    paintWhere(painter);
    if (m_drag == Drag::RubberBand) {
        QColor fill = m_theme.accent;
        fill.setAlphaF(0.15F);
        painter.setPen(QPen(m_theme.accent, 1));
        painter.setBrush(fill);
        painter.drawRect(QRect(m_pressPoint, m_lastPoint).normalized());
    }
}

QString GraphCanvas::whereText() const {
    if (!m_placed)
        return {};
    const QRectF seen = visibleSceneRect();
    int box = m_placed->boxAt(seen.center());
    // One does not look into a frame that is small on the screen.
    constexpr double kLeastHeight = 80;
    const auto isAround = [&](const PlacedBox& frame) {
        return frame.open && frame.rect.height() * m_zoom >= kLeastHeight;
    };
    while (box >= 0 && !isAround(m_placed->boxes()[static_cast<std::size_t>(box)]))
        box = m_placed->boxes()[static_cast<std::size_t>(box)].parent;
    QStringList names;
    bool hidden = false;
    for (; box >= 0; box = m_placed->boxes()[static_cast<std::size_t>(box)].parent) {
        const PlacedBox& frame = m_placed->boxes()[static_cast<std::size_t>(box)];
        hidden = hidden || frame.rect.top() + kFrameTitleHeight < seen.top();
        names.prepend(cleanText(m_placed->graph().scope(frame.scope).name, 60));
    }
    return hidden ? names.join(QStringLiteral("  \u203A  ")) : QString();
}

void GraphCanvas::paintWhere(QPainter& painter) const {
    const QString text = whereText();
    if (text.isEmpty())
        return;
    QFont font = smallFont();
    font.setPixelSize(12);
    const QFontMetrics metrics(font);
    constexpr int kAway = 8, kInside = 9;
    const QString shown =
        metrics.elidedText(text, Qt::ElideLeft, viewport()->width() - 2 * (kAway + kInside));
    const QRect rect(kAway, kAway, metrics.horizontalAdvance(shown) + 2 * kInside,
                     metrics.height() + 8);
    QColor ground = m_theme.scopeTitle;
    ground.setAlphaF(0.94F);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(m_theme.scopeFrame, 1));
    painter.setBrush(ground);
    painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5);
    painter.setFont(font);
    painter.setPen(m_theme.text);
    painter.drawText(rect, Qt::AlignCenter, shown);
}

void GraphCanvas::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange) {
        m_theme = CanvasTheme::fromPalette(palette());
        viewport()->update();
    }
    QAbstractScrollArea::changeEvent(event);
}

}  // namespace shardwright
