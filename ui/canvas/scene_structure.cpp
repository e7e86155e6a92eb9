// SPDX-License-Identifier: Apache-2.0
//
// A value leaves the scopes around its producer through ports, one a scope, and enters those around
// each reader likewise, so that the inside of a scope does not depend on what is around it and
// equal scopes are equal.

#include "ui/canvas/scene_structure.h"

#include "ui/canvas/box_text.h"
#include "ui/canvas/scene_homes.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace shardwright {

class StructureBuilder {
public:
    StructureBuilder(std::shared_ptr<const Model> model, const TextMetrics& metrics,
                     const CancelToken& cancel, const BoxContents& contents)
        : m_graph(model->graph()), m_metrics(metrics), m_cancel(cancel),
          m_out(std::make_shared<SceneStructure>()) {
        m_out->m_model = std::move(model);
        m_out->m_contents = contents;
    }

    std::shared_ptr<const SceneStructure> run() {
        orderScopes();
        m_homes = findHomes(m_graph, m_out->m_order, m_out->m_containers);
        findGraphScopes();
        for (const ScopeId scope : m_out->m_order)
            addItems(scope);
        if (m_cancel.cancelled())
            return nullptr;
        addGraphOutputs();
        for (std::size_t v = 0; v < m_graph.values.size(); ++v) {
            if (v % 4096 == 0 && m_cancel.cancelled())
                return nullptr;
            connect(m_graph.values[v]);
        }
        return m_out;
    }

private:
    SceneContainer& container(ScopeId id) { return m_out->m_containers[id.index()]; }

    void orderScopes() {
        m_out->m_containers.resize(m_graph.scopes.size());
        m_out->m_order.push_back(ScopeId(0));
        for (std::size_t i = 0; i < m_out->m_order.size(); ++i) {
            const ScopeInfo& scope = m_graph.scope(m_out->m_order[i]);
            for (const ScopeId child : scope.children) {
                container(child).parent = scope.id;
                container(child).depth = container(scope.id).depth + 1;
                m_out->m_order.push_back(child);
            }
        }
    }

    /// The scope that stands for a whole graph: the root, a body's or a function's.
    void findGraphScopes() {
        m_graphScope.resize(m_graph.graphs.size());
        m_graphScope[0] = ScopeId(0);
        for (const GraphInfo& graph : m_graph.graphs) {
            if (graph.kind == GraphKind::Main || graph.nodes.empty())
                continue;
            ScopeId scope = m_graph.node(graph.nodes.front()).scope;
            while (scope) {
                const ScopeInfo& info = m_graph.scope(scope);
                const bool whole = graph.kind == GraphKind::Body ? info.bodyOf == graph.owner
                                                                 : info.parent == ScopeId(0);
                if (whole)
                    break;
                scope = info.parent;
            }
            m_graphScope[graph.id.index()] = scope;
        }
    }

    SceneItem nodeItem(NodeId id, ScopeId drawnIn) const {
        SceneItem item;
        item.kind = BoxKind::Node;
        item.node = id;
        item.family = opFamily(m_graph.domain(id), m_graph.opType(id));
        if (m_graph.node(id).function)
            item.family = OpFamily::Function;
        const BoxSize size = nodeBoxSize(m_graph, id, drawnIn, m_metrics, m_out->m_contents);
        item.width = size.width;
        item.height = size.height;
        return item;
    }

    SceneItem valueItem(BoxKind kind, ValueId id) const {
        SceneItem item;
        item.kind = kind;
        item.value = id;
        if (kind == BoxKind::Input || kind == BoxKind::Output) {
            const BoxSize size = valueBoxSize(m_graph.value(id).name, m_metrics);
            item.width = size.width;
            item.height = size.height;
        } else {
            item.width = 10;
        }
        return item;
    }

    SceneItem scopeItem(ScopeId id) const {
        SceneItem item;
        item.kind = BoxKind::Scope;
        item.scope = id;
        const BoxSize size = scopeBoxSize(m_graph.scope(id).name, m_metrics);
        item.width = size.width;
        item.height = size.height;
        return item;
    }

    /// Inputs first, then nodes and scopes in topological order.
    void addItems(ScopeId id) {
        m_out->m_nodes.resize(m_graph.nodes.size());
        m_out->m_producers.resize(m_graph.values.size());
        SceneContainer& inside = container(id);
        for (const GraphInfo& graph : m_graph.graphs) {
            if (m_graphScope[graph.id.index()] != id)
                continue;
            for (const ValueId value : graph.inputs) {
                m_out->m_producers[value.index()] = {id, static_cast<int>(inside.items.size())};
                inside.items.push_back(valueItem(BoxKind::Input, value));
            }
        }
        struct Entry {
            int key;
            bool isNode;
            int id;
            auto operator<=>(const Entry&) const = default;
        };
        std::vector<Entry> entries;
        for (const NodeId node : m_homes.nodesOf[id.index()])
            entries.push_back({m_homes.nodeKey[node.index()], true, node.value});
        for (const ScopeId child : m_graph.scope(id).children) {
            if (container(child).drawn)
                entries.push_back({m_homes.scopeKey[child.index()], false, child.value});
        }
        std::sort(entries.begin(), entries.end());
        for (const Entry& entry : entries) {
            const int position = static_cast<int>(inside.items.size());
            if (entry.isNode) {
                inside.items.push_back(nodeItem(NodeId(entry.id), id));
                m_out->m_nodes[NodeId(entry.id).index()] = {id, position};
            } else {
                inside.items.push_back(scopeItem(ScopeId(entry.id)));
                container(ScopeId(entry.id)).itemInParent = position;
            }
        }
        for (const NodeId node : m_homes.nodesOf[id.index()]) {
            for (const ValueId value : m_graph.node(node).outputs) {
                if (value && m_graph.value(value).producer == node)
                    m_out->m_producers[value.index()] = m_out->m_nodes[node.index()];
            }
        }
    }

    void addGraphOutputs() {
        m_readers.resize(m_graph.values.size());
        for (const NodeInfo& node : m_graph.nodes) {
            for (const ValueId value : node.inputs) {
                if (value)
                    m_readers[value.index()].push_back(m_out->place(node.id));
            }
        }
        for (const GraphInfo& graph : m_graph.graphs) {
            const ScopeId scope = m_graphScope[graph.id.index()];
            for (const ValueId value : graph.outputs) {
                if (!value)
                    continue;
                // The results of a body flow on into the node that it is a body of.
                if (graph.kind == GraphKind::Body) {
                    m_readers[value.index()].push_back(m_out->place(graph.owner));
                } else if (scope) {
                    m_readers[value.index()].push_back(
                        {scope, static_cast<int>(container(scope).items.size())});
                    container(scope).items.push_back(valueItem(BoxKind::Output, value));
                }
            }
        }
    }

    int port(BoxKind kind, ScopeId scope, ValueId value) {
        auto& ports = kind == BoxKind::InPort ? m_inPorts : m_outPorts;
        const auto [entry, added] =
            ports.try_emplace(scope.value, static_cast<int>(container(scope).items.size()));
        if (added)
            container(scope).items.push_back(valueItem(kind, value));
        return entry->second;
    }

    void addEdge(ScopeId scope, int from, int to, ValueId value) {
        const auto key = std::make_pair(scope.value, (static_cast<std::uint64_t>(from) << 32) |
                                                         static_cast<unsigned>(to));
        if (from != to && m_seen.insert(key).second)
            container(scope).edges.push_back({from, to, value});
    }

    void connect(const ValueInfo& value) {
        const ItemPlace producer = m_out->producer(value.id);
        if (producer.item < 0)
            return;
        m_inPorts.clear();
        m_outPorts.clear();
        m_seen.clear();
        for (const ItemPlace& reader : m_readers[value.id.index()]) {
            ItemPlace from = producer, to = reader;
            while (from.scope != to.scope) {
                if (container(from.scope).depth >= container(to.scope).depth) {
                    const int out = port(BoxKind::OutPort, from.scope, value.id);
                    addEdge(from.scope, from.item, out, value.id);
                    from = {container(from.scope).parent, container(from.scope).itemInParent};
                } else {
                    const int in = port(BoxKind::InPort, to.scope, value.id);
                    addEdge(to.scope, in, to.item, value.id);
                    to = {container(to.scope).parent, container(to.scope).itemInParent};
                }
            }
            addEdge(from.scope, from.item, to.item, value.id);
        }
    }

    struct KeyHash {
        std::size_t operator()(const std::pair<int, std::uint64_t>& key) const {
            return std::hash<std::uint64_t>()(key.second * 0x9e3779b97f4a7c15ULL +
                                              static_cast<std::uint64_t>(key.first));
        }
    };

    const GraphIndex& m_graph;
    const TextMetrics& m_metrics;
    const CancelToken& m_cancel;
    std::shared_ptr<SceneStructure> m_out;
    SceneHomes m_homes;
    std::vector<ScopeId> m_graphScope;
    std::vector<std::vector<ItemPlace>> m_readers;       ///< By value.
    std::unordered_map<int, int> m_inPorts, m_outPorts;  ///< Of the value at hand, by scope.
    std::unordered_set<std::pair<int, std::uint64_t>, KeyHash> m_seen;
};

std::shared_ptr<const SceneStructure> SceneStructure::build(std::shared_ptr<const Model> model,
                                                            const TextMetrics& metrics,
                                                            const CancelToken& cancel,
                                                            const BoxContents& contents) {
    return StructureBuilder(std::move(model), metrics, cancel, contents).run();
}

bool SceneStructure::contains(ScopeId outer, ScopeId inner) const {
    while (inner && inner != outer)
        inner = container(inner).parent;
    return inner == outer;
}

}  // namespace shardwright
