// SPDX-License-Identifier: Apache-2.0
#include "run/run_job.h"

#include "run/collective_timings.h"
#include "run/memory.h"
#include "run/run_execution.h"
#include "run/run_reports.h"
#include "run/run_verification.h"
#include "run/shards.h"
#include "run/trace.h"

#include <algorithm>

namespace shardwright {

namespace {

using Kind = RunFailure::Kind;

/// What process 0 tells the others after the run.
constexpr const char *kAgain = "run again with all tensors", *kEnd = "end";

/// The steps of a run, and its report.
class Job {
public:
    explicit Job(const RunContext& run) : m_run(run) {}

    RunOutcome run() {
        RunOutcome outcome = steps();
        if (const auto* failed = std::get_if<RunFailure>(&outcome); failed && m_run.processes)
            m_run.processes->poison(Error{failed->message, failed->place}.text());
        return outcome;
    }

private:
    RunOutcome steps() {
        for (auto step :
             {&Job::load, &Job::analyse, &Job::loadKernels, &Job::lowerModel, &Job::checkMemory,
              &Job::readInputs, &Job::runSharded, &Job::verify, &Job::save, &Job::release}) {
            if (auto failed = (this->*step)())
                return *failed;
            if (m_run.cancel.cancelled())
                return RunFailure{Kind::Cancelled, kCancelled, {}};
        }
        return m_report;
    }

    RunStep load() { return m_subject.load(); }
    RunStep analyse() { return m_subject.analyse(); }
    RunStep loadKernels() { return m_execution.loadKernels(); }
    RunStep readInputs() { return m_subject.readInputs(); }

    PlanOptions planOptions(std::vector<ValueId> observe) const {
        return {std::move(observe), m_run.request.seed};
    }

    RunStep lowerModel() {
        m_run.stage(RunStage::Lower);
        auto plan = lowerWithViews(m_subject.analysis(),
                                   planOptions(m_run.request.verify == VerifyMode::All
                                                   ? m_subject.allValues()
                                                   : m_subject.observedValues()),
                                   m_subject.observedViews());
        if (!plan)
            return m_run.failure(Kind::ModelError, plan.error());
        m_plan = *plan;
        return {};
    }

    /// The run on one device comes after the other, and what that gave is kept. Each process of
    /// several looks at what those on its host need.
    RunStep checkMemory() {
        m_need = predictMemory(*m_plan, m_execution.sharesWeights(*m_plan));
        const RunProcesses* processes = m_run.processes;
        std::int64_t own = processes ? m_need.ofDevice(processes->rank()) : m_need.total();
        std::int64_t most = processes ? own * processesOnThisHost() : own;
        if (m_run.request.verify != VerifyMode::None && !m_run.isFollower())
            if (auto reference = m_verification.lowerReference()) {
                own = std::max(own, predictMemory(**reference, false).total());
                most = std::max(most, own);
            }
        m_report.predictedBytes = residentMemory() + own;
        const auto available = m_run.hooks.availableMemory
                                   ? std::optional<std::int64_t>(m_run.hooks.availableMemory())
                                   : availableMemory();
        m_report.availableBytes = available.value_or(0);
        if (!available || most <= *available || m_run.request.ignoreMemory)
            return {};
        return RunFailure{Kind::Memory,
                          "it needs about " + std::to_string(most) + " bytes of memory, and " +
                              std::to_string(*available) + " are available; nothing was started",
                          m_run.request.modelPath, most, *available};
    }

    RunStep runSharded() {
        auto result = m_execution.sharded(*m_plan, true);
        if (!result)
            return m_run.failure(Kind::Failed, result.error());
        m_result = std::move(*result);
        if (auto failed = reportProcesses())
            return failed;
        if (m_run.isFollower())
            return {};
        if (m_result.firstKernel != Clock::time_point::max())
            m_report.startMs =
                std::chrono::duration<double, std::milli>(m_result.firstKernel - m_begin).count();
        if (auto failed = cutWeights())
            return failed;
        reportRun();
        observeRun();
        emitTimings();
        return {};
    }

    RunStep cutWeights() {
        for (const ObservedTensor& weight : m_subject.observedWeights()) {
            auto pieces =
                observedWeight(m_subject.analysis(), weight.value, weight.layout.get(),
                               std::filesystem::path(m_run.request.modelPath).parent_path());
            if (!pieces)
                return m_run.failure(Kind::Usage, pieces.error());
            pieces->name = weight.name;
            m_weightPieces.push_back(std::move(*pieces));
        }
        return {};
    }

    void reportRun() {
        const Analysis& analysis = m_subject.analysis();
        m_report.kernels = m_execution.kernels();
        m_report.wallMs = m_result.wallMs;
        m_report.passesMs = m_result.passesMs;
        m_report.predicted = totalsOf(m_plan->predicted);
        m_report.executed = totalsOf(m_result.executed);
        m_report.bindings = {analysis.shapes->usedBindings().begin(),
                             analysis.shapes->usedBindings().end()};
        m_report.transport = m_execution.transport();
        m_report.configuration = analysis.hasConfiguration ? analysis.configuration.name : "";
        m_report.mesh = analysis.hasConfiguration ? m_subject.mesh().text() : "";
        m_report.seed = m_run.request.seed;
        m_report.randomInputs = m_subject.hasRandomInputs();
        for (const DeviceTiming& device : m_result.devices)
            m_report.devices.push_back(
                timingOf(device, m_need.devices[static_cast<std::size_t>(device.device)]));
        for (const RunResult::Output& output : m_result.outputs)
            m_report.outputs.emplace_back().name = output.name;
    }

    void observeRun() {
        const HardwareProfile* hardware = m_subject.hardware();
        m_report.collectives = collectiveTimings(*m_plan, m_subject.graph(), m_subject.mesh(),
                                                 m_result.spans, hardware);
        m_report.hardware = hardware ? hardware->name : std::string();
    }

    /// What each process alone knows, its memory and the times of its kernels: process 0 gets those
    /// of all.
    RunStep reportProcesses() {
        m_report.peakResidentBytes = peakResidentMemory();
        std::vector<std::string> problems;
        if (const ProfileFolder* profiles = m_execution.profiles())
            m_report.operators = operatorTimes(profiles->path(), *m_plan, m_subject.graph(),
                                               m_run.request.warmups, problems);
        std::string events;
        for (const std::string& problem : problems) {
            const RunLog log{"a profile cannot be read: " + problem};
            if (m_run.isFollower())
                events += encodeEvent(log);
            else
                m_run.sink(log);
        }
        if (!m_run.processes)
            return {};
        if (m_run.isFollower())
            events += encodeEvent(m_report);
        auto parts = m_run.processes->gather(std::move(events));
        if (!parts)
            return m_run.failure(Kind::Failed, parts.error());
        for (const std::string& part : *parts) {
            const auto told = EventParser().feed(part);
            if (!told)
                return m_run.failure(Kind::Failed, told.error());
            for (const RunEvent& event : *told)
                if (const auto* report = std::get_if<RunReport>(&event))
                    addProcess(*report);
                else
                    m_run.sink(event);
        }
        return {};
    }

    /// Of memory, what the process says that had most.
    void addProcess(const RunReport& process) {
        m_report.operators.insert(m_report.operators.end(), process.operators.begin(),
                                  process.operators.end());
        if (process.peakResidentBytes <= m_report.peakResidentBytes)
            return;
        m_report.peakResidentBytes = process.peakResidentBytes;
        m_report.predictedBytes = process.predictedBytes;
        m_report.availableBytes = process.availableBytes;
    }

    void emitTimings() const {
        for (const RunDeviceTiming& device : m_report.devices)
            m_run.sink(device);
        // Those of this process were told when they happened.
        for (const Span& span : m_result.spans)
            if (m_run.processes && span.device != m_run.processes->rank())
                if (auto event = eventOf(span, *m_plan, m_subject.graph()))
                    m_run.sink(*event);
        for (const RunResult::Output* tensor : wantedTensors())
            for (const RunResult::Piece& piece : tensor->pieces)
                m_run.sink(
                    describeShard(*tensor, piece, isOutput(tensor), m_run.request.maxShardValues));
    }

    bool isOutput(const RunResult::Output* tensor) const {
        return tensor >= m_result.outputs.data() &&
               tensor < m_result.outputs.data() + m_result.outputs.size();
    }

    /// Outputs, and what was asked for among inputs and observed values.
    std::vector<const RunResult::Output*> wantedTensors() const {
        std::vector<const RunResult::Output*> wanted;
        for (const RunResult::Output& output : m_result.outputs)
            wanted.push_back(&output);
        for (const auto* tensors : {&m_result.inputs, &m_result.observed})
            for (const RunResult::Output& tensor : *tensors)
                if (m_subject.isObserved(tensor))
                    wanted.push_back(&tensor);
        for (const RunResult::Output& weight : m_weightPieces)
            wanted.push_back(&weight);
        return wanted;
    }

    RunStep verify() {
        if (m_run.request.verify == VerifyMode::None || m_run.isFollower())
            return {};
        return m_verification.verify(
            *m_plan, m_result, [this] { return repeatWithAll(); }, m_report);
    }

    Result<RunResult> repeatWithAll() {
        auto plan = lower(m_subject.analysis(), planOptions(m_subject.allValues()));
        if (!plan)
            return plan.error();
        if (m_run.processes && !m_run.isFollower())
            if (auto told = m_run.processes->broadcast(kAgain); !told)
                return told.error();
        return m_execution.sharded(**plan, false);
    }

    RunStep save() {
        const RunRequest& request = m_run.request;
        if ((request.tracePath.empty() && request.saveShardsFolder.empty()) || m_run.isFollower())
            return {};
        m_run.stage(RunStage::Save);
        if (!request.tracePath.empty())
            if (auto written = writeTrace(request.tracePath, *m_plan, m_subject.graph(), m_result);
                !written)
                return m_run.failure(Kind::Usage, written.error());
        if (!request.saveShardsFolder.empty())
            if (auto written =
                    saveShards(request.saveShardsFolder, wantedTensors(), *m_subject.strings());
                !written)
                return m_run.failure(Kind::Usage, written.error());
        return {};
    }

    /// The others wait for what process 0 wants next, until it needs them no more.
    RunStep release() {
        if (!m_run.processes)
            return {};
        while (true) {
            auto word = m_run.processes->broadcast(kEnd);
            if (!word)
                return m_run.failure(Kind::Failed, word.error());
            if (*word == kEnd)
                return {};
            if (auto result = repeatWithAll(); !result)
                return m_run.failure(Kind::Failed, result.error());
        }
    }

    using Clock = std::chrono::steady_clock;
    const Clock::time_point m_begin = Clock::now();
    const RunContext& m_run;
    RunSubject m_subject{m_run};
    RunExecution m_execution{m_run, m_subject};
    RunVerification m_verification{m_run, m_subject, m_execution};
    std::shared_ptr<const Plan> m_plan;
    MemoryNeed m_need;
    RunResult m_result;
    std::vector<RunResult::Output> m_weightPieces;
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
    const RunContext run{request, sink, cancel, hooks, processes};
    RunOutcome outcome = Job(run).run();
    std::visit([&](const auto& end) { sink(end); }, outcome);
    return outcome;
}

}  // namespace shardwright
