// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/canvas/scene_structure.h"
#include "ui/canvas/spatial_index.h"

#include <QPointF>
#include <QRectF>

#include <memory>
#include <span>
#include <vector>

namespace shardwright {

/// One box where it is drawn.
struct PlacedBox {
    QRectF rect;
    BoxKind kind = BoxKind::Node;
    OpFamily family = OpFamily::Other;
    bool open = false;  ///< An open scope: a frame around other boxes.
    int depth = 0;
    int parent = -1;  ///< The frame around it; -1: none.
    NodeId node;
    ScopeId scope;  ///< Scope boxes: itself.
    ValueId value;  ///< Inputs, outputs, ports, portals.
};

/// One line. Between points of equal x it is straight, elsewhere a curve that starts and ends
/// vertically.
struct PlacedEdge {
    ValueId value;
    int from = -1, to = -1;  ///< Boxes; from and to may be ports or portals.
    std::uint32_t firstPoint = 0;
    std::uint32_t pointCount = 0;
    bool arrow = true;  ///< Ends at a box rather than at a port.
};

/// Directions of walking with the arrow keys.
enum class Walk { Producer, Consumer, Left, Right };

/// A finished drawing: absolute places of all that is visible. Immutable.
class PlacedScene {
public:
    const std::shared_ptr<const SceneStructure>& structure() const { return m_structure; }
    const GraphIndex& graph() const { return m_structure->graph(); }
    const std::vector<PlacedBox>& boxes() const { return m_boxes; }
    const std::vector<PlacedEdge>& edges() const { return m_edges; }
    std::span<const QPointF> points(const PlacedEdge& edge) const {
        return {m_points.data() + edge.firstPoint, edge.pointCount};
    }
    QRectF bounds() const { return m_bounds; }

    /// Boxes (edges) that touch the rectangle, in drawing order: frames before what they hold.
    void boxesIn(const QRectF& rect, std::vector<int>& out) const { m_boxIndex.query(rect, out); }
    void edgesIn(const QRectF& rect, std::vector<int>& out) const { m_edgeIndex.query(rect, out); }
    /// The innermost box at a point; -1: none.
    int boxAt(QPointF point) const;
    /// The nearest edge within `reach`; -1: none.
    int edgeAt(QPointF point, double reach) const;

    /// The node's own box; -1 while a scope around it is closed.
    int boxOf(NodeId node) const { return m_nodeBox[node.index()]; }
    /// The box of a scope, open or closed; -1 for the root and inside closed scopes.
    int boxOf(ScopeId scope) const { return m_scopeBox[scope.index()]; }
    QRectF rectOf(NodeId node) const;
    /// The node's box or that of the closed scope that hides it.
    int visibleBox(NodeId node) const;
    int visibleBox(ItemPlace place) const;
    /// Box of the producer of a value: node, input or closed scope; -1 for weights.
    int producerBox(ValueId value) const;
    /// Boxes that read a value, without repetition.
    std::vector<int> consumerBoxes(ValueId value) const;
    std::span<const int> edgesOfValue(ValueId value) const;
    /// The box that an arrow key leads to from `box`; -1: none.
    int neighbour(int box, Walk direction) const;

    int drawnNodeCount() const { return m_drawnNodes; }
    /// Where the drawing starts: around the first graph inputs.
    QRectF startRect() const { return m_start; }

private:
    friend class ScenePlacer;
    std::shared_ptr<const SceneStructure> m_structure;
    std::vector<PlacedBox> m_boxes;
    std::vector<PlacedEdge> m_edges;
    std::vector<QPointF> m_points;
    std::vector<std::vector<int>> m_itemBoxes;  ///< By scope and item; empty for closed scopes.
    std::vector<int> m_nodeBox, m_scopeBox;
    std::vector<int> m_valueEdgeStart, m_valueEdges;
    SpatialIndex m_boxIndex, m_edgeIndex;
    QRectF m_bounds, m_start;
    int m_drawnNodes = 0;
};

}  // namespace shardwright
