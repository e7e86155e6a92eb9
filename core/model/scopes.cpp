// SPDX-License-Identifier: Apache-2.0
//
// The scope of a node is that of its graph (the root, a function, a body below its owner), and
// below it what the exporter wrote: metadata, node name, name of the first output, in this order.
// Constant nodes without any join their consumers. A graph that still has very many nodes without a
// scope is cut into chunks of its order.

#include "model/graph_builder.h"
#include "model/scope_names.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <unordered_map>

namespace shardwright {

namespace {

constexpr std::size_t kManyWithoutScope = 400;
constexpr std::size_t kChunk = 200;

class ScopeBuilder {
public:
    explicit ScopeBuilder(GraphIndex& index) : m_index(index) {}

    void build() {
        m_index.scopes.clear();
        m_index.scopes.emplace_back().id = ScopeId(0);
        m_roots.resize(m_index.graphs.size());
        m_written.resize(m_index.graphs.size());
        // Owners come before their bodies in the list of graphs.
        for (const GraphInfo& graph : m_index.graphs) {
            openGraph(graph);
            placeByName(graph);
            placeConstants(graph);
            placeChunks(graph);
        }
        for (const NodeInfo& node : m_index.nodes)
            m_index.scopes[node.scope.index()].nodes.push_back(node.id);
    }

private:
    ScopeId child(ScopeId parent, const std::string& name) {
        const auto [entry, added] =
            m_children.try_emplace(std::to_string(parent.value) + "/" + name);
        if (added)
            entry->second = add(parent, name);
        return entry->second;
    }

    ScopeId add(ScopeId parent, std::string name) {
        const ScopeId id(m_index.scopes.size());
        ScopeInfo scope;
        scope.id = id;
        scope.parent = parent;
        const std::string& outer = m_index.scope(parent).path;
        scope.path = outer.empty() ? name : outer + "/" + name;
        scope.name = std::move(name);
        m_index.scopes.push_back(std::move(scope));
        m_index.scopes[parent.index()].children.push_back(id);
        return id;
    }

    /// A scope that nothing else shares, whatever it is called.
    ScopeId addDistinct(ScopeId parent, std::string name, int index) {
        std::string key = std::to_string(parent.value) + "/" + name;
        if (m_children.contains(key)) {
            name += "#" + std::to_string(index);
            key = std::to_string(parent.value) + "/" + name;
        }
        const ScopeId id = add(parent, std::move(name));
        m_children.emplace(std::move(key), id);
        return id;
    }

    void openGraph(const GraphInfo& graph) {
        ScopeId& root = m_roots[graph.id.index()];
        root = ScopeId(0);
        if (graph.kind == GraphKind::Function) {
            root = addDistinct(root, graph.name, graph.id.value);
        } else if (graph.kind == GraphKind::Body) {
            const NodeInfo& owner = m_index.node(graph.owner);
            const std::string_view own = ownName(*owner.proto);
            const std::string label =
                owner.proto->name().empty() ? m_index.label(owner.id) : std::string(own);
            root = addDistinct(owner.scope, label + ":" + graph.name, owner.index);
            m_index.scopes[root.index()].bodyOf = owner.id;
            m_written[graph.id.index()] = scopesOfNode(*owner.proto);
        }
    }

    void placeByName(const GraphInfo& graph) {
        // Exporters write the whole path into the names of a body's nodes; its scope already stands
        // for the owner's.
        const std::vector<std::string>& outer = m_written[graph.id.index()];
        for (const NodeId id : graph.nodes) {
            NodeInfo& node = m_index.nodes[id.index()];
            const std::vector<std::string> scopes = scopesOfNode(*node.proto);
            const auto differs =
                std::mismatch(outer.begin(), outer.end(), scopes.begin(), scopes.end());
            ScopeId scope = m_roots[graph.id.index()];
            for (auto name = differs.first == outer.end() ? differs.second : scopes.begin();
                 name != scopes.end(); ++name)
                scope = child(scope, *name);
            node.scope = scope;
        }
    }

    std::size_t depth(ScopeId scope) const {
        std::size_t depth = 0;
        for (; scope; scope = m_index.scope(scope).parent)
            ++depth;
        return depth;
    }

    ScopeId commonScope(ScopeId a, ScopeId b) const {
        std::size_t depthA = depth(a);
        std::size_t depthB = depth(b);
        while (a != b) {
            if (depthA >= depthB) {
                a = m_index.scope(a).parent;
                --depthA;
            } else {
                b = m_index.scope(b).parent;
                --depthB;
            }
        }
        return a;
    }

    /// Whether a node's value is the same in every run, as of Constant, or of DequantizeLinear on a
    /// weight. In order.
    std::vector<bool> constantNodes(const GraphInfo& graph) const {
        std::vector<bool> constant(graph.nodes.size(), false);
        for (const NodeId id : graph.order) {
            const NodeInfo& node = m_index.node(id);
            const auto isConstant = [&](ValueId input) {
                if (!input)
                    return true;
                const ValueInfo& value = m_index.value(input);
                if (value.graph != graph.id || !value.producer)
                    return value.kind == ValueKind::Initializer;
                return bool(constant[static_cast<std::size_t>(m_index.node(value.producer).index)]);
            };
            constant[static_cast<std::size_t>(node.index)] =
                node.bodies.empty() &&
                std::all_of(node.inputs.begin(), node.inputs.end(), isConstant);
        }
        return constant;
    }

    /// PyTorch's tracing exporter leaves constants without a scope, quantisers the nodes that
    /// unpack weights; drawn at the root they would swamp it. Consumers first, so that chains move
    /// together.
    void placeConstants(const GraphInfo& graph) {
        const ScopeId root = m_roots[graph.id.index()];
        const std::vector<bool> constant = constantNodes(graph);
        for (auto id = graph.order.rbegin(); id != graph.order.rend(); ++id) {
            NodeInfo& node = m_index.nodes[id->index()];
            if (node.scope != root || !constant[static_cast<std::size_t>(node.index)])
                continue;
            ScopeId scope;
            for (const ValueId output : node.outputs) {
                if (!output)
                    continue;
                for (const ValueUse& use : m_index.value(output).uses) {
                    const ScopeId of = m_index.node(use.node).scope;
                    scope = scope ? commonScope(scope, of) : of;
                }
            }
            if (scope)
                node.scope = scope;
        }
    }

    void placeChunks(const GraphInfo& graph) {
        const ScopeId root = m_roots[graph.id.index()];
        std::vector<NodeId> bare;
        for (const auto* list : {&graph.order, &graph.cyclic}) {
            std::copy_if(list->begin(), list->end(), std::back_inserter(bare),
                         [&](NodeId id) { return m_index.node(id).scope == root; });
        }
        if (bare.size() <= kManyWithoutScope)
            return;
        const std::size_t size = std::max(kChunk, bare.size() / kManyWithoutScope + 1);
        for (std::size_t begin = 0; begin < bare.size(); begin += size) {
            const std::size_t end = std::min(begin + size, bare.size());
            const std::string name =
                "nodes " + std::to_string(begin) + "-" + std::to_string(end - 1);
            const ScopeId chunk = addDistinct(root, name, graph.id.value);
            for (std::size_t i = begin; i < end; ++i)
                m_index.nodes[bare[i].index()].scope = chunk;
        }
    }

    GraphIndex& m_index;
    std::unordered_map<std::string, ScopeId> m_children;
    std::vector<ScopeId> m_roots;  ///< By graph.
    std::vector<std::vector<std::string>>
        m_written;  ///< By graph: the scopes that a body's owner says it is in.
};

}  // namespace

void buildScopes(GraphIndex& index) {
    ScopeBuilder(index).build();
}

}  // namespace shardwright
