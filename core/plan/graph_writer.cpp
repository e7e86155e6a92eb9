// SPDX-License-Identifier: Apache-2.0
#include "plan/graph_writer.h"

#include "plan/constants.h"

#include <algorithm>
#include <limits>

namespace shardwright::lowering {

ReservedNames::ReservedNames(const GraphIndex& graph) {
    m_names.reserve(graph.values.size());
    for (const ValueInfo& value : graph.values)
        m_names.insert(value.name);
}

std::string ReservedNames::fresh(const std::string& base, const char* mark, int& next) const {
    std::string name;
    do
        name = base + mark + std::to_string(next++);
    while (has(name));
    return name;
}

void GraphWriter::addNode(onnx::NodeProto node) {
    if (!node.name().empty() && !m_nodeNames.insert(node.name()).second) {
        const std::string base = node.name();
        int& next = m_nextNodeName.try_emplace(base, 2).first->second;
        do
            node.set_name(base + "_" + std::to_string(next++));
        while (!m_nodeNames.insert(node.name()).second);
    }
    *m_graph.add_node() = std::move(node);
}

std::string GraphWriter::add(const std::string& op, const std::vector<std::string>& inputs,
                             std::string output) {
    if (output.empty())
        output = fresh(inputs.empty() ? op : inputs.front());
    onnx::NodeProto node;
    node.set_op_type(op);
    for (const std::string& input : inputs)
        node.add_input(input);
    node.add_output(output);
    *m_graph.add_node() = std::move(node);
    return output;
}

std::string GraphWriter::constant(onnx::TensorProto tensor) {
    tensor.clear_name();
    auto [it, isNew] = m_constants.try_emplace(tensor.SerializeAsString());
    if (isNew) {
        it->second = fresh("constant");
        tensor.set_name(it->second);
        *m_graph.add_initializer() = std::move(tensor);
    }
    return it->second;
}

std::string GraphWriter::ints(const std::vector<std::int64_t>& values) {
    return constant(intsTensor(values));
}
std::string GraphWriter::scalar(std::int32_t type, double value) {
    return constant(scalarTensor(type, value));
}

std::string GraphWriter::castTo(const std::string& input, std::int32_t type, std::string output) {
    output = add("Cast", {input}, std::move(output));
    auto& to = *added().add_attribute();
    to.set_name("to");
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(type);
    return output;
}

namespace {

void addInts(onnx::NodeProto& node, const char* name, const std::vector<std::int64_t>& values) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    attribute.mutable_ints()->Add(values.begin(), values.end());
}

/// The step between positions; 0: uneven, or none at all.
std::int64_t stepOf(const std::vector<std::int64_t>& positions) {
    if (positions.empty())
        return 1;
    const std::int64_t step = positions.size() > 1 ? positions[1] - positions[0] : 1;
    for (std::size_t i = 1; i < positions.size(); ++i)
        if (positions[i] - positions[i - 1] != step)
            return 0;
    return step;
}

}  // namespace

void GraphWriter::slice(const std::string& input, const std::vector<Range>& ranges,
                        const std::string& output) {
    std::vector<std::int64_t> starts, ends, axes, steps;
    bool plain = true;
    for (const Range& range : ranges) {
        starts.push_back(range.start);
        ends.push_back(range.end);
        axes.push_back(range.dim);
        steps.push_back(range.step);
        plain = plain && range.step == 1;
    }
    if (m_context.opset > 0 && m_context.opset < 10) {
        add("Slice", {input}, output);
        addInts(added(), "starts", starts);
        addInts(added(), "ends", ends);
        addInts(added(), "axes", axes);
        return;
    }
    std::vector<std::string> inputs{input, ints(starts), ints(ends), ints(axes)};
    if (!plain)
        inputs.push_back(ints(steps));
    add("Slice", inputs, output);
}

void GraphWriter::select(const std::string& input,
                         const std::vector<std::vector<std::int64_t>>& positions,
                         const std::string& output) {
    std::vector<Range> ranges;
    std::vector<std::size_t> gathered;
    for (std::size_t d = 0; d < positions.size(); ++d) {
        const auto& list = positions[d];
        if (list.empty())
            continue;
        const std::int64_t step = stepOf(list);
        // Slice knows steps other than 1 from opset 10 on.
        if (step == 0 || (step != 1 && m_context.opset > 0 && m_context.opset < 10)) {
            gathered.push_back(d);
            continue;
        }
        std::int64_t end = list.back() + step;
        if (end < 0)
            end = std::numeric_limits<std::int64_t>::min();
        ranges.push_back({static_cast<std::int64_t>(d), list.front(), end, step});
    }
    std::string current = input;
    if (!ranges.empty()) {
        const std::string sliced = gathered.empty() ? output : fresh(output);
        slice(current, ranges, sliced);
        current = sliced;
    }
    for (std::size_t i = 0; i < gathered.size(); ++i) {
        current = add("Gather", {current, ints(positions[gathered[i]])},
                      i + 1 == gathered.size() ? output : fresh(output));
        auto& axis = *added().add_attribute();
        axis.set_name("axis");
        axis.set_type(onnx::AttributeProto::INT);
        axis.set_i(static_cast<std::int64_t>(gathered[i]));
    }
    if (ranges.empty() && gathered.empty())
        add("Identity", {input}, output);
}

void GraphWriter::cut(const std::string& input, const Box& held, const Box& wanted,
                      const std::string& output) {
    std::vector<std::vector<std::int64_t>> positions(held.dims.size());
    for (std::size_t d = 0; d < held.dims.size(); ++d)
        if (!(held.dims[d] == wanted.dims[d]))
            positions[d] = positionsIn(held.dims[d], wanted.dims[d]);
    select(input, positions, output);
}

std::vector<std::int64_t> positionsIn(const IndexSet& held, const IndexSet& wanted) {
    std::vector<std::int64_t> indices;
    for (const auto& interval : wanted.intervals())
        for (std::int64_t i = interval.begin; i < interval.end; ++i)
            indices.push_back(i);
    return positionsIn(held, indices);
}

std::vector<std::int64_t> positionsIn(const IndexSet& held,
                                      const std::vector<std::int64_t>& wanted) {
    const auto& intervals = held.intervals();
    std::vector<std::int64_t> before;  // Elements in front of each interval.
    std::int64_t count = 0;
    for (const auto& interval : intervals) {
        before.push_back(count);
        count += interval.end - interval.begin;
    }
    std::vector<std::int64_t> positions;
    positions.reserve(wanted.size());
    for (const std::int64_t index : wanted) {
        const auto after = std::upper_bound(
            intervals.begin(), intervals.end(), index,
            [](std::int64_t i, const IndexSet::Interval& x) { return i < x.begin; });
        if (after == intervals.begin() || index >= std::prev(after)->end)
            throw Refusal{"index " + std::to_string(index) +
                              " of a dimension is not on the device that needs it",
                          {}};
        const auto i = static_cast<std::size_t>(std::prev(after) - intervals.begin());
        positions.push_back(before[i] + index - intervals[i].begin);
    }
    return positions;
}

}  // namespace shardwright::lowering
