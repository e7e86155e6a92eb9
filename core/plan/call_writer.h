// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/draft.h"
#include "plan/graph_writer.h"
#include "rules/call_rule.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace shardwright::lowering {

/// Whether a tile of a node that runs other graphs (If, Loop, Scan, a function) works on a part of
/// its tensors, so that the graphs inside must be written anew for it.
bool rewritesGraphs(const Context& context, const DraftStep& step);

/// Writes the local copy of such a node into `writer`. `inputs`: tensor names by slot, then those
/// of the captures.
void writeCall(const Context& context, GraphWriter& writer, const DraftStep& step,
               const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

/// How it is written: every node inside is rewritten for its own part as a node
/// of the main graph would be. Bodies stay bodies; a function is written out in place of its call.
class CallWriter {
public:
    CallWriter(const Context& context, GraphWriter& writer, const DraftStep& step);

    void write(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

private:
    using Names = std::unordered_map<ValueId, std::string>;
    using Parts = CallRule::Parts;

    void writeFunction(const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs);
    onnx::GraphProto writeBody(GraphId body, Names names, int firstNumber, int& nextNumber);
    void writeNodes(GraphWriter& writer, const GraphInfo& graph, Names& names);
    void writeNode(GraphWriter& writer, const NodeInfo& node, Names& names);
    void writeWhole(GraphWriter& writer, const NodeInfo& node, Names& names);
    bool writeConstants(GraphWriter& writer, const NodeInfo& node, Names& names);
    std::string read(GraphWriter& writer, ValueId value, const Box* wanted, Names& names);
    std::string output(GraphWriter& writer, const GraphInfo& graph, std::size_t i, Names& names);
    void describe(onnx::ValueInfoProto& info, ValueId value, const std::vector<Parts>* parts) const;
    onnx::NodeProto copy(const NodeInfo& node, const Names& names) const;
    Box boxOf(const std::vector<Parts>& parts) const;
    IndexSet elementsOf(const CallRule::Part& part) const;
    const std::vector<Parts>* partsOf(ValueId value) const;

    const Context& m_context;
    GraphWriter& m_writer;
    const DraftStep& m_step;
    const NodeInfo& m_node;
    CallRule m_call;
};

}  // namespace shardwright::lowering
