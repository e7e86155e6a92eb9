// SPDX-License-Identifier: Apache-2.0
#include "run/executor.h"

#include "model/shapes.h"
#include "run/device_runner.h"
#include "run/result_message.h"
#include "run/thread_communicator.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>

namespace shardwright {

namespace {

/// Whether strings are cut or leave a segment.
bool hasStrings(const Plan& plan) {
    return std::any_of(plan.devices.begin(), plan.devices.end(), [](const DeviceProgram& program) {
        return std::any_of(program.tensors.begin(), program.tensors.end(),
                           [](const LocalTensor& local) { return isString(local.elementType); });
    });
}

Result<void> checkInputs(const Plan& plan, const InputSet& inputs) {
    for (const Plan::Port& port : plan.inputs) {
        const auto it = inputs.find(port.name);
        if (it == inputs.end() || !it->second)
            return Error{"no value was given; expected " + elementTypeName(port.elementType) + " " +
                             dimsText(port.shape),
                         "input `" + port.name + "`"};
        const Buffer& found = it->second;
        if (found.elementType() != storedType(port.elementType) || found.dims() != port.shape)
            return Error{"found " + elementTypeName(found.elementType()) + " " +
                             dimsText(found.dims()) + ", expected " +
                             elementTypeName(port.elementType) + " " + dimsText(port.shape),
                         "input `" + port.name + "`"};
    }
    for (const auto& ports : {&plan.inputs, &plan.outputs})
        for (const Plan::Port& port : *ports)
            if (elementBits(storedType(port.elementType)) <= 0)
                return Error{"tensors of type " + elementTypeName(port.elementType) +
                                 " cannot be run",
                             "`" + port.name + "`"};
    return {};
}

class Execution {
public:
    Execution(const Plan& plan, const RunOptions& options) : m_plan(plan), m_options(options) {}

    Result<RunResult> run(const InputSet& inputs, const CancelToken& cancel) {
        makeRunners();
        std::vector<std::thread> threads;
        m_running = m_runners.size();
        for (auto& runner : m_runners)
            threads.emplace_back([this, &runner = *runner, &inputs] {
                auto result = guarded(runner, inputs);
                finish(runner, std::move(result));
            });
        watch(cancel);
        for (std::thread& thread : threads)
            thread.join();
        tellSpans();
        if (m_failed)
            return m_error;
        return collect();
    }

private:
    void makeRunners() {
        const int count = m_plan.deviceCount;
        auto ends = m_options.makeCommunicators ? m_options.makeCommunicators(count)
                                                : makeThreadCommunicators(count);
        for (const DeviceProgram& program : m_plan.devices) {
            const DeviceGroup& own = m_options.devices;
            if (!own.empty() && !std::binary_search(own.begin(), own.end(), program.device))
                continue;
            auto& end = ends[static_cast<std::size_t>(program.device)];
            auto communicator =
                m_options.decorate ? m_options.decorate(std::move(end)) : std::move(end);
            m_runners.push_back(std::make_unique<DeviceRunner>(
                m_plan, program, m_options.makeEngine(program.device), std::move(communicator),
                m_options.strings.get()));
        }
    }

    /// A thread's exception would end the program; of our own code only the lack of memory is one.
    Result<void> guarded(DeviceRunner& runner, const InputSet& inputs) {
        try {
            return work(runner, inputs);
        } catch (const std::bad_alloc&) {
            return Error{"no memory", "a device's thread"};
        }
    }

    Result<void> work(DeviceRunner& runner, const InputSet& inputs) {
        if (auto prepared = runner.prepare(inputs); !prepared)
            return prepared;
        for (int i = 0; i < m_options.warmups + m_options.repeats; ++i) {
            const bool last = i + 1 == m_options.warmups + m_options.repeats;
            if (auto passed = runner.pass(last ? &m_lastPassBegin : nullptr); !passed)
                return passed;
            if (i >= m_options.warmups)
                notePass(static_cast<std::size_t>(i - m_options.warmups), runner.lastPassMs());
        }
        return {};
    }

    /// From the first device that begins to the last that ends: the one that begins first measures
    /// that, since all end together.
    void notePass(std::size_t pass, double ms) {
        const std::lock_guard lock(m_mutex);
        if (m_passesMs.size() <= pass)
            m_passesMs.resize(pass + 1);
        m_passesMs[pass] = std::max(m_passesMs[pass], ms);
    }

    void finish(DeviceRunner& runner, Result<void> result) {
        const std::lock_guard lock(m_mutex);
        // Later errors are the others noticing the first.
        if (!result)
            failLocked(result.error());
        if (!result)
            runner.communicator().poison(m_error.text());
        --m_running;
        m_changed.notify_all();
    }

    void failLocked(const Error& error) {
        if (!m_failed) {
            m_failed = true;
            m_error = error;
        }
    }

    void stop(const Error& error) {
        failLocked(error);
        m_runners.front()->communicator().poison(error.text());
        for (auto& runner : m_runners)
            runner->engine().terminate();
    }

    void watch(const CancelToken& cancel) {
        using Clock = std::chrono::steady_clock;
        const auto begin = Clock::now();
        auto reported = begin;
        std::unique_lock lock(m_mutex);
        while (m_running > 0) {
            m_changed.wait_for(lock, std::chrono::milliseconds(20));
            if (m_options.span) {
                lock.unlock();
                tellSpans();
                lock.lock();
            }
            const auto now = Clock::now();
            if (cancel.cancelled() && !m_failed)
                stop({kCancelled, {}});
            const double seconds = std::chrono::duration<double>(now - begin).count();
            if (m_options.timeLimitSeconds > 0 && seconds > m_options.timeLimitSeconds && !m_failed)
                stop({"the run took longer than its limit of " +
                          std::to_string(m_options.timeLimitSeconds) + " s",
                      whereTheyAre()});
            if (m_options.progress && now - reported > std::chrono::milliseconds(100)) {
                reported = now;
                m_options.progress(shareDone());
                tellMemory();
            }
        }
    }

    /// Those that have ended since the last time.
    void tellSpans() {
        if (!m_options.span)
            return;
        m_told.resize(m_runners.size());
        for (std::size_t i = 0; i < m_runners.size(); ++i)
            for (const auto spans = m_runners[i]->publishedSpans(); m_told[i] < spans.size();)
                m_options.span(spans[m_told[i]++]);
    }
    void tellMemory() const {
        if (m_options.memory)
            for (const auto& runner : m_runners)
                m_options.memory(runner->device(), runner->liveBytes(), runner->peakBytes());
    }

    int passes() const { return m_options.warmups + m_options.repeats; }
    double shareDone() const {
        double done = 0;
        for (const auto& runner : m_runners)
            done += runner->phasesDone();
        return done /
               (static_cast<double>(m_runners.size()) * std::max(1, passes() * m_plan.phases));
    }
    std::string whereTheyAre() const {
        std::string text;
        for (std::size_t i = 0; i < m_runners.size(); ++i)
            text += (i ? ", device " : "device ") +
                    std::to_string(m_runners[i]->communicator().device()) + " in phase " +
                    std::to_string(m_runners[i]->phasesDone() % std::max(1, m_plan.phases));
        return text;
    }

    Result<RunResult> collect() const {
        RunResult result;
        const auto addPorts = [](const std::vector<Plan::Port>& ports,
                                 std::vector<RunResult::Output>& outputs) {
            for (const Plan::Port& port : ports)
                outputs.push_back({port.value, port.name, port.elementType, port.shape, {}});
        };
        addPorts(m_plan.outputs, result.outputs);
        addPorts(m_plan.observed, result.observed);
        addPorts(m_plan.inputs, result.inputs);
        for (const auto& runner : m_runners) {
            if (auto collected = runner->collect(m_plan.outputs, result.outputs); !collected)
                return collected.error();
            if (auto collected = runner->collect(m_plan.observed, result.observed); !collected)
                return collected.error();
            if (auto collected = runner->collect(m_plan.inputs, result.inputs); !collected)
                return collected.error();
            result.devices.push_back(runner->timing());
            result.firstKernel = std::min(result.firstKernel, runner->firstKernel());
            result.spans.insert(result.spans.end(), runner->spans().begin(), runner->spans().end());
            for (const auto& [kind, total] : runner->communicator().executed()) {
                result.executed[kind].count += total.count;
                result.executed[kind].bytes += total.bytes;
            }
        }
        result.passesMs = m_passesMs;
        finishResult(result);
        return result;
    }

    const Plan& m_plan;
    const RunOptions& m_options;
    std::vector<std::unique_ptr<DeviceRunner>> m_runners;
    std::vector<double> m_passesMs;
    std::vector<std::size_t> m_told;  ///< Spans of each runner that m_options.span got.
    std::atomic<std::int64_t> m_lastPassBegin{0};
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::size_t m_running = 0;
    bool m_failed = false;
    Error m_error;
};

}  // namespace

Result<RunResult> execute(const Plan& plan, const RunOptions& options, const InputSet& inputs,
                          const CancelToken& cancel) {
    if (auto fit = checkInputs(plan, inputs); !fit)
        return fit.error();
    if (plan.devices.empty())
        return Error{"the plan has no device", {}};
    if (!options.strings && hasStrings(plan))
        return Error{"tensors of strings are not run here", {}};
    const auto isOwn = [&](const DeviceProgram& program) {
        return std::binary_search(options.devices.begin(), options.devices.end(), program.device);
    };
    if (!options.devices.empty() && std::none_of(plan.devices.begin(), plan.devices.end(), isOwn))
        return Error{"the plan has nothing for the devices of this process", {}};
    return Execution(plan, options).run(inputs, cancel);
}

}  // namespace shardwright
