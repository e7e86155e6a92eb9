// SPDX-License-Identifier: Apache-2.0
//
// Three passes, none recursive:
//   1. every graph's own values are declared: inputs, initializers, node outputs;
//   2. every input slot is resolved, in its own graph or an outer one (then it is a capture of all
//   the owners between);
//   3. every graph is sorted. This comes last, since what the bodies capture orders their owners.

#include "model/graph_builder.h"

#include "model/graph_walk.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace shardwright {

namespace {

using Problem = GraphIndex::Problem;
using Source = GraphSource<const onnx::ModelProto>;

std::string functionName(const std::string& domain, const std::string& name,
                         const std::string& overload) {
    return (domain == "ai.onnx" ? std::string() : domain) + "::" + name +
           (overload.empty() ? "" : ":" + overload);
}

class GraphBuilder {
public:
    explicit GraphBuilder(const onnx::ModelProto& model)
        : m_sources(listGraphs(model)), m_inputsMayHaveDefaults(model.ir_version() >= 4) {}

    GraphIndex build() {
        reserve();
        for (std::size_t i = 0; i < m_sources.size(); ++i)
            declareGraph(GraphId(i), m_sources[i]);
        resolveFunctions();
        for (std::size_t i = 0; i < m_sources.size(); ++i)
            resolveGraph(GraphId(i), m_sources[i]);
        for (GraphInfo& graph : m_index.graphs) {
            sortGraph(graph);
            reportOrder(graph);
        }
        return std::move(m_index);
    }

private:
    void reserve() {
        std::size_t nodes = 0;
        m_index.namesByGraph.resize(m_sources.size());
        for (std::size_t i = 0; i < m_sources.size(); ++i) {
            const auto count = static_cast<std::size_t>(m_sources[i].nodes->size());
            m_index.namesByGraph[i].reserve(count + count / 4);
            nodes += count;
        }
        m_index.graphs.reserve(m_sources.size());
        m_index.nodes.reserve(nodes);
        m_index.values.reserve(nodes + nodes / 4);
    }

    void problem(Problem::Kind kind, NodeId node, ValueId value, NodeId other = {}) {
        m_index.problems.push_back({kind, node, other, value});
    }

    // --- 1: declare
    // ------------------------------------------------------------------------------------------------

    /// A new value. Where the name is taken, the earlier value keeps it and the new one is found
    /// only by its id.
    ValueId declare(GraphId graph, const std::string& name, ValueKind kind, NodeId producer = {},
                    int slot = -1) {
        const ValueId id(m_index.values.size());
        ValueInfo& value = m_index.values.emplace_back();
        value.id = id;
        value.graph = graph;
        value.name = name;
        value.kind = kind;
        value.producer = producer;
        value.producerSlot = slot;
        if (name.empty())
            return id;
        const auto [entry, added] = m_index.namesByGraph[graph.index()].emplace(name, id);
        if (!added)
            problem(Problem::Kind::ProducedTwice, producer, id,
                    m_index.value(entry->second).producer);
        return id;
    }

    void declareGraph(GraphId id, const Source& source) {
        GraphInfo& graph = m_index.graphs.emplace_back();
        graph.id = id;
        graph.owner = source.owner;
        if (source.function != nullptr) {
            graph.kind = GraphKind::Function;
            graph.name = functionName(source.function->domain(), source.function->name(),
                                      source.function->overload());
            for (const std::string& input : source.function->input())
                graph.inputs.push_back(declare(id, input, ValueKind::GraphInput));
        } else if (source.owner) {
            graph.kind = GraphKind::Body;
            graph.name = source.attribute->name();
            if (source.position >= 0)
                graph.name += "[" + std::to_string(source.position) + "]";
            m_index.nodes[source.owner.index()].bodies.push_back(id);
        }
        if (source.graph != nullptr)
            declareInputs(graph, *source.graph);
        declareNodes(graph, source);
    }

    void declareInputs(GraphInfo& graph, const onnx::GraphProto& proto) {
        for (const auto& input : proto.input()) {
            const ValueId value = declare(graph.id, input.name(), ValueKind::GraphInput);
            graph.inputs.push_back(value);
            if (input.name().empty())
                problem(Problem::Kind::UnnamedOutput, {}, value);
        }
        for (const auto& tensor : proto.initializer()) {
            const ValueId value = declareInitializer(graph.id, tensor.name());
            if (m_index.values[value.index()].initializer == nullptr)
                m_index.values[value.index()].initializer = &tensor;
        }
        for (const auto& tensor : proto.sparse_initializer())
            declareInitializer(graph.id, tensor.values().name());
        // Below IR version 4 every initializer had to be listed as an input, and was constant all
        // the same.
        if (!m_inputsMayHaveDefaults)
            std::erase_if(graph.inputs, [&](ValueId id) {
                return m_index.value(id).kind == ValueKind::Initializer;
            });
    }

    ValueId declareInitializer(GraphId graph, const std::string& name) {
        const auto known = m_index.namesByGraph[graph.index()].find(name);
        if (known == m_index.namesByGraph[graph.index()].end())
            return declare(graph, name, ValueKind::Initializer);
        ValueInfo& value = m_index.values[known->second.index()];
        if (value.kind != ValueKind::GraphInput || value.initializer != nullptr)
            return declare(graph, name, ValueKind::Initializer);
        if (!m_inputsMayHaveDefaults)
            value.kind = ValueKind::Initializer;
        return value.id;
    }

    void declareNodes(GraphInfo& graph, const Source& source) {
        std::unordered_map<std::string_view, NodeId> nodeNames;
        nodeNames.reserve(static_cast<std::size_t>(source.nodes->size()));
        graph.nodes.reserve(static_cast<std::size_t>(source.nodes->size()));
        int index = 0;
        for (const auto& proto : *source.nodes) {
            const NodeId id(m_index.nodes.size());
            NodeInfo& node = m_index.nodes.emplace_back();
            node.id = id;
            node.graph = graph.id;
            node.index = index++;
            node.proto = &proto;
            graph.nodes.push_back(id);
            node.outputs.reserve(static_cast<std::size_t>(proto.output_size()));
            for (int slot = 0; slot < proto.output_size(); ++slot) {
                const std::string& name = proto.output(slot);
                node.outputs.push_back(
                    name.empty() ? ValueId()
                                 : declare(graph.id, name, ValueKind::NodeOutput, id, slot));
            }
            if (std::none_of(node.outputs.begin(), node.outputs.end(),
                             [](ValueId value) { return bool(value); }))
                problem(Problem::Kind::UnnamedOutput, id, {});
            if (proto.name().empty())
                continue;
            const auto [first, added] = nodeNames.emplace(proto.name(), id);
            if (!added)
                problem(Problem::Kind::DuplicateNodeName, id, {}, first->second);
        }
    }

    // --- 2: resolve
    // ------------------------------------------------------------------------------------------------

    void resolveFunctions() {
        std::unordered_map<std::string, GraphId> functions;
        for (const GraphInfo& graph : m_index.graphs) {
            if (graph.kind == GraphKind::Function)
                functions.emplace(graph.name, graph.id);
        }
        if (functions.empty())
            return;
        for (NodeInfo& node : m_index.nodes) {
            const auto found = functions.find(
                functionName(node.proto->domain(), node.proto->op_type(), node.proto->overload()));
            if (found != functions.end())
                node.function = found->second;
        }
    }

    void resolveGraph(GraphId id, const Source& source) {
        NodeId node = source.firstNode;
        for (const auto& proto : *source.nodes) {
            m_index.nodes[node.index()].inputs.reserve(
                static_cast<std::size_t>(proto.input_size()));
            for (int slot = 0; slot < proto.input_size(); ++slot) {
                const std::string& name = proto.input(slot);
                const ValueId value = name.empty() ? ValueId() : resolve(id, name, node);
                m_index.nodes[node.index()].inputs.push_back(value);
                if (value && m_index.value(value).graph == id)
                    m_index.values[value.index()].uses.push_back({node, slot});
            }
            ++node.value;
        }
        if (source.function != nullptr) {
            for (const std::string& output : source.function->output())
                resolveOutput(id, output);
        } else {
            for (const auto& output : source.graph->output())
                resolveOutput(id, output.name());
        }
    }

    void resolveOutput(GraphId graph, const std::string& name) {
        ValueId value;
        if (name.empty()) {
            value = declare(graph, name, ValueKind::Missing);
            problem(Problem::Kind::UnnamedOutput, {}, value);
        } else {
            value = resolve(graph, name, {});
        }
        if (m_index.value(value).graph == graph)
            m_index.values[value.index()].isGraphOutput = true;
        m_index.graphs[graph.index()].outputs.push_back(value);
    }

    ValueId resolve(GraphId graph, const std::string& name, NodeId user) {
        for (GraphId at = graph; at; at = m_sources[at.index()].parent) {
            const auto found = m_index.namesByGraph[at.index()].find(name);
            if (found == m_index.namesByGraph[at.index()].end())
                continue;
            // Every owner from here up to the value's graph reads it through its body.
            for (GraphId inner = graph; inner != at; inner = m_sources[inner.index()].parent)
                capture(m_sources[inner.index()].owner, found->second);
            return found->second;
        }
        const ValueId value = declare(graph, name, ValueKind::Missing);
        problem(Problem::Kind::MissingInput, user, value);
        return value;
    }

    void capture(NodeId owner, ValueId value) {
        if (m_captured[owner].insert(value).second)
            m_index.nodes[owner.index()].captures.push_back(value);
    }

    // --- 3: sort
    // ---------------------------------------------------------------------------------------------------

    template <class Visit>
    void forEachPredecessor(const NodeInfo& node, Visit visit) const {
        const auto visitValue = [&](ValueId id) {
            if (!id)
                return;
            const ValueInfo& value = m_index.value(id);
            if (value.producer && value.graph == node.graph)
                visit(value.producer, id);
        };
        for (const ValueId id : node.inputs)
            visitValue(id);
        for (const ValueId id : node.captures)
            visitValue(id);
    }

    /// Successors of each node of a graph, by position: those of node i are `list[begin[i]]` up to
    /// `list[begin[i + 1]]`.
    struct Successors {
        std::vector<std::size_t> begin;
        std::vector<std::size_t> list;
        std::vector<std::size_t> waitsFor;  ///< How often each node is in the list.
    };

    std::size_t position(NodeId id) const {
        return static_cast<std::size_t>(m_index.node(id).index);
    }

    Successors successorsOf(const GraphInfo& graph) const {
        Successors all;
        all.begin.assign(graph.nodes.size() + 2, 0);
        all.waitsFor.assign(graph.nodes.size(), 0);
        // Counted two places ahead, summed up, and then moved to where they belong by filling in.
        for (const NodeId id : graph.nodes)
            forEachPredecessor(m_index.node(id), [&](NodeId producer, ValueId) {
                ++all.begin[position(producer) + 2];
            });
        for (std::size_t i = 2; i < all.begin.size(); ++i)
            all.begin[i] += all.begin[i - 1];
        all.list.resize(all.begin.back());
        for (const NodeId id : graph.nodes) {
            forEachPredecessor(m_index.node(id), [&](NodeId producer, ValueId) {
                all.list[all.begin[position(producer) + 1]++] = position(id);
                ++all.waitsFor[position(id)];
            });
        }
        return all;
    }

    /// Kahn's algorithm; among ready nodes the first in the file comes first, so a sorted file
    /// keeps its order.
    void sortGraph(GraphInfo& graph) {
        const std::size_t count = graph.nodes.size();
        Successors successors = successorsOf(graph);
        std::vector<std::size_t>& waitsFor = successors.waitsFor;
        std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
        for (std::size_t i = 0; i < count; ++i) {
            if (waitsFor[i] == 0)
                ready.push(i);
        }
        graph.order.reserve(count);
        while (!ready.empty()) {
            const std::size_t next = ready.top();
            ready.pop();
            graph.order.push_back(graph.nodes[next]);
            for (std::size_t i = successors.begin[next]; i < successors.begin[next + 1]; ++i) {
                if (--waitsFor[successors.list[i]] == 0)
                    ready.push(successors.list[i]);
            }
        }
        for (std::size_t i = 0; i < count && graph.order.size() < count; ++i) {
            if (waitsFor[i] != 0)
                graph.cyclic.push_back(graph.nodes[i]);
        }
    }

    void reportOrder(const GraphInfo& graph) {
        const std::unordered_set<NodeId> cyclic(graph.cyclic.begin(), graph.cyclic.end());
        for (const NodeId id : graph.nodes) {
            const NodeInfo& node = m_index.node(id);
            if (cyclic.contains(id))
                continue;
            forEachPredecessor(node, [&](NodeId producer, ValueId value) {
                if (m_index.node(producer).index > node.index)
                    problem(Problem::Kind::OutOfOrder, id, value, producer);
            });
        }
        if (!graph.cyclic.empty())
            reportCycle(graph, cyclic);
    }

    /// Nodes behind a cycle are left over, too; walking backwards among them ends on the cycle
    /// itself.
    void reportCycle(const GraphInfo& graph, const std::unordered_set<NodeId>& cyclic) {
        std::unordered_set<NodeId> seen;
        NodeId node = graph.cyclic.front();
        NodeId before;
        ValueId through;
        const auto stepBack = [&](NodeId at) {
            before = {};
            forEachPredecessor(m_index.node(at), [&](NodeId producer, ValueId value) {
                if (!before && cyclic.contains(producer)) {
                    before = producer;
                    through = value;
                }
            });
        };
        while (seen.insert(node).second) {
            stepBack(node);
            node = before;
        }
        stepBack(node);
        problem(Problem::Kind::Cycle, node, through, before);
    }

    std::vector<Source> m_sources;
    bool m_inputsMayHaveDefaults;
    GraphIndex m_index;
    std::unordered_map<NodeId, std::unordered_set<ValueId>> m_captured;
};

}  // namespace

GraphIndex buildGraphIndex(const onnx::ModelProto& model) {
    GraphIndex index = GraphBuilder(model).build();
    buildScopes(index);
    return index;
}

}  // namespace shardwright
