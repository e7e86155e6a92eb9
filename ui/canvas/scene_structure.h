// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/cancel.h"
#include "model/document.h"
#include "model/ids.h"
#include "ui/canvas/box_text.h"
#include "ui/canvas/canvas_theme.h"
#include "ui/canvas/layered_layout.h"
#include "ui/canvas/text_metrics.h"

#include <memory>
#include <vector>

namespace shardwright {

/// What a box of the drawing stands for.
enum class BoxKind : std::uint8_t {
    Node,
    Scope,
    Input,  ///< An input of the graph, of a body or of a function.
    Output,
    InPort,  ///< Where a value enters an open scope; on its upper edge.
    OutPort,
    PortalOut,  ///< The named stub at the producer of a value whose lines are not drawn ...
    PortalIn,   ///< ... and at each consumer.
};

/// One thing inside a scope, before it has a place.
struct SceneItem {
    BoxKind kind = BoxKind::Node;
    OpFamily family = OpFamily::Other;
    NodeId node;
    ScopeId scope;                ///< Scope: itself.
    ValueId value;                ///< Inputs, outputs, ports.
    float width = 0, height = 0;  ///< Of a scope: while it is closed.
};

/// One value from one item to another of the same scope.
struct SceneEdge {
    int from = -1;
    int to = -1;
    ValueId value;
};

/// The inside of one scope. Items: inputs, then nodes and scopes by their place in the model,
/// outputs, ports.
struct SceneContainer {
    ScopeId parent;
    int itemInParent = -1;
    int depth = 0;
    std::vector<SceneItem> items;
    std::vector<SceneEdge> edges;
    int nodesInside = 0;  ///< Including inner scopes.
    /// False for a scope around a single node: it has no box, its node lies in the scope around.
    bool drawn = true;
};

struct ItemPlace {
    ScopeId scope;
    int item = -1;
};

/// What there is to draw of a model, whatever is open. Immutable; built once a model, in linear
/// time, without recursion over scopes or over the graph.
class SceneStructure {
public:
    static std::shared_ptr<const SceneStructure> build(std::shared_ptr<const Model> model,
                                                       const TextMetrics& metrics,
                                                       const CancelToken& = {},
                                                       const BoxContents& contents = {});
    /// For which boxes have room.
    const BoxContents& boxContents() const { return m_contents; }

    const GraphIndex& graph() const { return m_model->graph(); }
    const std::shared_ptr<const Model>& model() const { return m_model; }
    const SceneContainer& container(ScopeId id) const { return m_containers[id.index()]; }
    std::size_t scopeCount() const { return m_containers.size(); }
    /// Where a node is drawn. Not always in its own scope: a scope of one node is not drawn, and
    /// nodes that only weights go into lie beside what reads them.
    ItemPlace place(NodeId id) const { return m_nodes[id.index()]; }
    /// The item that produces a value: its node or its input box; item -1 for weights.
    ItemPlace producer(ValueId id) const { return m_producers[id.index()]; }
    const std::vector<ScopeId>& scopesInnerLast() const {
        return m_order;
    }  ///< Parents before children.
    bool contains(ScopeId outer, ScopeId inner) const;

private:
    friend class StructureBuilder;
    std::shared_ptr<const Model> m_model;
    BoxContents m_contents;
    std::vector<SceneContainer> m_containers;
    std::vector<ItemPlace> m_nodes;
    std::vector<ItemPlace> m_producers;
    std::vector<ScopeId> m_order;
};

}  // namespace shardwright
