// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/constants.h"
#include "plan/draft.h"
#include "plan/graph_writer.h"
#include "plan/plan.h"

#include <set>
#include <unordered_map>
#include <vector>

namespace shardwright::lowering {

/// The weights of a plan, each once.
class WeightTable {
public:
    explicit WeightTable(std::vector<Weight>& weights) : m_weights(weights) {}
    /// Where the elements `box` of `tensor` are; made where there is none. Counts a use.
    int use(const onnx::TensorProto& tensor, const Box& box);
    const Weight& at(int index) const { return m_weights[static_cast<std::size_t>(index)]; }

private:
    std::vector<Weight>& m_weights;
    std::unordered_map<const onnx::TensorProto*, std::vector<int>> m_byTensor;
};

/// What all segments of a plan have in common.
struct SegmentFrame {
    const Context& context;
    const Draft& draft;
    const ReservedNames& reserved;
    ConstantTable& constants;
    onnx::ModelProto empty;                      ///< Versions and imports, no graph.
    std::vector<onnx::FunctionProto> functions;  ///< Of models that call some.
    WeightTable weights;
};

/// IR version and imports for the segments of a model.
onnx::ModelProto emptySegment(const onnx::ModelProto& model);

/// Writes one segment: the steps of one device and phase, in order.
class SegmentWriter {
public:
    explicit SegmentWriter(SegmentFrame& frame)
        : m_frame(frame), m_writer(frame.context, frame.reserved) {}

    void write(int step);
    /// The segment, without device and phase. Nothing may be written afterwards.
    Segment finish(const std::string& place);

private:
    const DraftLocal& local(int id) const {
        return m_frame.draft.locals[static_cast<std::size_t>(id)];
    }
    std::string read(int local);
    void embed(const DraftLocal& local);
    void writeNode(const DraftStep& step);
    void writeWholeNode(const DraftStep& step, onnx::NodeProto node,
                        std::vector<std::string> inputs, const std::vector<std::string>& outputs);
    void addValueInfo(onnx::ValueInfoProto& info, const DraftLocal& local) const;

    SegmentFrame& m_frame;
    GraphWriter m_writer;
    std::set<int> m_known;  ///< Locals that are in the graph.
    std::vector<int> m_inputs, m_outputs;
    std::vector<NodeId> m_nodes;
    std::vector<Segment::WeightUse> m_weights;
    bool m_callsFunctions = false;
};

}  // namespace shardwright::lowering
