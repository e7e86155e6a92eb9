// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/local_values.h"

#include <functional>
#include <map>
#include <memory>
#include <unordered_map>

namespace shardwright::lowering {

/// Turns reshard plans into exchanges between locals, and what is free into cuts and copies.
class Reshards {
public:
    explicit Reshards(LocalValues& values) : m_values(values) {}

    /// The value as input `slot` of a node sees it, brought there once for all consumers that want
    /// the same.
    Form& arriving(const SlotMeaning& slot, ValueId value, NodeId reader);
    /// What the devices of a node read of its input `slot`, with what windows read of neighbours.
    Form& halo(const std::shared_ptr<const CellGrid>& cells, const SlotMeaning& slot,
               std::size_t number, ValueId value, NodeId reader);
    /// Joins the partial results in `raw` (or moves complete ones) into the declared layout.
    Form declared(const std::shared_ptr<const CellGrid>& cells, std::size_t slot, Form& raw,
                  const LayoutRef& layout, ValueId value, NodeId node);

private:
    struct Move {
        const ReshardPlan& plan;
        ReduceKind reduce;
        std::vector<WantedBoxes> target;
        ValueId value;
        NodeId node;
        CommPhase phase;
    };
    std::vector<WantedBoxes> boxesOf(const LayoutRef& layout);
    std::shared_ptr<const ReshardPlan> planFor(const void* source, std::size_t slot,
                                               const Layout* target, int bits,
                                               const std::function<ReshardPlan()>& make);
    Form apply(const Move& move, Form& source);
    DraftExchange exchange(const Move& move, const GroupOperation& group, const Form& source);
    int localTarget(const Move& move, Form& source, DeviceId device, const Box& box);

    struct PlanKey {
        const void* source;
        std::size_t slot;
        const Layout* target;
        int bits;
        bool operator==(const PlanKey&) const = default;
    };
    struct PlanKeyHash {
        std::size_t operator()(const PlanKey& k) const {
            return (std::hash<const void*>{}(k.source) * 31 + std::hash<const void*>{}(k.target)) *
                       31 +
                   k.slot * 131 + static_cast<std::size_t>(k.bits);
        }
    };
    LocalValues& m_values;
    std::map<std::pair<NodeId, std::size_t>, Form> m_halos;  ///< By node and input.
    std::unordered_map<PlanKey, std::shared_ptr<const ReshardPlan>, PlanKeyHash> m_plans;
};

}  // namespace shardwright::lowering
