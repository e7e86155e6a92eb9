// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include "plan/assembly.h"
#include "plan/drafter.h"
#include "plan/expanded_size.h"
#include "plan/overlap.h"
#include "plan/views.h"

namespace shardwright {

std::vector<std::int64_t> LocalTensor::dims() const {
    return lowering::dimsOf(box);
}

Communication::KindTotal Plan::predictedTotal(CollectiveKind kind) const {
    const auto it = predicted.find(kind);
    return it == predicted.end() ? Communication::KindTotal{} : it->second;
}

namespace {

using namespace lowering;

bool canBeKept(const Context& context, ValueId value) {
    if (!value || value.index() >= context.graph.values.size())
        return false;
    const ValueInfo& info = context.graph.value(value);
    const bool known =
        !context.annotated ||
        context.analysis.meaning.values[value.index()].source != LayoutSource::Unknown;
    return info.graph == context.graph.main().id && info.kind == ValueKind::NodeOutput &&
           context.sized(value) && known;
}

/// ONNX Runtime expands functions, and cannot be told to stop.
void refuseEndlessFunctions(const Context& context) {
    constexpr std::int64_t kMostNodes = 10'000'000;
    const auto count = expandedNodeCount(context.graph);
    if (!count)
        throw Refusal{"a function of the model calls itself, directly or through others", {}};
    if (*count > kMostNodes)
        throw Refusal{"the functions of the model call each other so often that there are more "
                      "than 10 million nodes",
                      {}};
}

/// Draft, prune, order, write. See ARCHITECTURE "Execution of a node".
std::shared_ptr<const Plan> makePlan(const Analysis& analysis, const PlanOptions& options,
                                     const std::vector<PlanView>& wanted, bool annotated) {
    const Context context(analysis, annotated, options.seed);
    refuseEndlessFunctions(context);
    Draft draft;
    ConstantTable constants(context);
    Drafter drafter(context, draft, constants);
    drafter.run();
    std::vector<std::pair<ValueId, std::vector<std::vector<int>>>> outputs, observed;
    for (const ValueId output : context.graph.main().outputs) {
        context.whole(
            output,
            context.graph.value(output).producer);  // Refuses unknown shapes by the output's name.
        outputs.emplace_back(output, drafter.keep(output));
    }
    for (const ValueId value : options.observe)
        if (canBeKept(context, value))
            observed.emplace_back(value, drafter.keep(value));
    std::vector<std::vector<std::vector<int>>> views;
    const auto viewed = [&](const PlanView& view) {
        return context.graph.node(view.node).inputs[view.slot];
    };
    for (const PlanView& view : wanted)
        views.push_back(drafter.keepInput(context.graph.node(view.node), view.slot));
    markLive(draft);
    assignPhases(draft);
    findOverlap(draft, context);
    Assembly assembly(context, draft, constants);
    const std::shared_ptr<Plan> plan = assembly.run();
    plan->inputs = assembly.inputPorts();
    for (const auto& [value, locals] : outputs)
        plan->outputs.push_back(assembly.port(value, locals));
    for (const auto& [value, locals] : observed)
        plan->observed.push_back(assembly.port(value, locals));
    for (std::size_t i = 0; i < views.size(); ++i) {
        plan->observed.push_back(assembly.port(viewed(wanted[i]), views[i]));
        plan->observed.back().name = wanted[i].name;
    }
    if (context.annotated)
        plan->predicted = analysis.communication.byKind();
    return plan;
}

std::shared_ptr<const Plan> makeApart(const Analysis& analysis, const std::vector<NodeId>& nodes,
                                      std::uint64_t seed) {
    const Context context(analysis, false, seed);
    Draft draft;
    ConstantTable constants(context);
    Drafter drafter(context, draft, constants);
    drafter.runApart(nodes);
    markLive(draft);
    assignPhases(draft);
    Assembly assembly(context, draft, constants);
    const std::shared_ptr<Plan> plan = assembly.run();
    for (const auto& [value, local] : drafter.given())
        plan->inputs.push_back(assembly.port(value, {{local}}));
    for (const auto& [value, local] : drafter.results())
        plan->outputs.push_back(assembly.port(value, {{local}}));
    return plan;
}

template <class Make>
Result<std::shared_ptr<const Plan>> tryPlan(const Make& make) {
    try {
        return make();
    } catch (const Refusal& refusal) {
        return Error{refusal.message, refusal.place};
    }
}

}  // namespace

Result<std::shared_ptr<const Plan>> lower(const Analysis& analysis, const PlanOptions& options) {
    return lowerWithViews(analysis, options, {});
}

Result<std::shared_ptr<const Plan>> lowerWithViews(const Analysis& analysis,
                                                   const PlanOptions& options,
                                                   const std::vector<PlanView>& views) {
    for (const Diagnostic& diagnostic : analysis.diagnostics)
        if (diagnostic.severity == Severity::Error)
            return Error{diagnostic.code + ": " + diagnostic.message,
                         diagnostic.node ? analysis.graph().label(diagnostic.node) : std::string()};
    return tryPlan([&] { return makePlan(analysis, options, views, true); });
}

Result<std::shared_ptr<const Plan>> lowerUnannotated(const Analysis& analysis,
                                                     const PlanOptions& options) {
    return tryPlan([&] { return makePlan(analysis, options, {}, false); });
}

Result<std::shared_ptr<const Plan>>
lowerApart(const Analysis& analysis, const std::vector<NodeId>& nodes, std::uint64_t seed) {
    return tryPlan([&] { return makeApart(analysis, nodes, seed); });
}

}  // namespace shardwright
