// SPDX-License-Identifier: Apache-2.0
//
// What the families of ONNX Runtime's contrib operators (com.microsoft, release 1.32) have in
// common.
#include "rules/contrib.h"

#include <algorithm>

namespace shardwright {

namespace {

/// The node as the operator that stands in for it would see it.
NodeInfo seenAs(const NodeInfo& node, const std::vector<std::size_t>& slots) {
    NodeInfo seen = node;
    seen.inputs.clear();
    for (const std::size_t slot : slots)
        seen.inputs.push_back(slot < node.inputs.size() ? node.inputs[slot] : ValueId());
    while (!seen.inputs.empty() && !seen.inputs.back())
        seen.inputs.pop_back();
    return seen;
}

void makeSumsWhole(Rule& rule, const std::string& reason) {
    for (Factor& factor : rule.factors)
        if (factor.kind == FactorKind::Reduction) {
            factor.kind = FactorKind::Whole;
            factor.reduce = ReduceKind::None;
            factor.reason = reason;
        }
    for (TensorMap& map : rule.inputs)
        map.addedOnce = false;
    std::erase_if(rule.rewrites, [](const Rewrite& rewrite) {
        return rewrite.kind == Rewrite::Kind::ReplaceOperator ||
               rewrite.kind == Rewrite::Kind::Scale || rewrite.kind == Rewrite::Kind::Tail;
    });
}

}  // namespace

std::optional<Rule> buildAs(const NodeContext& context, const StandIn& standIn) {
    const OperatorEntry* entry = Registry::standard().find("", standIn.op);
    if (entry == nullptr)
        return std::nullopt;
    const NodeInfo node = seenAs(context.node, standIn.slots);
    const NodeContext seen{context.graph, context.shapes, node, standIn.opset};
    std::optional<Rule> rule = entry->build(seen);
    if (!rule || rule->inputs.size() > standIn.slots.size())
        return std::nullopt;
    std::vector<TensorMap> inputs(context.node.inputs.size());
    std::vector<bool> mapped(inputs.size());
    for (std::size_t i = 0; i < rule->inputs.size(); ++i) {
        const std::size_t slot = standIn.slots[i];
        if (slot >= inputs.size())
            continue;
        inputs[slot] = std::move(rule->inputs[i]);
        mapped[slot] = true;
    }
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
        if (mapped[slot])
            continue;
        inputs[slot].present = context.hasInput(slot);
        if (!inputs[slot].present)
            continue;
        const std::size_t before = rule->factors.size();
        inputs[slot] = wholeMap(context.input(slot), "p" + std::to_string(slot) + "d",
                                "it is a parameter of the whole operation", rule->factors);
        for (std::size_t f = before; f < rule->factors.size(); ++f)
            if (rule->factors[f].size > 0)
                rule->flopsPerPoint /= static_cast<double>(rule->factors[f].size);
    }
    rule->inputs = std::move(inputs);
    const auto moved = [&standIn](int slot) {
        const auto index = static_cast<std::size_t>(slot);
        return slot >= 0 && index < standIn.slots.size() ? static_cast<int>(standIn.slots[index])
                                                         : slot;
    };
    for (Rewrite& rewrite : rule->rewrites)
        rewrite.slot = moved(rewrite.slot);
    for (SliceExtra& slice : rule->slices)
        slice.inputSlot = moved(slice.inputSlot);
    if (!standIn.wholeSums.empty())
        makeSumsWhole(*rule, standIn.wholeSums);
    return rule;
}

void setLike(RuleMaker& maker, std::size_t slot, const Dims& like) {
    if (!maker.context().hasInput(slot))
        return;
    const TensorInfo& info = maker.context().input(slot);
    maker.input(slot, info.elementCount() == 1 ? Dims(info.dims.size())
                                               : maker.broadcast(info.dims, like));
}

void setParameters(RuleMaker& maker, std::size_t from, const std::string& reason) {
    for (std::size_t slot = from; slot < maker.context().node.inputs.size(); ++slot)
        maker.wholeInput(slot, "p" + std::to_string(slot), reason);
}

Rewrite localAttribute(const char* name, std::vector<int> factors) {
    Rewrite rewrite{Rewrite::Kind::LocalAttribute};
    rewrite.name = name;
    rewrite.factors = std::move(factors);
    return rewrite;
}

void addContrib(Registry& registry, std::initializer_list<const char*> ops, const char* family,
                RuleBuilder build, std::vector<int> constantSlots) {
    for (const char* op : ops)
        registry.add({"com.microsoft",
                      op,
                      family,
                      false,
                      foreignToProposal(),
                      build,
                      constantSlots,
                      {},
                      true});
}

void registerContrib(Registry& registry) {
    registerContribAttention(registry);
    registerContribProducts(registry);
    registerContribQuantized(registry);
    registerContribLayers(registry);
}

}  // namespace shardwright
