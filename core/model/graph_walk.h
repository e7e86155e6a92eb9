// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/ids.h"

#include <onnx/onnx_pb.h>

#include <type_traits>
#include <vector>

namespace shardwright {

/// A list of nodes in a ModelProto: the main graph's, a function's, or that of a body.
template <class Model>
struct GraphSource {
    template <class T>
    using Like = std::conditional_t<std::is_const_v<Model>, const T, T>;

    Like<google::protobuf::RepeatedPtrField<onnx::NodeProto>>* nodes = nullptr;
    const onnx::GraphProto* graph = nullptr;        ///< Null for a function.
    const onnx::FunctionProto* function = nullptr;  ///< Null for a graph.
    GraphId parent;                                 ///< Of a body: where its owner lies.
    NodeId owner;
    const onnx::AttributeProto* attribute = nullptr;
    int position = -1;  ///< In an attribute with several graphs, else -1.
    NodeId firstNode;   ///< Ids of a graph's nodes are consecutive, in file order.
};

namespace detail {

inline auto* nodesOf(const onnx::GraphProto& graph) {
    return &graph.node();
}
inline auto* nodesOf(onnx::GraphProto& graph) {
    return graph.mutable_node();
}
inline auto* nodesOf(const onnx::FunctionProto& function) {
    return &function.node();
}
inline auto* nodesOf(onnx::FunctionProto& function) {
    return function.mutable_node();
}
inline auto& graphOf(const onnx::ModelProto& model) {
    return model.graph();
}
inline auto& graphOf(onnx::ModelProto& model) {
    return *model.mutable_graph();
}
inline auto& functionsOf(const onnx::ModelProto& model) {
    return model.functions();
}
inline auto& functionsOf(onnx::ModelProto& model) {
    return *model.mutable_functions();
}
inline auto& attributesOf(const onnx::NodeProto& node) {
    return node.attribute();
}
inline auto& attributesOf(onnx::NodeProto& node) {
    return *node.mutable_attribute();
}
inline auto& graphOf(const onnx::AttributeProto& attribute) {
    return attribute.g();
}
inline auto& graphOf(onnx::AttributeProto& attribute) {
    return *attribute.mutable_g();
}
inline auto& graphsOf(const onnx::AttributeProto& attribute) {
    return attribute.graphs();
}
inline auto& graphsOf(onnx::AttributeProto& attribute) {
    return *attribute.mutable_graphs();
}

template <class Model>
class GraphLister {
public:
    explicit GraphLister(Model& model) {
        addGraph(graphOf(model), {});
        for (auto& function : functionsOf(model)) {
            GraphSource<Model> source;
            source.nodes = nodesOf(function);
            source.function = &function;
            add(source);
        }
        // Breadth first with a growing list instead of recursion: bodies nest as deep as a file
        // likes.
        for (std::size_t i = 0; i < m_sources.size(); ++i)
            addBodies(i);
    }

    std::vector<GraphSource<Model>> take() { return std::move(m_sources); }

private:
    void add(GraphSource<Model> source) {
        source.firstNode = NodeId(m_nodeCount);
        m_nodeCount += static_cast<std::size_t>(source.nodes->size());
        m_sources.push_back(source);
    }

    template <class Graph>
    void addGraph(Graph& graph, GraphSource<Model> source) {
        source.nodes = nodesOf(graph);
        source.graph = &graph;
        add(source);
    }

    void addBodies(std::size_t index) {
        std::size_t node = m_sources[index].firstNode.index();
        for (auto& proto : *m_sources[index].nodes) {
            for (auto& attribute : attributesOf(proto)) {
                GraphSource<Model> body;
                body.parent = GraphId(index);
                body.owner = NodeId(node);
                body.attribute = &attribute;
                if (attribute.has_g())
                    addGraph(graphOf(attribute), body);
                for (auto& graph : graphsOf(attribute)) {
                    ++body.position;
                    addGraph(graph, body);
                }
            }
            ++node;
        }
    }

    std::vector<GraphSource<Model>> m_sources;
    std::size_t m_nodeCount = 0;
};

}  // namespace detail

/// All graphs of a model in the order of GraphId: the main graph, the functions in file order, then
/// bodies breadth first. The same for a model and its copy, which is how a NodeId finds its node in
/// a copy.
template <class Model>
std::vector<GraphSource<Model>> listGraphs(Model& model) {
    return detail::GraphLister<Model>(model).take();
}

}  // namespace shardwright
