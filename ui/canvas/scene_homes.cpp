// SPDX-License-Identifier: Apache-2.0
#include "ui/canvas/scene_homes.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace shardwright {

namespace {

constexpr int kFar = std::numeric_limits<int>::max();

class HomeFinder {
public:
    HomeFinder(const GraphIndex& graph, const std::vector<ScopeId>& order,
               std::vector<SceneContainer>& containers)
        : m_graph(graph), m_order(order), m_containers(containers) {}

    SceneHomes run() {
        numberNodes();
        chooseHomes();
        numberScopes();
        return std::move(m_homes);
    }

private:
    SceneContainer& container(ScopeId id) { return m_containers[id.index()]; }
    const SceneContainer& container(ScopeId id) const { return m_containers[id.index()]; }

    bool contains(ScopeId outer, ScopeId inner) const {
        while (inner && inner != outer)
            inner = container(inner).parent;
        return inner == outer;
    }

    /// Positions in topological order; a scope counts as its first node.
    void numberNodes() {
        m_homes.nodeKey.assign(m_graph.nodes.size(), kFar);
        int next = 0;
        for (const GraphInfo& graph : m_graph.graphs) {
            for (const auto* list : {&graph.order, &graph.cyclic, &graph.nodes}) {
                for (const NodeId id : *list) {
                    if (m_homes.nodeKey[id.index()] == kFar)
                        m_homes.nodeKey[id.index()] = next++;
                }
            }
        }
    }

    ScopeId commonScope(ScopeId a, ScopeId b) const {
        while (a != b) {
            if (container(a).depth >= container(b).depth)
                a = container(a).parent;
            else
                b = container(b).parent;
        }
        return a;
    }

    /// A node goes into the inner scope that holds everything it reads and all that read it,
    /// weights aside: exporters leave single nodes, shared weights and constants of a scope outside
    /// of it, where they would make it read its own results from outside, and swamp the root of a
    /// large model.
    void chooseHomes() {
        m_home.reserve(m_graph.nodes.size());
        for (const NodeInfo& node : m_graph.nodes)
            m_home.push_back(node.scope);
        for (const NodeInfo& node : m_graph.nodes) {
            const ScopeId home = node.bodies.empty() ? commonScopeAround(node) : ScopeId();
            if (home && home != node.scope && contains(node.scope, home))
                m_home[node.id.index()] = home;
        }
        m_homes.nodesOf.resize(m_graph.scopes.size());
        for (std::size_t n = 0; n < m_home.size(); ++n) {
            m_homes.nodesOf[m_home[n].index()].push_back(NodeId(n));
            ++container(m_home[n]).nodesInside;
        }
    }

    /// Invalid where nothing reads the node, or a graph output or another graph's node does.
    ScopeId commonScopeAround(const NodeInfo& node) const {
        ScopeId home;
        for (const ValueId value : node.outputs) {
            if (!value)
                continue;
            if (m_graph.value(value).isGraphOutput)
                return {};
            for (const ValueUse& use : m_graph.value(value).uses) {
                const ScopeId reader = m_home[use.node.index()];
                home = home ? commonScope(home, reader) : reader;
            }
        }
        for (const ValueId value : node.inputs) {
            if (!home || !value || m_graph.value(value).kind == ValueKind::Initializer)
                continue;
            const NodeId producer = m_graph.value(value).producer;
            if (!producer)
                return {};
            home = commonScope(home, m_home[producer.index()]);
        }
        return home;
    }

    bool isWholeGraph(const ScopeInfo& scope) const {
        return !scope.parent || scope.bodyOf || m_functionScopes.contains(scope.id.value);
    }

    /// From inner scopes to outer ones: counts, positions, and which scopes are worth a box.
    void numberScopes() {
        for (const GraphInfo& graph : m_graph.graphs) {
            if (graph.kind == GraphKind::Function) {
                for (const NodeId node : graph.nodes)
                    m_functionScopes.insert(outermost(m_graph.node(node).scope).value);
            }
        }
        m_homes.scopeKey.assign(m_graph.scopes.size(), kFar);
        std::vector<std::int64_t> keySum(m_graph.scopes.size());
        for (std::size_t i = m_order.size(); i-- > 0;) {
            const ScopeInfo& scope = m_graph.scope(m_order[i]);
            SceneContainer& inside = container(scope.id);
            auto& nodes = m_homes.nodesOf[scope.id.index()];
            // A scope is where its nodes are in the mean; where single ones are says little.
            std::int64_t& sum = keySum[scope.id.index()];
            for (const NodeId id : nodes)
                sum += m_homes.nodeKey[id.index()];
            m_homes.scopeKey[scope.id.index()] =
                static_cast<int>(sum / std::max(inside.nodesInside, 1));
            // A body belongs just before the node that it is a body of.
            if (scope.bodyOf)
                m_homes.scopeKey[scope.id.index()] = m_homes.nodeKey[scope.bodyOf.index()];
            if (!inside.parent)
                continue;
            container(inside.parent).nodesInside += inside.nodesInside;
            keySum[inside.parent.index()] += sum;
            if (inside.nodesInside > 1 || isWholeGraph(scope))
                continue;
            inside.drawn = false;
            auto& around = m_homes.nodesOf[inside.parent.index()];
            around.insert(around.end(), nodes.begin(), nodes.end());
            nodes.clear();
        }
    }

    ScopeId outermost(ScopeId scope) const {
        while (container(scope).parent && container(scope).parent != ScopeId(0))
            scope = container(scope).parent;
        return scope;
    }

    const GraphIndex& m_graph;
    const std::vector<ScopeId>& m_order;
    std::vector<SceneContainer>& m_containers;
    SceneHomes m_homes;
    std::vector<ScopeId> m_home;  ///< By node.
    std::unordered_set<int> m_functionScopes;
};

}  // namespace

SceneHomes findHomes(const GraphIndex& graph, const std::vector<ScopeId>& order,
                     std::vector<SceneContainer>& containers) {
    return HomeFinder(graph, order, containers).run();
}

}  // namespace shardwright
