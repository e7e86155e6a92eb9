// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/canvas/canvas_theme.h"
#include "ui/canvas/graph_canvas.h"
#include "ui/canvas/overlay.h"
#include "ui/canvas/placed_scene.h"

#include <QFont>
#include <QPainter>

namespace shardwright {

/// What is marked in a drawing by the person at it.
struct DrawnSelection {
    QSet<NodeId> nodes;
    ScopeId scope;
    ValueId value;
    QSet<NodeId> highlighted;
    QSet<ScopeId> pending;   ///< Scopes whose inside is being laid out.
    std::vector<int> edges;  ///< Edges that are drawn out, ascending; see activeEdges().
};

/// Edges of the selected value, and those that lead to and from selected boxes, through the ports
/// on their way.
std::vector<int> activeEdges(const PlacedScene& scene, const QSet<NodeId>& nodes, ScopeId scope,
                             ValueId value);

/// Draws what lies in a part of the scene. The painter's transformation maps the scene to the
/// device; `zoom` says how large, and with it how much detail there is.
class ScenePainter {
public:
    ScenePainter(QPainter& painter, const PlacedScene& scene, const CanvasTheme& theme,
                 double zoom);
    void setOverlay(const Overlay* overlay, GraphCanvas::EdgeText edgeText,
                    GraphCanvas::Marks marks);
    void setSelection(const DrawnSelection* selection) { m_selection = selection; }
    /// For pictures that are enlarged later: nothing is left out, however much there is.
    void setFullDetail() { m_fullDetail = true; }
    void setVisible(const QRectF& visible) { m_visible = visible; }
    void paint(const QRectF& part);

private:
    // Edges: edge_painter.cpp
    void paintEdges(const std::vector<int>& edges);
    void paintEdgesFar(const std::vector<int>& edges);
    void paintEdge(const PlacedEdge& edge, bool active);
    void paintArrow(QPointF tip, const QColor& colour);
    void paintEdgeText(const PlacedEdge& edge);
    QRectF edgeTextRect(const PlacedEdge& edge, const QString& text, double room) const;
    void paintEdgeMarks(const PlacedEdge& edge);
    void paintCommunication(const CommunicationMark& mark, QPointF middle);
    void paintPortalLines();
    QColor edgeColour(const PlacedEdge& edge) const;
    // Boxes: box_painter.cpp
    void paintBoxesFar(const std::vector<int>& boxes);
    void paintBox(int box);
    void paintNode(const PlacedBox& box);
    void paintFrame(const PlacedBox& box);
    void paintFrameTitle(const PlacedBox& box);
    void paintScope(const PlacedBox& box);
    void paintEndpoint(const PlacedBox& box);
    void paintPortal(const PlacedBox& box);
    void paintOutline(const PlacedBox& box);
    void paintFarTitle(const PlacedBox& box);
    void paintNodeMarks(const PlacedBox& box);
    double paintChips(const std::vector<int>& axes, const std::vector<int>& filled,
                      QPointF rightMiddle, double room);
    void paintStage(int first, int last, QPointF corner);
    void paintDiagnostics(int errors, int warnings, QPointF middle);
    void paintChevron(QPointF middle, bool open, const QColor& colour);
    void paintText(const QFont& font, const QColor& colour, const QRectF& rect, int flags,
                   const QString& text, Qt::TextElideMode elide = Qt::ElideRight);
    bool isSelected(const PlacedBox& box) const;
    bool isHighlighted(const PlacedBox& box) const;
    bool readable() const { return m_zoom >= 0.42; }

    QPainter& m_painter;
    const PlacedScene& m_scene;
    const CanvasTheme& m_theme;
    double m_zoom;
    QRectF m_visible;  ///< The window onto the scene; a repaint can be of a part of it.
    bool m_fullDetail = false;
    const Overlay* m_overlay = nullptr;
    GraphCanvas::EdgeText m_edgeText = GraphCanvas::EdgeText::None;
    GraphCanvas::Marks m_marks = GraphCanvas::AllMarks;
    const DrawnSelection* m_selection = nullptr;
    QFont m_titleFont, m_smallFont, m_tinyFont;
};

}  // namespace shardwright
