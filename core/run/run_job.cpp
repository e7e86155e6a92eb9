// SPDX-License-Identifier: Apache-2.0
#include "run/run_job.h"

#include "check/analysis.h"
#include "model/weights_in_file.h"
#include "plan/views.h"
#include "rules/user_rules.h"
#include "run/collective_timings.h"
#include "run/gpus.h"
#include "run/inputs.h"
#include "run/memory.h"
#include "run/node_checks.h"
#include "run/observed_weights.h"
#include "run/operator_profile.h"
#include "run/ort_engine.h"
#include "run/result_message.h"
#include "run/run_reports.h"
#include "run/shards.h"
#include "run/trace.h"
#include "run/verify.h"
#include "sharding/configuration_choice.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace shardwright {

namespace {

using Kind = RunFailure::Kind;

constexpr int kMostDevices = 1024;
/// What process 0 tells the others after the run.
constexpr const char *kAgain = "run again with all tensors", *kEnd = "end";

RunTensorCheck unchecked(const std::string& name, const std::string& note) {
    RunTensorCheck check;
    check.name = name;
    check.note = note;
    return check;
}

class Job {
public:
    Job(const RunRequest& request, const EventSink& sink, const CancelToken& cancel,
        const RunHooks& hooks, RunProcesses* processes)
        : m_request(request), m_sink(sink), m_cancel(cancel), m_hooks(hooks),
          m_processes(processes) {}

    RunOutcome run() {
        RunOutcome outcome = steps();
        if (const auto* failed = std::get_if<RunFailure>(&outcome); failed && m_processes)
            m_processes->poison(Error{failed->message, failed->place}.text());
        return outcome;
    }

private:
    using Step = std::optional<RunFailure>;

    bool isFollower() const { return m_processes && m_processes->rank() > 0; }

    RunOutcome steps() {
        for (auto step :
             {&Job::load, &Job::analyse, &Job::loadKernels, &Job::lowerModel, &Job::checkMemory,
              &Job::readInputs, &Job::runSharded, &Job::verify, &Job::save, &Job::release}) {
            if (auto failed = (this->*step)())
                return *failed;
            if (m_cancel.cancelled())
                return RunFailure{Kind::Cancelled, kCancelled, {}};
        }
        return m_report;
    }

    RunFailure failure(Kind kind, const Error& error) const {
        const bool cancelled = error.message == kCancelled || m_cancel.cancelled();
        return {cancelled ? Kind::Cancelled : kind, cancelled ? kCancelled : error.message,
                error.place};
    }
    void stage(RunStage stage, double share = 0) const { m_sink(RunProgress{stage, share}); }

    Step load() {
        stage(RunStage::Load);
        if (auto possible = checkCombination(m_request.backend, m_request.transport); !possible)
            return failure(Kind::Usage, possible.error());
        if (!m_request.hardware.empty()) {
            auto profile = HardwareProfile::parse(m_request.hardware, m_request.hardwareName);
            if (!profile)
                return failure(Kind::Usage, profile.error());
            m_hardware = std::move(*profile);
        }
        auto model = m_request.modelBytes.empty()
                         ? loadWithoutWeights(m_request.modelPath, m_cancel)
                         : Model::fromBytes(m_request.modelBytes, m_request.modelPath, m_cancel);
        if (!model)
            return failure(Kind::Usage, model.error());
        m_document = {*model, Annotations::fromModel(**model)};
        m_bindings = {m_request.bindings, m_request.bindingFallback};
        if (m_request.inputsPath.empty())
            return {};
        auto files = InputFiles::open(m_request.inputsPath, **model);
        if (!files)
            return failure(Kind::Usage, files.error());
        auto implied = files->bindings(**model);
        if (!implied)
            return failure(Kind::Usage, implied.error());
        for (const auto& [symbol, size] : *implied) {
            const auto [it, added] = m_bindings.sizes.emplace(symbol, size);
            if (!added && it->second != size)
                return failure(Kind::Usage,
                               {"`" + symbol + "` is bound to " + std::to_string(it->second) +
                                    ", the inputs have " + std::to_string(size),
                                m_request.inputsPath});
        }
        for (const ValueId id : (*model)->graph().main().inputs)
            if (const ValueInfo& input = (*model)->graph().value(id);
                input.initializer && files->has(input.name))
                m_bindings.given.insert(input.name);
        m_files = std::move(*files);
        return {};
    }

    Step analyse() {
        stage(RunStage::Analyse);
        auto meant = configurationMeant(m_document.annotations, m_request.configuration);
        if (!meant)
            return failure(Kind::Usage, meant.error());
        AnalysisOptions options;
        options.configuration = std::move(*meant);
        options.profile = m_request.strictProfile ? Profile::Strict : Profile::Extended;
        options.bindings = m_bindings;
        if (!m_request.rules.empty()) {
            auto registry =
                withUserRules(Registry::standard(), m_request.rules, m_request.rulesName);
            if (!registry)
                return failure(Kind::Usage, registry.error());
            options.registry = std::move(*registry);
        }
        auto analysis = Analyser().run(m_document, options, m_cancel);
        if (!analysis)
            return failure(Kind::Usage, analysis.error());
        m_analysis = *analysis;
        if (m_analysis->hasConfiguration && m_analysis->configuration.deviceCount > kMostDevices)
            return failure(Kind::Usage,
                           {"the configuration has " +
                                std::to_string(m_analysis->configuration.deviceCount) +
                                " devices; each is a thread of this machine, and a run has up to " +
                                std::to_string(kMostDevices),
                            m_request.modelPath});
        if (m_processes && m_processes->size() != deviceCount())
            return failure(Kind::Usage,
                           {"the configuration has " + std::to_string(deviceCount()) +
                                " devices, the run " + std::to_string(m_processes->size()) +
                                " processes: each device is one process",
                            m_request.modelPath});
        for (const Diagnostic& diagnostic : m_analysis->diagnostics)
            if (diagnostic.severity == Severity::Error)
                return RunFailure{Kind::ModelError, diagnostic.message, diagnostic.code};
        for (const std::string& name : m_request.observe) {
            auto found = findObserved(*m_analysis, name);
            if (!found)
                return failure(Kind::Usage, found.error());
            const ValueInfo& info = graph().value(found->value);
            if (info.initializer && !info.producer && !isRunInput(found->value)) {
                m_weights.push_back(std::move(*found));
            } else if (found->reader) {
                m_views.push_back({found->reader, found->slot, name});
            } else {
                m_observe.push_back(found->value);
            }
        }
        return {};
    }

    /// A segment and the whole model must be optimised alike, so the whole model decides. This
    /// knows ONNX Runtime's optimiser, not an operator, so it stands here and by name: fusing
    /// across a pair of quantisation nodes leaves roundings out, elsewhere in a segment than in the
    /// whole model: quantised models are compared as they are written.
    bool optimises() const {
        const auto& nodes = graph().main().nodes;
        const bool quantised = std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) {
            return graph().opType(node) == "DequantizeLinear";
        });
        return m_request.optimise && nodes.size() <= kManyNodes &&
               !(quantised && m_request.verify != VerifyMode::None);
    }

    Step loadKernels() {
        auto path = OrtRuntime::find();
        if (!path)
            return failure(Kind::Failed, path.error());
        auto runtime = OrtRuntime::load(*path);
        if (!runtime)
            return failure(Kind::Failed, runtime.error());
        m_runtime = *runtime;
        m_engine.intraOpThreads = m_request.intraOpThreads;
        m_engine.optimisation = optimises() ? GraphOptimisation::Full : GraphOptimisation::None;
        m_options.makeEngine = [this](DeviceId device) { return engineOf(device, m_engine); };
        m_options.warmups = m_request.warmups;
        m_options.repeats = m_request.repeats;
        m_options.timeLimitSeconds = m_request.timeLimitSeconds;
        if (m_request.profile) {
            auto folder = ProfileFolder::make();
            if (!folder)
                return failure(Kind::Failed, folder.error());
            m_profiles = std::move(*folder);
        }
        m_report.kernels = "ONNX Runtime " + (*runtime)->version() +
                           (m_request.backend == Backend::Cuda ? ", CUDA" : ", CPU");
        return m_request.backend == Backend::Cuda ? useGpus() : Step();
    }

    Step useGpus() {
        auto library = loadCuda();
        if (!library)
            return failure(Kind::Usage, library.error());
        auto gpus = Gpus::prepare(**library, *m_runtime, m_request.transport, deviceCount());
        if (!gpus)
            return failure(Kind::Usage, gpus.error());
        m_gpus = std::move(*gpus);
        m_options.makeCommunicators = m_gpus->communicators();
        return {};
    }

    std::unique_ptr<KernelEngine> engineOf(DeviceId device, const OrtEngineOptions& options) const {
        return m_gpus ? m_gpus->engine(device, m_runtime, options)
                      : makeOrtEngine(m_runtime, options);
    }

    int deviceCount() const {
        return m_analysis->hasConfiguration ? m_analysis->configuration.deviceCount : 1;
    }

    std::string transportName() const {
        if (m_processes)
            return m_processes->name();
        const std::string name = m_request.transport == Transport::Nccl ? "nccl" : "threads";
        return m_gpus ? name + ", " + m_gpus->version() : name;
    }

    Step readInputs() {
        stage(RunStage::Inputs);
        const auto& registry = m_analysis->options.registry;
        auto inputs = m_files ? m_files->load(*m_document.model, *m_analysis->shapes)
                              : randomInputs(*m_document.model, *m_analysis->shapes, m_request.seed,
                                             registry ? *registry : Registry::standard());
        if (!inputs)
            return failure(Kind::Usage, inputs.error());
        m_inputs = std::move(*inputs);
        return {};
    }

    /// A process that runs one device has no other to share with; what is shared is in host memory.
    bool sharesWeights(const Plan& plan) const {
        return !m_processes && !m_gpus && plan.deviceCount > 1;
    }

    Result<RunResult> executeWith(const Plan& plan, bool sharded, bool measured) {
        RunOptions options = m_options;
        OrtEngineOptions engine = m_engine;
        engine.weights = std::make_shared<WeightStore>(m_runtime, sharesWeights(plan));
        options.makeEngine = [this, engine](DeviceId device) { return engineOf(device, engine); };
        if (sharded)
            options.decorate = m_hooks.decorate;
        if (!measured) {
            options.warmups = 0;
            options.repeats = 1;
        }
        if (sharded && measured) {
            options.span = [&](const Span& span) {
                if (auto event = eventOf(span, plan, graph()))
                    m_sink(*event);
            };
            options.memory = [&](DeviceId device, std::int64_t bytes, std::int64_t peak) {
                m_sink(RunMemory{device, bytes, peak});
            };
            if (m_profiles)
                options.makeEngine = [this, engine](DeviceId device) {
                    OrtEngineOptions own = engine;
                    own.profilePrefix = m_profiles->prefix(device);
                    return engineOf(device, own);
                };
        }
        const RunStage now = sharded ? RunStage::Run : RunStage::Reference;
        options.progress = [this, now](double share) { stage(now, share); };
        stage(now);
        if (!sharded || !m_processes)
            return execute(plan, options, m_inputs, m_cancel);
        options.devices = {m_processes->rank()};
        options.makeCommunicators = [this](int devices) {
            std::vector<std::unique_ptr<Communicator>> ends(static_cast<std::size_t>(devices));
            ends[static_cast<std::size_t>(m_processes->rank())] = m_processes->communicator();
            return ends;
        };
        auto result = execute(plan, options, m_inputs, m_cancel);
        return result ? gathered(std::move(*result)) : std::move(result);
    }

    /// Process 0 gets what the others have.
    Result<RunResult> gathered(RunResult own) {
        auto parts = m_processes->gather(isFollower() ? encodeResult(own) : std::string());
        if (!parts)
            return parts.error();
        for (std::size_t rank = 1; rank < parts->size(); ++rank)
            if (auto added = addResult(own, (*parts)[rank]); !added)
                return added.error();
        finishResult(own);
        return own;
    }

    /// The others wait for what process 0 wants next, until it needs them no more.
    Step release() {
        if (!m_processes)
            return {};
        while (true) {
            auto word = m_processes->broadcast(kEnd);
            if (!word)
                return failure(Kind::Failed, word.error());
            if (*word == kEnd)
                return {};
            auto plan = lower(*m_analysis, PlanOptions{allValues()});
            if (!plan)
                return failure(Kind::ModelError, plan.error());
            if (auto result = executeWith(**plan, true, false); !result)
                return failure(Kind::Failed, result.error());
        }
    }

    Step lowerModel() {
        stage(RunStage::Lower);
        auto plan = lowerWithViews(
            *m_analysis, PlanOptions{m_request.verify == VerifyMode::All ? allValues() : m_observe},
            m_views);
        if (!plan)
            return failure(Kind::ModelError, plan.error());
        m_plan = *plan;
        return {};
    }

    /// The run on one device comes after the other, and what that gave is kept. Each process of
    /// several looks at what those on its host need.
    Step checkMemory() {
        m_need = predictMemory(*m_plan, sharesWeights(*m_plan));
        std::int64_t own = m_processes ? m_need.ofDevice(m_processes->rank()) : m_need.total();
        std::int64_t most = m_processes ? own * processesOnThisHost() : own;
        if (m_request.verify != VerifyMode::None && !isFollower())
            if (auto reference = lowerReference(m_request.verify == VerifyMode::All)) {
                own = std::max(own, predictMemory(**reference, false).total());
                most = std::max(most, own);
            }
        m_report.predictedBytes = residentMemory() + own;
        const auto available = m_hooks.availableMemory
                                   ? std::optional<std::int64_t>(m_hooks.availableMemory())
                                   : availableMemory();
        m_report.availableBytes = available.value_or(0);
        if (!available || most <= *available || m_request.ignoreMemory)
            return {};
        return RunFailure{Kind::Failed,
                          "it needs about " + std::to_string(most) + " bytes of memory, and " +
                              std::to_string(*available) +
                              " are available; nothing was started (--ignore-memory runs it all "
                              "the same)",
                          m_request.modelPath};
    }

    Step runSharded() {
        auto result = executeWith(*m_plan, true, true);
        if (!result)
            return failure(Kind::Failed, result.error());
        m_result = std::move(*result);
        if (isFollower())
            return {};
        m_report.peakResidentBytes = peakResidentMemory();
        if (m_result.firstKernel != Clock::time_point::max())
            m_report.startMs =
                std::chrono::duration<double, std::milli>(m_result.firstKernel - m_begin).count();
        for (const ObservedTensor& weight : m_weights) {
            auto pieces = observedWeight(*m_analysis, weight.value, weight.layout.get(),
                                         std::filesystem::path(m_request.modelPath).parent_path());
            if (!pieces)
                return failure(Kind::Usage, pieces.error());
            pieces->name = weight.name;
            m_weightPieces.push_back(std::move(*pieces));
        }
        m_report.wallMs = m_result.wallMs;
        m_report.passesMs = m_result.passesMs;
        m_report.predicted = totalsOf(m_plan->predicted);
        m_report.executed = totalsOf(m_result.executed);
        m_report.bindings = {m_analysis->shapes->usedBindings().begin(),
                             m_analysis->shapes->usedBindings().end()};
        m_report.transport = transportName();
        m_report.configuration = m_analysis->hasConfiguration ? m_analysis->configuration.name : "";
        m_report.mesh = m_analysis->hasConfiguration ? m_analysis->configuration.mesh.text() : "";
        m_report.seed = m_request.seed;
        m_report.randomInputs = !m_files;
        for (const DeviceTiming& device : m_result.devices)
            m_report.devices.push_back(
                timingOf(device, m_need.devices[static_cast<std::size_t>(device.device)]));
        for (const RunResult::Output& output : m_result.outputs)
            m_report.outputs.push_back(unchecked(output.name, {}));
        observeRun();
        emitTimings();
        return {};
    }

    void observeRun() {
        const Mesh& mesh = m_analysis->configuration.mesh;
        m_report.collectives = collectiveTimings(*m_plan, graph(), mesh, m_result.spans,
                                                 m_hardware ? &*m_hardware : nullptr);
        m_report.hardware = m_hardware ? m_hardware->name : std::string();
        if (!m_profiles)
            return;
        std::vector<std::string> problems;
        m_report.operators =
            operatorTimes(m_profiles->path(), *m_plan, graph(), m_request.warmups, problems);
        for (const std::string& problem : problems)
            m_sink(RunLog{"a profile cannot be read: " + problem});
    }

    void emitTimings() const {
        for (const RunDeviceTiming& device : m_report.devices)
            m_sink(device);
        // Those of this process were told when they happened.
        for (const Span& span : m_result.spans)
            if (m_processes && span.device != m_processes->rank())
                if (auto event = eventOf(span, *m_plan, graph()))
                    m_sink(*event);
        for (const RunResult::Output* tensor : wantedTensors())
            for (const RunResult::Piece& piece : tensor->pieces)
                m_sink(describeShard(*tensor, piece, isOutput(tensor), m_request.maxShardValues));
    }

    bool isOutput(const RunResult::Output* tensor) const {
        return tensor >= m_result.outputs.data() &&
               tensor < m_result.outputs.data() + m_result.outputs.size();
    }

    /// A graph input that the run is given, or has as a default.
    bool isRunInput(ValueId value) const {
        const auto& inputs = graph().main().inputs;
        return std::find(inputs.begin(), inputs.end(), value) != inputs.end();
    }
    bool isWanted(const RunResult::Output& tensor) const {
        const bool view = std::any_of(m_views.begin(), m_views.end(),
                                      [&](const auto& v) { return v.name == tensor.name; });
        const bool own = tensor.name == graph().value(tensor.value).name;
        return view || (own && std::find(m_observe.begin(), m_observe.end(), tensor.value) !=
                                   m_observe.end());
    }

    /// Outputs, and what was asked for among inputs and observed values.
    std::vector<const RunResult::Output*> wantedTensors() const {
        std::vector<const RunResult::Output*> wanted;
        for (const RunResult::Output& output : m_result.outputs)
            wanted.push_back(&output);
        for (const auto* tensors : {&m_result.inputs, &m_result.observed})
            for (const RunResult::Output& tensor : *tensors)
                if (isWanted(tensor))
                    wanted.push_back(&tensor);
        for (const RunResult::Output& weight : m_weightPieces)
            wanted.push_back(&weight);
        return wanted;
    }

    /// Strings stay inside of the kernels.
    static bool canBeCompared(const TensorInfo& info) {
        return info.kind == TensorInfo::Kind::Tensor && elementBits(info.elementType) > 0;
    }

    std::vector<ValueId> allValues() const {
        std::vector<ValueId> values;
        for (const NodeId node : graph().main().order)
            for (const ValueId value : graph().node(node).outputs)
                if (value && canBeCompared(m_analysis->shapes->of(value)))
                    values.push_back(value);
        return values;
    }

    Step verify() {
        if (m_request.verify == VerifyMode::None || isFollower())
            return {};
        const bool all = m_request.verify == VerifyMode::All;
        RunResult reference;
        if (auto failed = runReference(all, reference))
            return failed;
        stage(RunStage::Verify);
        m_tolerances.emplace(*m_analysis, m_request.tolerance);
        m_report.outputs.clear();
        for (const RunResult::Output& output : m_result.outputs)
            m_report.outputs.push_back(checked(output, reference.outputs));
        const bool agrees = std::all_of(m_report.outputs.begin(), m_report.outputs.end(),
                                        [](const RunTensorCheck& check) { return check.agrees; });
        if (all) {
            m_report.tensors = compareAll(m_result, reference);
        } else if (!agrees) {
            m_sink(RunLog{
                "an output differs from the run on one device; running again with all tensors"});
            if (auto failed = repeatWithAll())
                return failed;
        }
        for (std::size_t i = 0; i < m_report.outputs.size(); ++i)
            acceptRounding(m_report.outputs[i], m_result.outputs[i].value);
        if (!m_report.firstDivergent)
            blameOutput();
        for (const RunTensorCheck& check : m_report.outputs)
            m_sink(check);
        m_report.verified = !m_report.firstDivergent;
        return {};
    }

    /// The last one is kept: it is wanted for its memory first, and then to run.
    Result<std::shared_ptr<const Plan>> lowerReference(bool all) {
        if (m_reference && m_referenceHasAll == all)
            return m_reference;
        auto plan =
            lowerUnannotated(*m_analysis, PlanOptions{all ? allValues() : std::vector<ValueId>{}});
        if (plan) {
            m_reference = *plan;
            m_referenceHasAll = all;
        }
        return plan;
    }

    Step runReference(bool all, RunResult& reference) {
        auto plan = lowerReference(all);
        if (!plan)
            return failure(Kind::Failed, plan.error());
        auto result = executeWith(**plan, false, !all && m_request.warmups > 0);
        if (!result)
            return failure(Kind::Failed,
                           {result.error().message, "on one device: " + result.error().place});
        m_report.referenceWallMs =
            m_report.referenceWallMs > 0 ? m_report.referenceWallMs : result->wallMs;
        reference = std::move(*result);
        return {};
    }

    Step repeatWithAll() {
        auto plan = lower(*m_analysis, PlanOptions{allValues()});
        if (!plan)
            return failure(Kind::Failed, plan.error());
        if (m_processes)
            if (auto told = m_processes->broadcast(kAgain); !told)
                return failure(Kind::Failed, told.error());
        auto result = executeWith(**plan, true, false);
        if (!result)
            return failure(Kind::Failed, result.error());
        RunResult reference;
        if (auto failed = runReference(true, reference))
            return failed;
        compareAll(*result, reference);
        return {};
    }

    RunTensorCheck checked(const RunResult::Output& sharded,
                           const std::vector<RunResult::Output>& references) const {
        for (const RunResult::Output& reference : references)
            if (reference.value == sharded.value)
                return checkOf(checkTensor(sharded, reference, m_tolerances->of(sharded.value)));
        return unchecked(sharded.name, "the run on one device does not give it");
    }

    /// Observed values come in topological order. The first that differs and whose node is wrong is
    /// the first divergent one.
    std::vector<RunTensorCheck> compareAll(const RunResult& sharded, const RunResult& reference) {
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
            checks.push_back(
                checkOf(checkTensor(output, *it->second, m_tolerances->of(output.value))));
            if (!checks.back().agrees)
                differing.push_back(output.value);
        }
        const std::set<ValueId> right = rounding(sharded, differing);
        for (std::size_t i = 0; i < checks.size(); ++i) {
            if (right.count(values[i]) > 0)
                m_rounding[values[i]] = checks[i].maxRel;
            acceptRounding(checks[i], values[i]);
            if (!checks[i].agrees && !m_report.firstDivergent)
                m_report.firstDivergent = divergence(checks[i], values[i]);
        }
        return checks;
    }

    std::set<ValueId> rounding(const RunResult& sharded, const std::vector<ValueId>& differing) {
        if (differing.empty())
            return {};
        auto right = rightFromTheirInputs(*m_analysis, differing, sharded, m_inputs, *m_tolerances,
                                          m_options, m_cancel);
        if (right)
            return std::move(*right);
        m_sink(RunLog{"nodes cannot be run alone: " + right.error().text()});
        return {};
    }

    /// Where the run was repeated to see all tensors, the difference must be about the same.
    void acceptRounding(RunTensorCheck& check, ValueId value) const {
        const auto found = m_rounding.find(value);
        if (check.agrees || found == m_rounding.end() || check.maxRel > 4 * found->second)
            return;
        check.agrees = true;
        check.note = "rounding: from its own inputs, one device comes to the same";
    }

    void blameOutput() {
        for (std::size_t i = 0; i < m_report.outputs.size(); ++i)
            if (!m_report.outputs[i].agrees) {
                m_report.firstDivergent =
                    divergence(m_report.outputs[i], m_result.outputs[i].value);
                return;
            }
    }

    RunDivergence divergence(const RunTensorCheck& check, ValueId value) const {
        return divergenceOf(check, value, *m_analysis, *m_plan);
    }

    Step save() {
        if ((m_request.tracePath.empty() && m_request.saveShardsFolder.empty()) || isFollower())
            return {};
        stage(RunStage::Save);
        if (!m_request.tracePath.empty())
            if (auto written = writeTrace(m_request.tracePath, *m_plan, graph(), m_result);
                !written)
                return failure(Kind::Usage, written.error());
        if (!m_request.saveShardsFolder.empty())
            if (auto written = saveShards(m_request.saveShardsFolder, wantedTensors()); !written)
                return failure(Kind::Usage, written.error());
        return {};
    }

    const GraphIndex& graph() const { return m_document.graph(); }

    using Clock = std::chrono::steady_clock;
    const Clock::time_point m_begin = Clock::now();
    const RunRequest& m_request;
    const EventSink& m_sink;
    const CancelToken& m_cancel;
    const RunHooks& m_hooks;
    RunProcesses* const m_processes;
    Document m_document;
    Bindings m_bindings;
    std::optional<InputFiles> m_files;
    std::shared_ptr<const Analysis> m_analysis;
    std::vector<ValueId> m_observe;
    std::vector<PlanView> m_views;
    std::vector<ObservedTensor> m_weights;
    std::vector<RunResult::Output> m_weightPieces;
    std::optional<HardwareProfile> m_hardware;
    std::unique_ptr<ProfileFolder> m_profiles;
    RunOptions m_options;
    std::shared_ptr<const OrtRuntime> m_runtime;
    OrtEngineOptions m_engine;
    std::shared_ptr<Gpus> m_gpus;
    InputSet m_inputs;
    std::optional<Tolerances> m_tolerances;
    std::map<ValueId, double> m_rounding;  ///< They differ so much, and their nodes are right.
    std::shared_ptr<const Plan> m_plan;
    MemoryNeed m_need;
    std::shared_ptr<const Plan> m_reference;  ///< For one device.
    bool m_referenceHasAll = false;
    RunResult m_result;
    RunReport m_report;
};

}  // namespace

int exitCode(const RunOutcome& outcome) {
    if (const auto* failure = std::get_if<RunFailure>(&outcome))
        return failure->kind == Kind::ModelError ? 1 : 2;
    return std::get<RunReport>(outcome).verified.value_or(true) ? 0 : 1;
}

RunOutcome runJob(const RunRequest& request, const EventSink& sink, const CancelToken& cancel,
                  const RunHooks& hooks, RunProcesses* processes) {
    RunOutcome outcome = Job(request, sink, cancel, hooks, processes).run();
    std::visit([&](const auto& end) { sink(end); }, outcome);
    return outcome;
}

}  // namespace shardwright
