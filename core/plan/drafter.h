// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/reshards.h"

#include <map>
#include <vector>

namespace shardwright::lowering {

/// Walks the model in topological order and writes down, for every device, what it computes, cuts
/// and exchanges. Everything that anybody might need is drafted; markLive() then drops what nobody
/// does.
class Drafter {
public:
    Drafter(const Context& context, Draft& draft, ConstantTable& constants)
        : m_context(context), m_draft(draft), m_constants(constants),
          m_values(context, draft, constants), m_reshards(m_values) {}

    void run();
    /// Instead of run(): these nodes for themselves, whole, on device 0. What they read comes as
    /// inputs, what they give is kept.
    void runApart(const std::vector<NodeId>& nodes);
    /// By value: the local that is loaded, that is kept. After runApart().
    const std::map<ValueId, int>& given() const { return m_given; }
    const std::map<ValueId, int>& results() const { return m_results; }
    /// Marks the locals that hold `value` to be kept; by device. Empty lists: nobody holds it.
    std::vector<std::vector<int>> keep(ValueId value);
    /// The same of an input of a node, as the node takes it.
    std::vector<std::vector<int>> keepInput(const NodeInfo& node, std::size_t slot);

private:
    void everywhere(const NodeInfo& node);
    void everywhere(const NodeInfo& node, DeviceId device);
    void partitioned(const NodeInfo& node);
    DraftStep tileStep(const NodeInfo& node, const CellGrid& cells, const DeviceTiles& tiles,
                       const Tile& tile);
    int tileInput(const NodeInfo& node, std::size_t slot, DeviceId device, const Tile& tile);
    void keepLocal(int local, std::vector<std::vector<int>>& kept);
    void resolve(const NodeInfo& node, std::size_t slot, Form raw);
    void applyTail(const NodeInfo& node, const CellGrid& cells, std::size_t slot, Form& joined);
    ValueId inputValue(const NodeInfo& node, std::size_t slot) const;
    bool allConstant(const NodeInfo& node);
    bool embeds(const NodeInfo& node);
    bool canStandApart(const NodeInfo& node);

    const Context& m_context;
    Draft& m_draft;
    ConstantTable& m_constants;
    LocalValues m_values;
    Reshards m_reshards;
    TileCache m_tiles;
    std::map<ValueId, int> m_given, m_results;
};

}  // namespace shardwright::lowering
