// SPDX-License-Identifier: Apache-2.0
#include "run/index_use.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>

namespace shardwright {

namespace {

/// Where the integers are: a value and, where they became columns of index tuples, which columns.
struct Position {
    ValueId value;
    std::int64_t firstColumn = -1, columns = 0;  ///< -1: not known.
    auto operator<=>(const Position&) const = default;
};

bool isInteger(std::int32_t type) {
    using T = onnx::TensorProto;
    return type == T::INT8 || type == T::INT16 || type == T::INT32 || type == T::INT64 ||
           type == T::UINT8 || type == T::UINT16 || type == T::UINT32 || type == T::UINT64;
}

class Follower {
public:
    Follower(const GraphIndex& graph, const ShapeTable& shapes, const Registry& registry)
        : m_graph(graph), m_shapes(shapes), m_registry(registry) {}

    IndexUse follow(ValueId input) {
        add({input});
        while (!m_queue.empty()) {
            const Position at = m_queue.front();
            m_queue.pop_front();
            for (const ValueUse& use : m_graph.value(at.value).uses)
                visit(m_graph.node(use.node), use.slot, at);
            visitCaptures(at);
        }
        return m_use;
    }

private:
    void add(Position position) {
        if (position.value && m_seen.insert(position).second)
            m_queue.push_back(position);
    }

    /// Nodes of bodies name the outer value itself; they are not among its uses.
    void visitCaptures(const Position& at) {
        if (!m_capturesKnown) {
            m_capturesKnown = true;
            for (const NodeInfo& node : m_graph.nodes)
                for (std::size_t slot = 0; slot < node.inputs.size(); ++slot)
                    if (node.inputs[slot] && m_graph.value(node.inputs[slot]).graph != node.graph)
                        m_captured[node.inputs[slot]].push_back({node.id, static_cast<int>(slot)});
        }
        if (const auto it = m_captured.find(at.value); it != m_captured.end())
            for (const ValueUse& use : it->second)
                visit(m_graph.node(use.node), use.slot, at);
    }

    void visit(const NodeInfo& node, int slot, const Position& at) {
        if (node.function) {
            const auto& inputs = m_graph.graph(node.function).inputs;
            if (static_cast<std::size_t>(slot) < inputs.size())
                add({inputs[static_cast<std::size_t>(slot)], at.firstColumn, at.columns});
            return;
        }
        const OperatorEntry* entry =
            m_registry.find(m_graph.domain(node.id), m_graph.opType(node.id));
        if (!entry || !entry->elements)
            return;
        const ElementUse use = entry->elements(NodeContext{m_graph, m_shapes, node});
        for (const ElementUse::Index& index : use.indices)
            if (index.slot == slot && (index.column < 0 || isAmong(index.column, at)))
                limit(index.size);
        for (const ElementUse::Carried& carried : use.carried)
            if (const auto output = static_cast<std::size_t>(carried.output);
                carried.slot == slot && output < node.outputs.size() && node.outputs[output])
                carry(node.outputs[output], carried.column, at);
    }

    /// Whether the integers are that element of index tuples.
    bool isAmong(int column, const Position& at) const {
        const auto& dims = m_shapes.of(at.value).dims;
        const std::int64_t first = std::max<std::int64_t>(at.firstColumn, 0);
        const std::int64_t count = at.firstColumn >= 0 ? at.columns
                                   : dims.empty()      ? 0
                                                       : dims.back();
        return column >= first && column < first + count;
    }

    void carry(ValueId out, std::int64_t column, const Position& at) {
        const std::int32_t from = m_shapes.of(at.value).elementType,
                           to = m_shapes.of(out).elementType;
        if (to == onnx::TensorProto::BOOL && from != to)
            m_use.mask = true;
        else if (column < 0)
            addInteger({out}, to);
        else if (at.firstColumn >= 0)
            addInteger({out, column + at.firstColumn, at.columns}, to);
        else if (const auto& dims = m_shapes.of(at.value).dims; dims.empty() || dims.back() >= 0)
            addInteger({out, column, dims.empty() ? 1 : dims.back()}, to);
        else
            addInteger({out}, to);
    }

    void addInteger(Position position, std::int32_t type) {
        if (isInteger(type))
            add(position);
    }

    void limit(std::int64_t size) {
        if (size > 0)
            m_use.bound = m_use.bound < 0 ? size : std::min(m_use.bound, size);
    }

    const GraphIndex& m_graph;
    const ShapeTable& m_shapes;
    const Registry& m_registry;
    std::deque<Position> m_queue;
    std::set<Position> m_seen;
    std::unordered_map<ValueId, std::vector<ValueUse>> m_captured;
    bool m_capturesKnown = false;
    IndexUse m_use;
};

}  // namespace

IndexUse findIndexUse(const GraphIndex& graph, const ShapeTable& shapes, ValueId input,
                      const Registry& registry) {
    return Follower(graph, shapes, registry).follow(input);
}

}  // namespace shardwright
