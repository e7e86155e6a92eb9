// SPDX-License-Identifier: Apache-2.0
#include "plan/reshards.h"

#include "comm/halo.h"

#include <algorithm>
#include <set>

namespace shardwright::lowering {

std::shared_ptr<const ReshardPlan> Reshards::planFor(const void* source, std::size_t slot,
                                                     const Layout* target, int bits,
                                                     const std::function<ReshardPlan()>& make) {
    auto& plan = m_plans[{source, slot, target, bits}];
    if (!plan)
        plan = std::make_shared<const ReshardPlan>(make());
    return plan;
}

Form& Reshards::arriving(const SlotMeaning& slot, ValueId value, NodeId reader) {
    Form& wanted = m_values.form(value, slot.layout.get());
    if (slot.arrives == slot.layout || !wanted.held.empty())
        return wanted;
    const Context& context = m_values.context();
    const auto plan = planFor(slot.arrives.get(), 0, slot.layout.get(), context.bits(value), [&] {
        return planReshard(piecesOf(*slot.arrives), ReduceKind::None, *slot.layout,
                           context.analysis.configuration.mesh, context.bits(value));
    });
    Form& source = m_values.form(value, slot.arrives.get());
    Form moved = apply(
        {*plan, ReduceKind::None, boxesOf(slot.layout), value, reader, CommPhase::Input}, source);
    return m_values.form(value, slot.layout.get()) = std::move(moved);
}

Form Reshards::declared(const std::shared_ptr<const CellGrid>& cells, std::size_t slot, Form& raw,
                        const LayoutRef& layout, ValueId value, NodeId node) {
    const Context& context = m_values.context();
    const std::vector<int> partial = cells->partialFactors(slot);
    const ReduceKind reduce =
        partial.empty() ? ReduceKind::None
                        : cells->rule->factors[static_cast<std::size_t>(partial[0])].reduce;
    const auto plan = planFor(cells.get(), slot, layout.get(), context.bits(value), [&] {
        return planReshard(piecesOf(*cells, slot), reduce, *layout,
                           context.analysis.configuration.mesh, context.bits(value));
    });
    return apply({*plan, reduce, boxesOf(layout), value, node, CommPhase::Output}, raw);
}

Form& Reshards::halo(const std::shared_ptr<const CellGrid>& cells, const SlotMeaning& slot,
                     std::size_t number, ValueId value, NodeId reader) {
    const auto [place, isNew] = m_halos.try_emplace({reader, number});
    Form& wanted = place->second;
    if (!isNew)
        return wanted;
    const Context& context = m_values.context();
    const ReshardPlan plan = planHalo(*cells, number, *slot.layout,
                                      context.analysis.configuration.mesh, context.bits(value));
    Form& source = arriving(slot, value, reader);
    wanted =
        apply({plan, ReduceKind::None, haloBoxes(*cells, number), value, reader, CommPhase::Input},
              source);
    return wanted;
}

std::vector<WantedBoxes> Reshards::boxesOf(const LayoutRef& layout) {
    std::vector<WantedBoxes> wanted;
    for (const DeviceId device : layout->devices())
        wanted.push_back({device, m_values.holding(layout, device)});
    return wanted;
}

Form Reshards::apply(const Move& move, Form& source) {
    Form result;
    std::vector<DraftExchange> exchanges;
    for (const GroupOperation& group : move.plan.groups)
        exchanges.push_back(exchange(move, group, source));
    for (const auto& [device, boxes] : move.target)
        for (const Box& box : boxes) {
            int target = -1;
            for (std::size_t g = 0; g < exchanges.size(); ++g) {
                const GroupOperation& group = move.plan.groups[g];
                const auto place =
                    std::lower_bound(group.devices.begin(), group.devices.end(), device);
                const bool written =
                    std::any_of(group.parts.begin(), group.parts.end(), [&](const Part& part) {
                        return part.to == device && !part.box.intersect(box).empty();
                    });
                if (!written)
                    continue;
                if (target < 0)
                    target = m_values.addLocal(device, move.value, box);
                exchanges[g]
                    .targets[static_cast<std::size_t>(place - group.devices.begin())]
                    .push_back(target);
            }
            result.held.push_back(target >= 0 ? target : localTarget(move, source, device, box));
        }
    for (DraftExchange& exchange : exchanges)
        m_values.draft().add(std::move(exchange));
    return result;
}

DraftExchange Reshards::exchange(const Move& move, const GroupOperation& group,
                                 const Form& source) {
    DraftExchange result;
    result.operation = group;
    result.value = move.value;
    result.node = move.node;
    result.phase = move.phase;
    result.sources.resize(group.devices.size());
    result.targets.resize(group.devices.size());
    for (const Part& part : group.parts) {
        const auto place = std::lower_bound(group.devices.begin(), group.devices.end(), part.from) -
                           group.devices.begin();
        auto& locals = result.sources[static_cast<std::size_t>(place)];
        for (const int local : m_values.sources(source, part.from, part.term, part.box)) {
            const int stored = m_values.stored(local);
            if (std::find(locals.begin(), locals.end(), stored) == locals.end())
                locals.push_back(stored);
        }
    }
    return result;
}

/// A target that its device fills from its own: cut, joined, or the sum of all terms where it has
/// computed them all.
int Reshards::localTarget(const Move& move, Form& source, DeviceId device, const Box& box) {
    std::set<int> terms;
    for (const Part& part : move.plan.local)
        if (part.to == device && !part.box.intersect(box).empty())
            terms.insert(part.term);
    if (terms.size() <= 1 && (terms.empty() || *terms.begin() == 0))
        return m_values.fetch(source, device, move.value, box, move.node);
    DraftStep step;
    step.kind = DraftStep::Kind::Copy;
    step.device = device;
    step.node = move.node;
    step.reduce = terms.size() > 1 ? move.reduce : ReduceKind::None;
    for (const int term : terms)
        for (const int local : m_values.sources(source, device, term, box))
            step.inputs.push_back(m_values.stored(local));
    const int target = m_values.addLocal(device, move.value, box);
    step.outputs = {target};
    m_values.draft().add(std::move(step));
    return target;
}

}  // namespace shardwright::lowering
