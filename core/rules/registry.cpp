// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"

#include "rules/rule_maker.h"
#include "rules/user_rules.h"
#include "rules/validate.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cassert>
#include <tuple>

namespace shardwright {

namespace {

std::string operatorName(const NodeContext& context) {
    const std::string_view domain = context.graph.domain(context.node.id);
    const std::string op(context.graph.opType(context.node.id));
    return domain.empty() ? op : std::string(domain) + "::" + op;
}

bool isShapeOnly(const OperatorEntry& entry, std::size_t slot) {
    return std::find(entry.shapeOnlySlots.begin(), entry.shapeOnlySlots.end(),
                     static_cast<int>(slot)) != entry.shapeOnlySlots.end();
}

void addWhole(const NodeContext& context, const std::vector<ValueId>& slots,
              const std::string& prefix, const std::string& reason, std::vector<TensorMap>& maps,
              std::vector<Factor>& factors) {
    for (const ValueId id : slots) {
        TensorMap map;
        if (id)
            map = wholeMap(context.shapes.of(id), prefix + std::to_string(maps.size()) + "d",
                           reason, factors);
        else
            map.present = false;
        maps.push_back(std::move(map));
    }
}

}  // namespace

const Registry& Registry::standard() {
    static const Registry kRegistry = [] {
        Registry registry;
        for (auto* family : {registerElementwise,
                             registerContraction,
                             registerReduction,
                             registerQuantization,
                             registerView,
                             registerLayout,
                             registerWindow,
                             registerSlice,
                             registerWholeAxis,
                             registerNormalization,
                             registerIndexed,
                             registerScatter,
                             registerGenerator,
                             registerAttention,
                             registerConvolution,
                             registerPooling,
                             registerResize,
                             registerRecurrent,
                             registerSignal,
                             registerLoss,
                             registerSelection,
                             registerContrib,
                             registerMachineLearning,
                             registerTraining,
                             registerSequence})
            family(registry);
        return registry;
    }();
    return kRegistry;
}

void Registry::add(OperatorEntry entry) {
    const auto key = [](const OperatorEntry& e) { return std::tie(e.domain, e.op); };
    const auto at = std::lower_bound(m_entries.begin(), m_entries.end(), entry,
                                     [&](const auto& a, const auto& b) { return key(a) < key(b); });
    m_entries.insert(at, std::move(entry));
}

void Registry::put(OperatorEntry entry) {
    std::erase_if(m_entries, [&](const OperatorEntry& e) {
        return e.domain == entry.domain && e.op == entry.op;
    });
    add(std::move(entry));
}

void Registry::describe(std::string_view domain, std::string_view op, ElementUses elements) {
    const OperatorEntry* entry = find(domain, op);
    assert(entry != nullptr);
    m_entries[static_cast<std::size_t>(entry - m_entries.data())].elements = std::move(elements);
}

ElementUses carries(std::vector<int> slots) {
    return [slots = std::move(slots)](const NodeContext&) {
        ElementUse use;
        for (const int slot : slots)
            use.carried.push_back({slot});
        return use;
    };
}

ElementUse carriesInPlace(const NodeContext&) {
    return {{}, {{0, 0, 0}}};
}

std::int64_t sizeAt(const NodeContext& context, std::size_t slot, std::int64_t dim) {
    const std::vector<std::int64_t>& dims = context.input(slot).dims;
    const auto rank = static_cast<std::int64_t>(dims.size());
    dim += dim < 0 ? rank : 0;
    return dim >= 0 && dim < rank ? dims[static_cast<std::size_t>(dim)] : -1;
}

const OperatorEntry* Registry::find(std::string_view domain, std::string_view op) const {
    const auto key = std::make_pair(domain, op);
    const auto of = [](const OperatorEntry& e) {
        return std::make_pair(std::string_view(e.domain), std::string_view(e.op));
    };
    const auto at =
        std::lower_bound(m_entries.begin(), m_entries.end(), key,
                         [&](const OperatorEntry& e, const auto& k) { return of(e) < k; });
    return at != m_entries.end() && of(*at) == key ? &*at : nullptr;
}

std::string noRuleInProposal(std::string_view op) {
    return "proposal 0007 has no rule for " + std::string(op);
}

std::string unsupportedInProposal(std::string_view op) {
    return "proposal 0007 lists " + std::string(op) + " as unsupported";
}

std::string foreignToProposal() {
    return "proposal 0007 covers operators of ai.onnx only";
}

Rule fallbackRule(const NodeContext& context, std::string reason) {
    Rule rule;
    rule.op = operatorName(context);
    rule.family = "fallback";
    rule.known = false;
    rule.strict = false;
    rule.strictReason = reason;
    addWhole(context, context.node.inputs, "i", reason, rule.inputs, rule.factors);
    addWhole(context, context.node.captures, "i", reason, rule.inputs, rule.factors);
    addWhole(context, context.node.outputs, "o", reason, rule.outputs, rule.factors);
    rule.flopsPerPoint =
        0;  // Nobody knows, and the product of unrelated factors would say something absurd.
    return rule;
}

std::string unknownShape(const NodeContext& context, ValueId id, bool anyValues) {
    if (!id)
        return {};
    const TensorInfo& info = context.shapes.of(id);
    const std::string& name = context.graph.value(id).name;
    if (info.kind == TensorInfo::Kind::Other && anyValues)
        return {};
    if (info.kind == TensorInfo::Kind::Other)
        return "`" + name + "` is not a tensor";
    if (!info.hasRank)
        return "the shape of `" + name + "` is not known";
    for (std::size_t d = 0; d < info.dims.size(); ++d)
        if (info.dims[d] < 0)
            return "dimension " + std::to_string(d) + " of `" + name + "` is not known";
    return {};
}

std::string obstacle(const NodeContext& context, const OperatorEntry* entry) {
    const bool ofFunction = context.node.function && entry != nullptr && entry->ofFunctions;
    if (context.node.function && !ofFunction)
        return "a call of the function " + operatorName(context) + " has no rule";
    if (!context.node.bodies.empty() || !context.node.captures.empty())
        return "no rule for " + operatorName(context) + ", which has a body";
    if (entry == nullptr)
        return "no rule for " + operatorName(context);
    for (const onnx::AttributeProto& attribute : context.node.proto->attribute())
        if (!attribute.ref_attr_name().empty())
            return "attribute `" + attribute.name() + "` is given by the caller of the function";
    for (std::size_t slot = 0; slot < context.node.inputs.size(); ++slot)
        if (!isShapeOnly(*entry, slot))
            if (std::string problem =
                    unknownShape(context, context.node.inputs[slot], entry->anyValues);
                !problem.empty())
                return problem;
    for (const ValueId id : context.node.outputs)
        if (std::string problem = unknownShape(context, id, entry->anyValues); !problem.empty())
            return entry->dataDependent.empty() ? problem : problem + ": " + entry->dataDependent;
    return {};
}

Rule buildRule(const NodeContext& context, const Registry& registry) {
    const auto* entry =
        registry.find(context.graph.domain(context.node.id), context.graph.opType(context.node.id));
    if (std::string problem = obstacle(context, entry); !problem.empty())
        return fallbackRule(context, std::move(problem));
    std::optional<Rule> rule = entry->build(context);
    if (!rule || !validateRule(*rule, context).empty()) {
        const auto* own = rule ? nullptr : entry->build.target<OwnRules>();
        return fallbackRule(context,
                            own ? "your rule of " + operatorName(context) +
                                      " does not fit: " + own->misfit(context)
                                : "the shapes or attributes do not fit " + operatorName(context));
    }
    const auto name = [&](Rule& named) {
        named.op = operatorName(context);
        named.family = entry->family;
        if (!entry->strict) {
            named.strict = false;
            named.strictReason = entry->strictReason;
        }
    };
    name(*rule);
    if (rule->otherwise) {
        Rule other = *rule->otherwise;
        name(other);
        rule->otherwise = validateRule(other, context).empty()
                              ? std::make_shared<const Rule>(std::move(other))
                              : nullptr;
    }
    return std::move(*rule);
}

}  // namespace shardwright
