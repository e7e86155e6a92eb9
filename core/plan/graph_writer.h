// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/context.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace shardwright::lowering {

/// Names that generated tensors must keep clear of: those of all values of all graphs.
class ReservedNames {
public:
    explicit ReservedNames(const GraphIndex& graph);
    bool has(std::string_view name) const { return m_names.count(name) > 0; }
    /// `base` + `mark` + the first number from `next` on that is free; `next` is left behind it.
    std::string fresh(const std::string& base, const char* mark, int& next) const;

private:
    std::unordered_set<std::string_view> m_names;
};

/// The graph of one segment while it is written: nodes under unique names, small constants, and the
/// few helper operators in the forms that the model's opset has.
class GraphWriter {
public:
    /// Names made up here are numbered from `firstNumber` on: a body must not use those of the
    /// graph around it.
    GraphWriter(const Context& context, const ReservedNames& reserved, int firstNumber = 1)
        : m_context(context), m_reserved(reserved), m_next(firstNumber) {}

    const ReservedNames& reserved() const { return m_reserved; }
    int nextNumber() const { return m_next; }
    void skipNumbers(int next) { m_next = std::max(m_next, next); }

    onnx::GraphProto& graph() { return m_graph; }
    /// A new tensor name for something between the lines of `base`.
    std::string fresh(const std::string& base) { return m_reserved.fresh(base, ".t", m_next); }

    void addNode(onnx::NodeProto node);  ///< Renames the node where its name is taken.
    /// Adds an operator; gives the name of its output (a fresh one unless `output` is set).
    std::string add(const std::string& op, const std::vector<std::string>& inputs,
                    std::string output = {});
    onnx::NodeProto& added() { return *m_graph.mutable_node(m_graph.node_size() - 1); }

    /// Names of embedded constants; equal ones are embedded once.
    std::string constant(onnx::TensorProto tensor);
    std::string ints(const std::vector<std::int64_t>& values);
    std::string scalar(std::int32_t type, double value);

    std::string castTo(const std::string& input, std::int32_t type, std::string output = {});
    /// input[.., positions, ..] along each dimension (empty list: all of it), by one Slice where
    /// positions are evenly spaced and by Gather elsewhere.
    void select(const std::string& input, const std::vector<std::vector<std::int64_t>>& positions,
                const std::string& output);
    /// Cuts `wanted` out of a tensor that holds `held`.
    void cut(const std::string& input, const Box& held, const Box& wanted,
             const std::string& output);

private:
    struct Range {
        std::int64_t dim, start, end, step;
    };
    void slice(const std::string& input, const std::vector<Range>& ranges,
               const std::string& output);

    const Context& m_context;
    const ReservedNames& m_reserved;
    onnx::GraphProto m_graph;
    int m_next;
    std::unordered_set<std::string> m_nodeNames;
    std::map<std::string, int> m_nextNodeName;
    std::map<std::string, std::string> m_constants;  ///< Serialised tensor -> name.
};

/// Where the elements of `wanted` are in a packed tensor that holds `held`, in ascending order.
std::vector<std::int64_t> positionsIn(const IndexSet& held, const IndexSet& wanted);
/// The same for indices in any order.
std::vector<std::int64_t> positionsIn(const IndexSet& held,
                                      const std::vector<std::int64_t>& wanted);

}  // namespace shardwright::lowering
