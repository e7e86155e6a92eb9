// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/ids.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace onnx {
class NodeProto;
class GraphProto;
class FunctionProto;
class TensorProto;
}  // namespace onnx

namespace shardwright {

/// How a node is named to people and in JSON: {name, index, scope}. Names may be empty or occur
/// twice; (graph, index) is the identity, and `scope` tells the graph apart for nodes of bodies.
struct NodePlace {
    std::string name;
    int index = -1;     ///< Position in its graph's (or function's) node list.
    std::string scope;  ///< Name scopes joined by '/', empty at the root.

    bool operator==(const NodePlace&) const = default;
};

struct NodeInfo {
    NodeId id;
    GraphId graph;
    int index = -1;  ///< Position in the graph's node list.
    ScopeId scope;
    const onnx::NodeProto* proto = nullptr;
    std::vector<ValueId>
        inputs;  ///< One per slot; an empty name (omitted optional) is an invalid id.
    std::vector<ValueId> outputs;   ///< One per slot; likewise.
    std::vector<ValueId> captures;  ///< Outer values that the bodies of this node read.
    std::vector<GraphId> bodies;    ///< If, Loop, Scan: graphs of its attributes, in order.
    GraphId function;  ///< The called function's graph, when the node calls a model-local function.
};

enum class ValueKind { GraphInput, Initializer, NodeOutput, Missing };

struct ValueUse {
    NodeId node;
    int slot = -1;
};

struct ValueInfo {
    ValueId id;
    GraphId graph;
    std::string name;
    ValueKind kind = ValueKind::Missing;
    const onnx::TensorProto* initializer =
        nullptr;  ///< Also set for a graph input that has a default value.
    NodeId producer;
    int producerSlot = -1;
    std::vector<ValueUse> uses;  ///< Slots of nodes of the same graph; captures are in NodeInfo.
    bool isGraphOutput = false;
};

enum class GraphKind { Main, Body, Function };

struct GraphInfo {
    GraphId id;
    GraphKind kind = GraphKind::Main;
    NodeId owner;      ///< Of a body: the If, Loop or Scan node.
    std::string name;  ///< Attribute name of a body, `domain::name[:overload]` of a function.
    std::vector<NodeId> nodes;    ///< In file order.
    std::vector<NodeId> order;    ///< Topological; nodes of a cycle are left out.
    std::vector<ValueId> inputs;  ///< Without pure initializers (IR >= 4), in file order.
    std::vector<ValueId> outputs;
    std::vector<NodeId> cyclic;  ///< Nodes on or behind a cycle.
};

/// A name scope of the drawing and of globs: `model/layers.0/self_attn`.
struct ScopeInfo {
    ScopeId id;
    ScopeId parent;
    std::string name;  ///< Last component.
    std::string path;  ///< All components joined by '/'.
    std::vector<ScopeId> children;
    std::vector<NodeId> nodes;  ///< Directly inside.
    NodeId bodyOf;              ///< Set where the scope is a body of this node.
};

/// Index of all graphs of a model. Points into the ModelProto that it was built from.
/// Never recurses over the graph's depth (bodies nest by an explicit stack).
struct GraphIndex {
    std::vector<NodeInfo> nodes;
    std::vector<ValueInfo> values;
    std::vector<GraphInfo> graphs;  ///< graphs[0] is the main graph.
    std::vector<ScopeInfo> scopes;  ///< scopes[0] is the root.

    const NodeInfo& node(NodeId id) const { return nodes[id.index()]; }
    const ValueInfo& value(ValueId id) const { return values[id.index()]; }
    const GraphInfo& graph(GraphId id) const { return graphs[id.index()]; }
    const ScopeInfo& scope(ScopeId id) const { return scopes[id.index()]; }
    const GraphInfo& main() const { return graphs[0]; }

    /// Values of this graph by name (not of outer ones); several nodes may produce one name: the
    /// first wins.
    ValueId findValue(GraphId graph, std::string_view name) const;
    NodePlace place(NodeId id) const;
    /// `name`, or `Op#index` where the node has none.
    std::string label(NodeId id) const;
    std::string_view opType(NodeId id) const;
    std::string_view domain(NodeId id) const;  ///< "" for ai.onnx.
    std::size_t edgeCount() const;  ///< Producer to consumer pairs (slots), inside graphs.

    /// What the index saw while it was built: values produced twice, inputs nobody produces,
    /// nodes out of order. The checker turns these into diagnostics. `node` and `other` may be
    /// invalid: of a graph output that nobody produces or names, or where a graph input or
    /// initializer has the name already.
    struct Problem {
        enum class Kind {
            ProducedTwice,
            MissingInput,
            OutOfOrder,
            Cycle,
            DuplicateNodeName,
            UnnamedOutput
        };
        Kind kind;
        NodeId node;
        NodeId other;  ///< The other producer, for ProducedTwice.
        ValueId value;
    };
    std::vector<Problem> problems;

    // name -> value per graph; an implementation detail of findValue.
    std::vector<std::unordered_map<std::string_view, ValueId>> namesByGraph;
};

}  // namespace shardwright
