// SPDX-License-Identifier: Apache-2.0
#include "run/run_execution.h"

#include "run/memory.h"
#include "run/result_message.h"
#include "run/run_reports.h"

#include <algorithm>

namespace shardwright {

namespace {

using Kind = RunFailure::Kind;

}  // namespace

/// A segment and the whole model must be optimised alike, so the whole model decides. This knows
/// ONNX Runtime's optimiser, not an operator, so it stands here and by name: fusing across a pair
/// of quantisation nodes leaves roundings out, elsewhere in a segment than in the whole model:
/// quantised models are compared as they are written.
bool RunExecution::optimises() const {
    const GraphIndex& graph = m_subject.graph();
    const auto& nodes = graph.main().nodes;
    const bool quantised = std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) {
        return graph.opType(node) == "DequantizeLinear";
    });
    return m_run.request.optimise && nodes.size() <= kManyNodes &&
           !(quantised && m_run.request.verify != VerifyMode::None);
}

RunStep RunExecution::loadKernels() {
    const RunRequest& request = m_run.request;
    auto path = OrtRuntime::find();
    if (!path)
        return m_run.failure(Kind::Failed, path.error());
    auto runtime = OrtRuntime::load(*path);
    if (!runtime)
        return m_run.failure(Kind::Failed, runtime.error());
    m_runtime = *runtime;
    m_engine.intraOpThreads = request.intraOpThreads;
    m_engine.strings = m_options.strings = m_subject.strings();
    m_engine.optimisation = optimises() ? GraphOptimisation::Full : GraphOptimisation::None;
    m_options.makeEngine = [this](DeviceId device) { return engineOf(device, m_engine); };
    m_options.warmups = request.warmups;
    m_options.repeats = request.repeats;
    m_options.timeLimitSeconds = request.timeLimitSeconds;
    if (request.profile) {
        auto folder = ProfileFolder::make();
        if (!folder)
            return m_run.failure(Kind::Failed, folder.error());
        m_profiles = std::move(*folder);
    }
    return request.backend == Backend::Cuda ? useGpus() : RunStep();
}

RunStep RunExecution::useGpus() {
    auto library = loadCuda();
    if (!library)
        return m_run.failure(Kind::Usage, library.error());
    auto gpus =
        Gpus::prepare(**library, *m_runtime, m_run.request.transport, m_subject.deviceCount());
    if (!gpus)
        return m_run.failure(Kind::Usage, gpus.error());
    m_gpus = std::move(*gpus);
    m_options.makeCommunicators = m_gpus->communicators();
    return {};
}

std::unique_ptr<KernelEngine> RunExecution::engineOf(DeviceId device,
                                                     const OrtEngineOptions& options) const {
    return m_gpus ? m_gpus->engine(device, m_runtime, options) : makeOrtEngine(m_runtime, options);
}

std::string RunExecution::kernels() const {
    return "ONNX Runtime " + m_runtime->version() +
           (m_run.request.backend == Backend::Cuda ? ", CUDA" : ", CPU");
}

std::string RunExecution::transport() const {
    if (m_run.processes)
        return m_run.processes->name();
    const std::string name = m_run.request.transport == Transport::Nccl ? "nccl" : "threads";
    return m_gpus ? name + ", " + m_gpus->version() : name;
}

RunOptions RunExecution::optionsFor(const Plan& plan, bool measured, RunStage stage) const {
    RunOptions options = m_options;
    OrtEngineOptions engine = m_engine;
    engine.weights = std::make_shared<WeightStore>(m_runtime, sharesWeights(plan));
    const ProfileFolder* profiles = measured && stage == RunStage::Run ? m_profiles.get() : nullptr;
    options.makeEngine = [this, engine, profiles](DeviceId device) {
        OrtEngineOptions own = engine;
        if (profiles)
            own.profilePrefix = profiles->prefix(device);
        return engineOf(device, own);
    };
    if (!measured) {
        options.warmups = 0;
        options.repeats = 1;
    }
    options.progress = [this, stage](double share) { m_run.stage(stage, share); };
    return options;
}

/// The steps of a run are told as they happen.
void RunExecution::observe(RunOptions& options, const Plan& plan) const {
    options.span = [this, &plan](const Span& span) {
        if (auto event = eventOf(span, plan, m_subject.graph()))
            m_run.sink(*event);
    };
    // Process 0 tells what all say.
    options.memory = [this, predicted = predictMemory(plan, sharesWeights(plan)).devices](
                         DeviceId device, std::int64_t bytes, std::int64_t peak) {
        const RunMemory memory{device, bytes, peak, predicted[static_cast<std::size_t>(device)]};
        if (m_run.isFollower())
            return m_run.processes->tell(encodeEvent(memory));
        m_run.sink(memory);
        if (!m_run.processes)
            return;
        for (const std::string& told : m_run.processes->told())
            if (const auto events = EventParser().feed(told))
                for (const RunEvent& event : *events)
                    m_run.sink(event);
    };
}

Result<RunResult> RunExecution::reference(const Plan& plan, bool measured) {
    m_run.stage(RunStage::Reference);
    return execute(plan, optionsFor(plan, measured, RunStage::Reference), m_subject.inputs(),
                   m_run.cancel);
}

Result<RunResult> RunExecution::sharded(const Plan& plan, bool measured) {
    RunOptions options = optionsFor(plan, measured, RunStage::Run);
    options.decorate = m_run.hooks.decorate;
    if (measured)
        observe(options, plan);
    m_run.stage(RunStage::Run);
    RunProcesses* const processes = m_run.processes;
    if (!processes)
        return execute(plan, options, m_subject.inputs(), m_run.cancel);
    options.devices = {processes->rank()};
    options.makeCommunicators = [processes](int devices) {
        std::vector<std::unique_ptr<Communicator>> ends(static_cast<std::size_t>(devices));
        ends[static_cast<std::size_t>(processes->rank())] = processes->communicator();
        return ends;
    };
    auto result = execute(plan, options, m_subject.inputs(), m_run.cancel);
    return result ? gathered(std::move(*result)) : std::move(result);
}

/// Process 0 gets what the others have, and what their strings say.
Result<RunResult> RunExecution::gathered(RunResult own) {
    const bool follows = m_run.isFollower();
    StringPool& strings = *m_subject.strings();
    auto parts = m_run.processes->gather(follows ? encodeResult(own) : std::string());
    if (!parts)
        return parts.error();
    for (std::size_t rank = 1; rank < parts->size(); ++rank)
        if (auto added = addResult(own, (*parts)[rank]); !added)
            return added.error();
    auto texts = m_run.processes->gather(follows ? strings.packed(0) : std::string());
    if (!texts)
        return texts.error();
    for (const std::string& text : *texts)
        if (auto added = strings.addPacked(text); !added)
            return added.error();
    finishResult(own);
    return own;
}

}  // namespace shardwright
