// SPDX-License-Identifier: Apache-2.0
#include "check/analysis.h"

#include "check/meaning_diagnostics.h"
#include "check/model_diagnostics.h"

#include "rules/registry.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace shardwright {

int Analysis::count(Severity severity) const {
    return static_cast<int>(
        std::count_if(diagnostics.begin(), diagnostics.end(),
                      [severity](const Diagnostic& d) { return d.severity == severity; }));
}

bool Analysis::covers(NodeId node) const {
    return !isPiece() || std::binary_search(piece.begin(), piece.end(), node);
}

MeaningInput Analysis::meaningInput() const {
    return {document.model, shapes, rules, &configuration, &annotations};
}

namespace {

std::string chooseConfiguration(const std::vector<std::string>& names, const std::string& wanted) {
    if (!wanted.empty() || names.empty())
        return wanted;
    const bool hasDefault = std::find(names.begin(), names.end(), "default") != names.end();
    return names.size() > 1 && hasDefault ? "default" : names.front();
}

/// Each is moved once: a large model has thousands.
std::vector<Diagnostic> sorted(std::vector<Diagnostic> diagnostics) {
    std::vector<std::size_t> order(diagnostics.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) {
        return std::pair(diagnostics[i].severity, diagnostics[i].node);
    });
    std::vector<Diagnostic> result;
    result.reserve(order.size());
    for (const std::size_t i : order)
        result.push_back(std::move(diagnostics[i]));
    return result;
}

void append(std::vector<Diagnostic>& to, std::vector<Diagnostic> more) {
    std::move(more.begin(), more.end(), std::back_inserter(to));
}

}  // namespace

struct Analyser::Impl {
    std::shared_ptr<const Model> model;
    Bindings bindings;
    std::shared_ptr<const Registry> registry;
    std::shared_ptr<const ShapeTable> shapes;
    std::shared_ptr<const RuleTable> rules;
    std::vector<Diagnostic> modelDiagnostics;
    // Layouts of one pool are compared by pointer, so that all caches live and die together.
    std::unique_ptr<MeaningCache> meanings;
    std::unique_ptr<AnnotationCache> annotations;
    std::unique_ptr<CommCache> plans;
    std::unique_ptr<MeaningDiagnosticsCache> words;

    bool prepare(const Document& document, const AnalysisOptions& options,
                 const CancelToken& cancel) {
        if (model == document.model && shapes && bindings == options.bindings &&
            registry == options.registry)
            return true;
        model = document.model;
        bindings = options.bindings;
        registry = options.registry;
        shapes = ShapeTable::build(model, bindings, cancel);
        rules = cancel.cancelled() ? nullptr
                                   : RuleTable::build(model, shapes, cancel,
                                                      registry ? *registry : Registry::standard());
        if (cancel.cancelled()) {
            shapes = nullptr;
            return false;
        }
        modelDiagnostics = diagnoseModel(*model, *shapes);
        meanings = std::make_unique<MeaningCache>();
        annotations = std::make_unique<AnnotationCache>();
        words = std::make_unique<MeaningDiagnosticsCache>();
        plans = std::make_unique<CommCache>();
        return true;
    }

    /// `analysis`: all but its meaning and what follows from it.
    void workOutFirst(const Analysis& analysis, MeaningRun& run, const FirstPiece& first,
                      const CancelToken& cancel) {
        run.workOut(first.atOnce, cancel);
        if (run.isDone())
            return;
        run.workOut(first.nodes, cancel);
        if (run.isDone() || cancel.cancelled())
            return;
        auto piece = std::make_shared<Analysis>(analysis);
        piece->piece = first.nodes;
        std::ranges::sort(piece->piece);
        piece->piece.erase(std::unique(piece->piece.begin(), piece->piece.end()),
                           piece->piece.end());
        piece->meaning = run.soFar();
        piece->communication =
            findCommunication(piece->meaningInput(), piece->meaning, *plans, piece->piece);
        for (const auto* known :
             {&std::as_const(modelDiagnostics), &analysis.annotations.diagnostics})
            std::ranges::copy_if(*known, std::back_inserter(piece->diagnostics),
                                 [&](const Diagnostic& d) { return piece->covers(d.node); });
        append(piece->diagnostics, diagnoseMeaning(*piece, meanings->pool(), *words, piece->piece));
        piece->diagnostics = sorted(std::move(piece->diagnostics));
        first.deliver(std::move(piece));
    }
};

Analyser::Analyser() : m_impl(std::make_unique<Impl>()) {}
Analyser::~Analyser() = default;

Result<std::shared_ptr<const Analysis>> Analyser::run(const Document& document,
                                                      const AnalysisOptions& options,
                                                      const CancelToken& cancel,
                                                      const FirstPiece& first) {
    if (!m_impl->prepare(document, options, cancel))
        return Error{"cancelled", ""};
    auto analysis = std::make_shared<Analysis>();
    analysis->document = document;
    analysis->options = options;
    analysis->shapes = m_impl->shapes;
    analysis->rules = m_impl->rules;
    const auto names = configurationNames(document.annotations);
    const std::string name = chooseConfiguration(names, options.configuration);
    LayoutPool& pool = m_impl->meanings->pool();
    analysis->hasConfiguration = !names.empty();
    if (analysis->hasConfiguration || !name.empty()) {
        auto configuration = findConfiguration(document, *analysis->shapes, name, pool);
        if (!configuration)
            return configuration.error();
        analysis->configuration = std::move(*configuration);
        analysis->options.configuration = analysis->configuration.name;
    }
    analysis->annotations = decodeAnnotations(document, *analysis->shapes, analysis->configuration,
                                              pool, *m_impl->annotations);
    const MeaningInput input = analysis->meaningInput();
    MeaningRun run(input, *m_impl->meanings);
    if (first.deliver && !first.nodes.empty())
        m_impl->workOutFirst(*analysis, run, first, cancel);
    analysis->meaning = run.finish(cancel);
    if (cancel.cancelled())
        return Error{"cancelled", ""};
    analysis->communication = findCommunication(input, analysis->meaning, *m_impl->plans);
    analysis->diagnostics = m_impl->modelDiagnostics;
    append(analysis->diagnostics, analysis->annotations.diagnostics);
    append(analysis->diagnostics, diagnoseMeaning(*analysis, pool, *m_impl->words));
    analysis->diagnostics = sorted(std::move(analysis->diagnostics));
    return std::shared_ptr<const Analysis>(std::move(analysis));
}

}  // namespace shardwright
