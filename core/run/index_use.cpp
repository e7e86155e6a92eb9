// SPDX-License-Identifier: Apache-2.0
#include "run/index_use.h"

#include <onnx/onnx_pb.h>

#include <deque>
#include <set>
#include <unordered_map>

namespace shardwright {

namespace {

/// Where the integers are: a value and, where they became columns of index tuples by a Concat,
/// which columns.
struct Position {
    ValueId value;
    std::int64_t firstColumn = -1, columns = 0;  ///< -1: not known.
    auto operator<=>(const Position&) const = default;
};

std::int64_t intAttribute(const onnx::NodeProto& node, const char* name, std::int64_t otherwise) {
    for (const auto& attribute : node.attribute())
        if (attribute.name() == name)
            return attribute.i();
    return otherwise;
}

class Follower {
public:
    Follower(const GraphIndex& graph, const ShapeTable& shapes)
        : m_graph(graph), m_shapes(shapes) {}

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
        const std::string& op = node.proto->op_type();
        const ValueId out = node.outputs.empty() ? ValueId() : node.outputs[0];
        static const std::set<std::string> views{"Reshape",   "Unsqueeze", "Squeeze", "Flatten",
                                                 "Transpose", "Slice",     "Expand"};
        if (op == "Cast")
            visitCast(node, out, at);
        else if (op == "Identity")
            add({out, at.firstColumn, at.columns});
        else if (slot == 0 && views.count(op) > 0)
            add({out});
        else if (op == "Concat")
            visitConcat(node, slot, out, at);
        else if (slot == 1 && node.inputs[0])
            visitIndexed(node, op, m_shapes.of(node.inputs[0]).dims, at);
    }

    void visitCast(const NodeInfo& node, ValueId out, const Position& at) {
        using T = onnx::TensorProto;
        switch (intAttribute(*node.proto, "to", 0)) {
            case T::BOOL: m_use.mask = true; break;
            case T::INT8:
            case T::INT16:
            case T::INT32:
            case T::INT64:
            case T::UINT8:
            case T::UINT16:
            case T::UINT32:
            case T::UINT64: add({out, at.firstColumn, at.columns}); break;
            default: break;
        }
    }

    void visitConcat(const NodeInfo& node, int slot, ValueId out, const Position& at) {
        const auto rank = static_cast<std::int64_t>(m_shapes.of(out).dims.size());
        const std::int64_t axis = intAttribute(*node.proto, "axis", 0);
        if (rank == 0 || (axis != -1 && axis != rank - 1)) {
            add({out});
            return;
        }
        std::int64_t column = 0;
        for (int i = 0; i < slot; ++i) {
            const auto& dims = m_shapes.of(node.inputs[static_cast<std::size_t>(i)]).dims;
            if (dims.empty() || dims.back() < 0) {
                add({out});
                return;
            }
            column += dims.back();
        }
        const auto& own = m_shapes.of(at.value).dims;
        add({out, column, own.empty() ? 1 : own.back()});
    }

    void visitIndexed(const NodeInfo& node, const std::string& op,
                      const std::vector<std::int64_t>& data, const Position& at) {
        const auto rank = static_cast<std::int64_t>(data.size());
        if (op == "Gather" || op == "GatherElements" || op == "ScatterElements") {
            std::int64_t axis = intAttribute(*node.proto, "axis", 0);
            axis += axis < 0 ? rank : 0;
            if (axis >= 0 && axis < rank)
                limit(data[static_cast<std::size_t>(axis)]);
        } else if (op == "GatherND" || op == "ScatterND") {
            const std::int64_t batch =
                op == "GatherND" ? intAttribute(*node.proto, "batch_dims", 0) : 0;
            const auto& indices = m_shapes.of(at.value).dims;
            const bool known = at.firstColumn >= 0;
            const std::int64_t first = known ? at.firstColumn : 0;
            const std::int64_t count = known ? at.columns : indices.empty() ? 0 : indices.back();
            for (std::int64_t column = first; column < first + count; ++column)
                if (batch >= 0 && batch + column < rank)
                    limit(data[static_cast<std::size_t>(batch + column)]);
        }
    }

    void limit(std::int64_t size) {
        if (size > 0)
            m_use.bound = m_use.bound < 0 ? size : std::min(m_use.bound, size);
    }

    const GraphIndex& m_graph;
    const ShapeTable& m_shapes;
    std::deque<Position> m_queue;
    std::set<Position> m_seen;
    std::unordered_map<ValueId, std::vector<ValueUse>> m_captured;
    bool m_capturesKnown = false;
    IndexUse m_use;
};

}  // namespace

IndexUse findIndexUse(const GraphIndex& graph, const ShapeTable& shapes, ValueId input) {
    return Follower(graph, shapes).follow(input);
}

}  // namespace shardwright
