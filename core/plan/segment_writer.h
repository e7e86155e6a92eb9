// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/constants.h"
#include "plan/draft.h"
#include "plan/graph_writer.h"
#include "plan/plan.h"

#include <set>
#include <vector>

namespace shardwright::lowering {

/// What all segments of a plan have in common.
struct SegmentFrame {
    const Context& context;
    const Draft& draft;
    const ReservedNames& reserved;
    ConstantTable& constants;
    onnx::ModelProto empty;                      ///< Versions and imports, no graph.
    std::vector<onnx::FunctionProto> functions;  ///< Of models that call some.
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
    bool m_callsFunctions = false;
};

}  // namespace shardwright::lowering
