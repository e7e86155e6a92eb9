// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/segment_writer.h"

#include <memory>

namespace shardwright::lowering {

/// Turns a draft with phases into the programs of the devices: names, segments, copies, exchanges.
class Assembly {
public:
    Assembly(const Context& context, Draft& draft, ConstantTable& constants);

    std::shared_ptr<Plan> run();
    /// A port with the tensors of these locals; after run().
    Plan::Port port(ValueId value, const std::vector<std::vector<int>>& locals) const;
    /// The graph inputs that somebody reads, with the pieces that are loaded; after run().
    std::vector<Plan::Port> inputPorts() const;

private:
    void giveNames();
    void findTensors();
    void addTensor(int local);
    std::int64_t workBytes(const std::vector<int>& steps) const;
    void writeSegments();
    void writeCopies();
    void writeExchanges();
    std::vector<int> tensorsOf(const std::vector<int>& locals) const;

    const Context& m_context;
    Draft& m_draft;
    ReservedNames m_reserved;
    std::shared_ptr<Plan> m_plan;
    SegmentFrame m_frame;
};

}  // namespace shardwright::lowering
