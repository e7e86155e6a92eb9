// SPDX-License-Identifier: Apache-2.0
#include "run/run_verification.h"

#include "run/node_checks.h"
#include "run/run_reports.h"
#include "run/verify.h"

#include <algorithm>
#include <unordered_map>

namespace shardwright {

namespace {

using Kind = RunFailure::Kind;

}  // namespace

RunStep RunVerification::verify(const Plan& plan, const RunResult& result,
                                const std::function<Result<RunResult>()>& repeatWithAll,
                                RunReport& report) {
    const bool all = m_run.request.verify == VerifyMode::All;
    RunResult reference;
    if (auto failed = runReference(all, true, reference, report))
        return failed;
    m_run.stage(RunStage::Verify);
    m_tolerances.emplace(m_subject.analysis(), m_run.request.tolerance);
    report.outputs.clear();
    for (const RunResult::Output& output : result.outputs)
        report.outputs.push_back(checked(output, reference.outputs));
    const bool agrees = std::all_of(report.outputs.begin(), report.outputs.end(),
                                    [](const RunTensorCheck& check) { return check.agrees; });
    if (all) {
        report.tensors = compareAll(plan, result, reference, m_execution.options(), report);
    } else if (!agrees) {
        m_run.sink(
            RunLog{"an output differs from the run on one device; running again with all tensors"});
        auto repeated = repeatWithAll();
        if (!repeated)
            return m_run.failure(Kind::Failed, repeated.error());
        if (auto failed = runReference(true, false, reference, report))
            return failed;
        RunOptions once = m_execution.options();
        once.warmups = 0;
        once.repeats = 1;
        compareAll(plan, *repeated, reference, once, report);
    }
    for (std::size_t i = 0; i < report.outputs.size(); ++i)
        explain(report.outputs[i], result.outputs[i].value);
    for (std::size_t i = 0; i < report.outputs.size() && !report.firstDivergent; ++i)
        if (!report.outputs[i].agrees)
            report.firstDivergent = divergenceOf(report.outputs[i], result.outputs[i].value,
                                                 m_subject.analysis(), plan);
    for (const RunTensorCheck& check : report.outputs)
        m_run.sink(check);
    report.verified = !report.firstDivergent;
    return {};
}

/// The last one is kept: it is wanted for its memory first, and then to run.
Result<std::shared_ptr<const Plan>> RunVerification::lowerReference(bool all) {
    if (m_reference && m_referenceHasAll == all)
        return m_reference;
    PlanOptions options;
    options.seed = m_run.request.seed;
    if (all)
        options.observe = m_subject.allValues();
    auto plan = lowerUnannotated(m_subject.analysis(), options);
    if (plan) {
        m_reference = *plan;
        m_referenceHasAll = all;
    }
    return plan;
}

RunStep RunVerification::runReference(bool all, bool measured, RunResult& reference,
                                      RunReport& report) {
    auto plan = lowerReference(all);
    if (!plan)
        return m_run.failure(Kind::Failed, plan.error());
    auto result = m_execution.reference(**plan, measured);
    if (!result)
        return m_run.failure(Kind::Failed,
                             {result.error().message, "on one device: " + result.error().place});
    report.referenceWallMs = report.referenceWallMs > 0 ? report.referenceWallMs : result->wallMs;
    reference = std::move(*result);
    return {};
}

RunTensorCheck RunVerification::checked(const RunResult::Output& sharded,
                                        const std::vector<RunResult::Output>& references) const {
    for (const RunResult::Output& reference : references)
        if (reference.value == sharded.value)
            return checkOf(checkTensor(sharded, reference, m_tolerances->of(sharded.value)));
    RunTensorCheck check;
    check.name = sharded.name;
    check.note = "the run on one device does not give it";
    return check;
}

/// Observed values come in topological order. The first that differs and whose node is wrong is
/// the first divergent one.
std::vector<RunTensorCheck> RunVerification::compareAll(const Plan& plan, const RunResult& sharded,
                                                        const RunResult& reference,
                                                        const RunOptions& options,
                                                        RunReport& report) {
    std::unordered_map<ValueId, const RunResult::Output*> byValue;
    for (const RunResult::Output& output : reference.observed)
        byValue[output.value] = &output;
    std::vector<RunTensorCheck> checks;
    std::vector<ValueId> values, differing;
    for (const RunResult::Output& output : sharded.observed) {
        const auto it = byValue.find(output.value);
        if (it == byValue.end())
            continue;
        values.push_back(output.value);
        checks.push_back(checkOf(checkTensor(output, *it->second, m_tolerances->of(output.value))));
        if (!checks.back().agrees)
            differing.push_back(output.value);
    }
    const std::set<ValueId> right = rightNodes(sharded, differing, options);
    std::set<ValueId> wrong;
    for (std::size_t i = 0; i < checks.size(); ++i) {
        if (right.count(values[i]) > 0)
            m_right[values[i]] = checks[i].maxRel;
        else if (!checks[i].agrees)
            wrong.insert(values[i]);
    }
    traceWrong(values, wrong);
    for (std::size_t i = 0; i < checks.size(); ++i) {
        explain(checks[i], values[i]);
        if (wrong.count(values[i]) > 0 && !report.firstDivergent)
            report.firstDivergent = divergenceOf(checks[i], values[i], m_subject.analysis(), plan);
    }
    return checks;
}

std::set<ValueId> RunVerification::rightNodes(const RunResult& sharded,
                                              const std::vector<ValueId>& differing,
                                              const RunOptions& options) {
    if (differing.empty())
        return {};
    auto right = rightFromTheirInputs(m_subject.analysis(), differing, sharded, m_subject.inputs(),
                                      *m_tolerances, options, m_run.request.seed, m_run.cancel);
    if (right)
        return std::move(*right);
    m_run.sink(RunLog{"nodes cannot be run alone: " + right.error().text()});
    return {};
}

/// `values`: in topological order, which tells which wrong one is the first.
void RunVerification::traceWrong(const std::vector<ValueId>& values,
                                 const std::set<ValueId>& wrong) {
    if (wrong.empty())
        return;
    std::map<ValueId, std::size_t> places;
    for (std::size_t i = 0; i < values.size(); ++i)
        places[values[i]] = i;
    const GraphIndex& graph = m_subject.graph();
    for (const NodeId id : graph.main().order) {
        const NodeInfo& node = graph.node(id);
        ValueId first;
        for (const auto* read : {&node.inputs, &node.captures})
            for (const ValueId value : *read)
                if (const auto found = m_origin.find(value);
                    found != m_origin.end() &&
                    (!first || places.at(found->second) < places.at(first)))
                    first = found->second;
        for (const ValueId output : node.outputs)
            if (first)
                m_origin[output] = first;
            else if (wrong.count(output) > 0)
                m_origin[output] = output;
    }
}

/// What differs, and whose node is right, has its difference from a wrong tensor before it, or else
/// from rounding that the model enlarges. Where the run was repeated to see all tensors, the
/// difference must be about the same.
void RunVerification::explain(RunTensorCheck& check, ValueId value) const {
    const auto found = m_right.find(value);
    if (check.agrees || found == m_right.end())
        return;
    if (const auto origin = m_origin.find(value); origin != m_origin.end()) {
        check.becauseOf = m_subject.graph().value(origin->second).name;
        check.note = "because `" + check.becauseOf + "` before it differs; its own node is right";
        return;
    }
    if (check.maxRel > 4 * found->second)
        return;
    check.agrees = true;
    check.note = "rounding: from its own inputs, one device comes to the same";
}

}  // namespace shardwright
