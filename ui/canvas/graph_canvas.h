// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/canvas/canvas_theme.h"
#include "ui/canvas/graph_scene.h"

#include <QAbstractScrollArea>
#include <QList>
#include <QPointF>
#include <QSet>
#include <QString>

#include <memory>
#include <vector>

class QPainter;
class QVariantAnimation;

namespace shardwright {

class Model;
struct Analysis;
class Overlay;
class SceneJobs;
struct DrawnSelection;

/// The drawing of a model's graph: scopes that open and close, nodes, tensors, and over them what
/// an Analysis says. Opening and laying out happen in worker threads; the widget paints the latest
/// finished drawing. Keys: arrows walk the graph, Enter opens and closes a scope, + - zoom, 0
/// actual size, F fit, Home the inputs, Escape clears, Backspace the selection before, Shift+Up and
/// Shift+Down zoom.
class GraphCanvas : public QAbstractScrollArea {
    Q_OBJECT

public:
    /// What is written beside each edge.
    enum class EdgeText { None, Name, Shape, Layout };
    Q_ENUM(EdgeText)
    /// What is drawn over the graph from the analysis.
    enum Mark {
        StageMarks = 1,
        AxisMarks = 2,
        CommunicationMarks = 4,
        DiagnosticMarks = 8,
        AllMarks = 15
    };
    Q_DECLARE_FLAGS(Marks, Mark)
    Q_FLAG(Marks)

    explicit GraphCanvas(QWidget* parent = nullptr);
    ~GraphCanvas() override;

    /// Starts drawing another model; null empties the canvas. sceneReady() follows.
    void setModel(std::shared_ptr<const Model> model);
    /// Repaints with another analysis of the same model; nothing moves. Null takes the marks away.
    /// A piece changes the marks of its nodes only, where it goes on from what is shown.
    void setAnalysis(std::shared_ptr<const Analysis> analysis);
    std::shared_ptr<const Analysis> analysis() const { return m_analysis; }
    /// The drawing on screen; null until the first is finished.
    std::shared_ptr<const PlacedScene> scene() const { return m_placed; }
    /// Open scopes and the like as they will be once pending layouts are finished; null without a
    /// model.
    const GraphScene* graphScene() const { return m_scene.get(); }
    bool isBusy() const;
    /// Stops pending layouts; what is on screen stays.
    void cancelPending();

    void setEdgeText(EdgeText text);
    EdgeText edgeText() const { return m_edgeText; }
    /// What boxes say under their operator; the drawing is laid out anew.
    void setBoxContents(const BoxContents& contents);
    const BoxContents& boxContents() const { return m_contents; }
    void setMarks(Marks marks);
    Marks marks() const { return m_marks; }
    const CanvasTheme& theme() const { return m_theme; }

    QList<NodeId> selectedNodes() const { return m_selected; }
    NodeId currentNode() const { return m_selected.isEmpty() ? NodeId() : m_selected.last(); }
    ScopeId selectedScope() const { return m_selectedScope; }
    ValueId selectedValue() const { return m_selectedValue; }
    bool isHighlighted(NodeId node) const { return m_highlighted.contains(node); }
    bool isExpanded(ScopeId scope) const;
    double zoom() const { return m_zoom; }
    QRectF visibleSceneRect() const;
    /// Nodes that are drawn in the window, and those that the lines in it come from.
    std::vector<NodeId> nodesInView() const;
    /// Scopes that are drawn closed in the window.
    std::vector<ScopeId> closedScopesInView() const;
    /// Around what is selected, as far as it is drawn; null: nothing.
    QRectF selectionRect() const;
    /// The open scopes around the middle of the view, as a path, while a title of them is out of
    /// sight; else nothing.
    QString whereText() const;
    QPointF toScene(QPointF viewportPoint) const;
    QPointF fromScene(QPointF scenePoint) const;

public slots:
    /// Selects these nodes; selectionChanged() follows when it differs.
    void setSelection(const QList<shardwright::NodeId>& nodes);
    void selectAll();
    void clearSelection();
    /// Selects a tensor (its edges are drawn out, its ends marked).
    void selectValue(shardwright::ValueId value);
    void selectScope(shardwright::ScopeId scope);
    /// The selection before this one.
    void selectPrevious();
    /// Marks nodes (search results). Collapsed scopes that hold some are marked, too.
    void highlight(const QSet<shardwright::NodeId>& nodes);
    /// Opens the scopes around and brings it into the middle.
    void centreOn(shardwright::NodeId node);
    void centreOnValue(shardwright::ValueId value);
    void centreOnScope(shardwright::ScopeId scope);
    void centreOnScenePoint(QPointF point);

    void setExpanded(shardwright::ScopeId scope, bool expanded);
    void toggleScope(shardwright::ScopeId scope);
    void expandAll();
    void collapseAll();

    void setZoom(double zoom);  ///< Around the middle of the view.
    void zoomIn();
    void zoomOut();
    void actualSize();
    void fitAll();
    void fitSelection();
    void goToInputs();

signals:
    void selectionChanged(const QList<shardwright::NodeId>& nodes);
    void valueSelected(shardwright::ValueId value);
    void scopeSelected(shardwright::ScopeId scope);
    void scopeToggled(shardwright::ScopeId scope, bool expanded);
    void nodeActivated(shardwright::NodeId node);  ///< Double click or Enter on a node.
    /// After the thing under the mouse was selected.
    void contextMenuWanted(QPoint globalPosition);
    void sceneReady();    ///< The first drawing of a model is on screen.
    void sceneChanged();  ///< Another drawing is on screen (scopes opened or closed).
    void viewChanged();   ///< Scrolled or zoomed.
    void zoomChanged(double zoom);
    void busyChanged(bool busy);

protected:
    bool event(QEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    void changeEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    enum class Drag { None, Pan, RubberBand };
    /// A point of the scene to hold still on screen while a new drawing comes.
    struct Anchor {
        ScopeId scope;
        NodeId node;
        QPointF viewportPoint;
        bool centre = false;
        /// Where its corner was when the drawing was asked for: the view may move until it comes.
        QPointF sceneCorner = {}, viewportCorner = {};
        bool fit = false;  ///< All of the new drawing.
    };
    struct Selection {
        QList<NodeId> nodes;
        ScopeId scope;
        ValueId value;
        bool operator==(const Selection&) const = default;
    };

    void requestScene(Anchor anchor);
    void sceneArrived(const SceneResult& result, Anchor anchor);
    void buildScene(std::vector<bool> open, Anchor anchor);
    void modelArrived(const SceneResult& result);
    void requestOverlay();
    void applyAnchor(const Anchor& anchor);
    void showInitialView();
    void setView(QPointF topLeft, double zoom);
    void glideTo(QPointF centre, double zoom);
    void zoomAround(QPointF viewportPoint, double factor);
    void updateScrollBars();
    double fitScale(const QRectF& rect) const;
    void changeSelection(Selection next, bool remember = true);
    void applySelection(const Selection& next);
    Selection selection() const { return {m_selected, m_selectedScope, m_selectedValue}; }
    void refreshMarks();
    int currentBox() const;
    void selectBox(int box);
    void ensureVisible(const QRectF& rect);
    bool onFrameTitle(const PlacedBox& box, QPointF scenePoint) const;
    QString toolTipAt(QPointF scenePoint) const;
    void paintWhere(QPainter& painter) const;
    void clickAt(QPointF viewportPoint, Qt::KeyboardModifiers modifiers);
    void selectInRect(const QRectF& sceneRect, bool add);
    bool walk(int key);
    bool zoomKey(QKeyEvent* event);
    void activateCurrent();
    void updateBusy();

    std::unique_ptr<SceneJobs> m_jobs;
    std::unique_ptr<GraphScene> m_scene;
    std::shared_ptr<const Model> m_model;
    std::shared_ptr<const PlacedScene> m_placed;
    std::shared_ptr<const Analysis> m_analysis;
    std::shared_ptr<const Overlay> m_overlay;
    std::unique_ptr<QVariantAnimation> m_glide;
    CanvasTheme m_theme;
    BoxContents m_contents;
    EdgeText m_edgeText = EdgeText::Shape;
    Marks m_marks = AllMarks;

    QList<NodeId> m_selected;
    ScopeId m_selectedScope;
    ValueId m_selectedValue;
    QList<Selection> m_history;
    QSet<NodeId> m_highlighted;
    QSet<ScopeId> m_pendingScopes;
    std::unique_ptr<DrawnSelection> m_drawn;  ///< The selection as the painter wants it.

    QPointF m_origin;  ///< Scene point at the top left of the viewport.
    double m_zoom = 1.0;
    bool m_settingScrollBars = false;
    /// Nobody has moved the view yet: it may follow the size of the window.
    bool m_initialView = true;
    bool m_busy = false;
    Drag m_drag = Drag::None;
    bool m_moved = false;  ///< Since the button was pressed.
    QPoint m_pressPoint;
    QPoint m_lastPoint;
};

}  // namespace shardwright

Q_DECLARE_OPERATORS_FOR_FLAGS(shardwright::GraphCanvas::Marks)
Q_DECLARE_METATYPE(shardwright::NodeId)
Q_DECLARE_METATYPE(shardwright::ValueId)
Q_DECLARE_METATYPE(shardwright::ScopeId)
