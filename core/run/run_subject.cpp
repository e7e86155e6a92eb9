// SPDX-License-Identifier: Apache-2.0
#include "run/run_subject.h"

#include "model/weights_in_file.h"
#include "rules/user_rules.h"
#include "run/element_types.h"
#include "run/gpus.h"
#include "sharding/binding_names.h"
#include "sharding/configuration_choice.h"

#include <algorithm>

namespace shardwright {

namespace {

using Kind = RunFailure::Kind;

constexpr int kMostDevices = 1024;

bool canBeCompared(const TensorInfo& info) {
    return info.kind == TensorInfo::Kind::Tensor && elementBits(storedType(info.elementType)) > 0;
}

}  // namespace

RunStep RunSubject::load() {
    const RunRequest& request = m_run.request;
    m_run.stage(RunStage::Load);
    if (auto possible = checkCombination(request.backend, request.transport); !possible)
        return m_run.failure(Kind::Usage, possible.error());
    if (!request.hardware.empty()) {
        auto profile = HardwareProfile::parse(request.hardware, request.hardwareName);
        if (!profile)
            return m_run.failure(Kind::Usage, profile.error());
        m_hardware = std::move(*profile);
    }
    auto model = request.modelBytes.empty()
                     ? loadWithoutWeights(request.modelPath, m_run.cancel)
                     : Model::fromBytes(request.modelBytes, request.modelPath, m_run.cancel);
    if (!model)
        return m_run.failure(Kind::Usage, model.error());
    m_document = {*model, (*model)->annotations()};
    m_bindings = {request.bindings, request.bindingFallback};
    if (auto unknown = unknownBinding(**model, m_bindings))
        return m_run.failure(Kind::Usage, std::move(*unknown));
    return request.inputsPath.empty() ? RunStep() : openInputs();
}

RunStep RunSubject::openInputs() {
    const std::string& path = m_run.request.inputsPath;
    const Model& model = *m_document.model;
    auto files = InputFiles::open(path, model, m_strings);
    if (!files)
        return m_run.failure(Kind::Usage, files.error());
    auto implied = files->bindings(model);
    if (!implied)
        return m_run.failure(Kind::Usage, implied.error());
    for (const auto& [symbol, size] : *implied) {
        const auto [it, added] = m_bindings.sizes.emplace(symbol, size);
        if (!added && it->second != size)
            return m_run.failure(Kind::Usage,
                                 {"`" + symbol + "` is bound to " + std::to_string(it->second) +
                                      ", the inputs have " + std::to_string(size),
                                  path});
    }
    for (const ValueId id : graph().main().inputs)
        if (const ValueInfo& input = graph().value(id); input.initializer && files->has(input.name))
            m_bindings.given.insert(input.name);
    m_files = std::move(*files);
    return {};
}

RunStep RunSubject::analyse() {
    const RunRequest& request = m_run.request;
    m_run.stage(RunStage::Analyse);
    auto meant = configurationMeant(m_document.annotations, request.configuration);
    if (!meant)
        return m_run.failure(Kind::Usage, meant.error());
    AnalysisOptions options;
    options.configuration = std::move(*meant);
    options.profile = request.strictProfile ? Profile::Strict : Profile::Extended;
    options.bindings = m_bindings;
    if (!request.rules.empty()) {
        auto registry = withUserRules(Registry::standard(), request.rules, request.rulesName);
        if (!registry)
            return m_run.failure(Kind::Usage, registry.error());
        options.registry = std::move(*registry);
    }
    auto analysis = Analyser().run(m_document, options, m_run.cancel);
    if (!analysis)
        return m_run.failure(Kind::Usage, analysis.error());
    m_analysis = *analysis;
    const std::string devices =
        "the configuration has " + std::to_string(deviceCount()) + " devices";
    if (deviceCount() > kMostDevices)
        return m_run.failure(Kind::Usage,
                             {devices + "; each is a thread of this machine, and a run has up to " +
                                  std::to_string(kMostDevices),
                              request.modelPath});
    if (m_run.processes && m_run.processes->size() != deviceCount())
        return m_run.failure(Kind::Usage,
                             {devices + ", the run " + std::to_string(m_run.processes->size()) +
                                  " processes: each device is one process",
                              request.modelPath});
    for (const Diagnostic& diagnostic : m_analysis->diagnostics)
        if (diagnostic.severity == Severity::Error)
            return RunFailure{Kind::ModelError, diagnostic.message, diagnostic.code};
    return findObservedTensors();
}

RunStep RunSubject::findObservedTensors() {
    for (const std::string& name : m_run.request.observe) {
        auto found = findObserved(*m_analysis, name);
        if (!found)
            return m_run.failure(Kind::Usage, found.error());
        const ValueInfo& info = graph().value(found->value);
        if (info.initializer && !info.producer && !isRunInput(found->value)) {
            m_weights.push_back(std::move(*found));
        } else if (found->reader) {
            m_views.push_back({found->reader, found->slot, name});
        } else {
            m_values.push_back(found->value);
        }
    }
    return {};
}

RunStep RunSubject::readInputs() {
    m_run.stage(RunStage::Inputs);
    const auto& registry = m_analysis->options.registry;
    auto inputs = m_files
                      ? m_files->load(*m_document.model, *m_analysis->shapes)
                      : randomInputs(*m_document.model, *m_analysis->shapes, m_run.request.seed,
                                     registry ? *registry : Registry::standard(), m_strings.get());
    if (!inputs)
        return m_run.failure(Kind::Usage, inputs.error());
    m_inputs = std::move(*inputs);
    return {};
}

/// A graph input that the run is given, or has as a default.
bool RunSubject::isRunInput(ValueId value) const {
    const auto& inputs = graph().main().inputs;
    return std::find(inputs.begin(), inputs.end(), value) != inputs.end();
}

bool RunSubject::isObserved(const RunResult::Output& tensor) const {
    const bool view = std::any_of(m_views.begin(), m_views.end(),
                                  [&](const auto& v) { return v.name == tensor.name; });
    const bool own = tensor.name == graph().value(tensor.value).name;
    return view ||
           (own && std::find(m_values.begin(), m_values.end(), tensor.value) != m_values.end());
}

std::vector<ValueId> RunSubject::allValues() const {
    std::vector<ValueId> values;
    for (const NodeId node : graph().main().order)
        for (const ValueId value : graph().node(node).outputs)
            if (value && canBeCompared(m_analysis->shapes->of(value)))
                values.push_back(value);
    return values;
}

}  // namespace shardwright
