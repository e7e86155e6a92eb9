// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"
#include "plan/plan.h"
#include "run/inputs.h"
#include "run/ort_engine.h"
#include "run/verify.h"
#include "sharding/shard_text.h"
#include "support/model_builder.h"

#include <QtTest/QTest>

#include <optional>
#include <string>
#include <vector>

namespace shardwright::test {

inline std::shared_ptr<const OrtRuntime> ortRuntime() {
    static const std::shared_ptr<const OrtRuntime> runtime = [] {
        auto path = OrtRuntime::find();
        auto loaded = path ? OrtRuntime::load(*path)
                           : Result<std::shared_ptr<const OrtRuntime>>(path.error());
        return loaded ? *loaded : nullptr;
    }();
    return runtime;
}

/// A model with annotations, lowered and run against the whole model:
///
///     PlanCase(mlp(), "tp=2").shard("w1@mm1:1=tp").shard("w2@mm2:0=tp").verify()
class PlanCase {
public:
    PlanCase(const ModelBuilder& model, const std::string& mesh) : m_document(model.document()) {
        m_request.mesh = mesh;
    }

    PlanCase& shard(const std::string& text) { return m_request.shards.push_back(text), *this; }
    PlanCase& stage(const std::string& text) { return m_request.stages.push_back(text), *this; }
    PlanCase& stageDevices(const std::string& text) {
        return m_request.stageDevices.push_back(text), *this;
    }
    PlanCase& bind(const std::string& dim, std::int64_t size) {
        return m_bindings.sizes[dim] = size, *this;
    }
    /// A spec that no mesh says: `shards` blocks of dimension `dim` (-1: whole), one group each.
    PlanCase& layout(const std::string& tensor, const std::string& node, int dim,
                     std::vector<DeviceGroup> groups) {
        m_layouts.push_back({tensor, node, dim, std::move(groups)});
        return *this;
    }

    std::shared_ptr<const Analysis> analyse() const {
        Document document = m_document;
        const auto shapes = ShapeTable::build(document.model, m_bindings);
        LayoutPool pool;
        const auto outcome = annotate(document, *shapes, m_request, pool);
        if (!outcome)
            qFatal("%s", outcome.error().text().c_str());
        apply(document.annotations, outcome->edit);
        const std::string configuration = configurationNames(document.annotations).front();
        for (const Spec& spec : m_layouts) {
            const ValueId value = valueNamed(document.graph(), spec.tensor);
            const TensorInfo& info = shapes->of(value);
            std::vector<std::vector<Component>> dims(info.dims.size());
            if (spec.dim >= 0)
                dims[static_cast<std::size_t>(spec.dim)] = {
                    {info.dims[static_cast<std::size_t>(spec.dim)],
                     static_cast<std::int64_t>(spec.groups.size())}};
            for (std::size_t d = 0; d < dims.size(); ++d)
                if (dims[d].empty())
                    dims[d] = {{info.dims[d], 1}};
            const Layout layout(info.dims, dims, spec.groups);
            apply(document.annotations, editSpec(document, nodeNamed(document.graph(), spec.node),
                                                 configuration, spec.tensor, &layout, info));
        }
        AnalysisOptions options;
        options.bindings = m_bindings;
        Analyser analyser;
        const auto analysis = analyser.run(document, options);
        if (!analysis)
            qFatal("%s", analysis.error().text().c_str());
        return *analysis;
    }

    /// Runs both programs and compares all tensors on all devices. Empty: they agree, and what was
    /// executed is what was predicted; else what is wrong.
    std::string verify() {
        const auto analysis = analyse();
        PlanOptions options;
        for (const ValueInfo& value : analysis->graph().values)
            options.observe.push_back(value.id);
        const auto plan = lower(*analysis, options);
        if (!plan)
            return "refused: " + plan.error().text();
        const auto whole = lowerUnannotated(*analysis, options);
        if (!whole)
            return "reference refused: " + whole.error().text();
        m_plan = *plan;
        const auto inputs = randomInputs(*m_document.model, *analysis->shapes, 1);
        if (!inputs)
            return inputs.error().text();
        RunOptions run;
        run.warmups = 0;
        run.makeEngine = [](DeviceId) { return makeOrtEngine(ortRuntime(), {}); };
        const auto sharded = execute(**plan, run, *inputs);
        if (!sharded)
            return "run: " + sharded.error().text();
        const auto reference = execute(**whole, run, *inputs);
        if (!reference)
            return "reference run: " + reference.error().text();
        std::string wrong = compare(sharded->outputs, reference->outputs) +
                            compare(sharded->observed, reference->observed);
        for (const auto& [kind, total] : m_plan->predicted) {
            const auto executed = sharded->executed.find(kind);
            if (executed == sharded->executed.end() || executed->second.count != total.count ||
                executed->second.bytes != total.bytes)
                wrong += collectiveName(kind) + " was not executed as predicted; ";
        }
        return wrong + (sharded->executed.size() != m_plan->predicted.size()
                            ? "something else was executed; "
                            : "");
    }

    /// Of the last verify().
    const Plan& plan() const { return *m_plan; }
    /// "2 all-reduce, 1 send"
    std::string collectives() const {
        std::string text;
        for (const auto& [kind, total] : m_plan->predicted)
            text += (text.empty() ? "" : ", ") + std::to_string(total.count) + " " +
                    collectiveName(kind);
        return text;
    }

private:
    static std::string compare(const std::vector<RunResult::Output>& sharded,
                               const std::vector<RunResult::Output>& whole) {
        std::string wrong;
        for (const RunResult::Output& output : sharded) {
            const auto reference = std::find_if(
                whole.begin(), whole.end(), [&](const auto& r) { return r.value == output.value; });
            if (reference == whole.end()) {
                wrong += output.name + " has no reference; ";
                continue;
            }
            const TensorCheck check = checkTensor(output, *reference);
            if (!check.agrees)
                wrong += output.name + " differs by " + std::to_string(check.maxRel) + " " +
                         check.note + "; ";
        }
        return wrong;
    }

    struct Spec {
        std::string tensor, node;
        int dim;
        std::vector<DeviceGroup> groups;
    };
    Document m_document;
    AnnotateRequest m_request;
    Bindings m_bindings;
    std::vector<Spec> m_layouts;
    std::shared_ptr<const Plan> m_plan;
};

}  // namespace shardwright::test

/// Verifies a PlanCase and compares its collectives.
#define VERIFY_PLAN(planCase, expected)                                                            \
    do {                                                                                           \
        if (!ortRuntime())                                                                         \
            QSKIP("needs ONNX Runtime's library");                                                 \
        PlanCase& verified = (planCase);                                                           \
        QCOMPARE(QString::fromStdString(verified.verify()), QString());                            \
        QCOMPARE(QString::fromStdString(verified.collectives()), QString(expected));               \
    } while (false)
