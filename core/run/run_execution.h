// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/gpus.h"
#include "run/operator_profile.h"
#include "run/ort_engine.h"
#include "run/run_subject.h"

#include <memory>
#include <string>

namespace shardwright {

/// Executes the plans of one run: with the kernels, devices and processes that the request names.
class RunExecution {
public:
    RunExecution(const RunContext& run, const RunSubject& subject)
        : m_run(run), m_subject(subject) {}

    RunStep loadKernels();

    /// The run that was asked for, on all processes. `measured`: with warm-up passes and repeats,
    /// and told as it happens; else one pass. Process 0 gets what all have.
    Result<RunResult> sharded(const Plan& plan, bool measured);
    /// On one device, by this process alone.
    Result<RunResult> reference(const Plan& plan, bool measured);

    /// A process that runs one device has no other to share with; what is shared is in host memory.
    bool sharesWeights(const Plan& plan) const {
        return !m_run.processes && !m_gpus && plan.deviceCount > 1;
    }
    /// For further plans on one device.
    const RunOptions& options() const { return m_options; }
    std::string kernels() const;    ///< "ONNX Runtime 1.32.0, CPU"
    std::string transport() const;  ///< "threads", "Open MPI v4.1.4"
    const ProfileFolder* profiles() const { return m_profiles.get(); }  ///< Null: not asked for.

private:
    bool optimises() const;
    RunStep useGpus();
    std::unique_ptr<KernelEngine> engineOf(DeviceId device, const OrtEngineOptions& options) const;
    RunOptions optionsFor(const Plan& plan, bool measured, RunStage stage) const;
    void observe(RunOptions& options, const Plan& plan) const;
    Result<RunResult> gathered(RunResult own);

    const RunContext& m_run;
    const RunSubject& m_subject;
    std::shared_ptr<const OrtRuntime> m_runtime;
    OrtEngineOptions m_engine;
    RunOptions m_options;
    std::shared_ptr<Gpus> m_gpus;
    std::unique_ptr<ProfileFolder> m_profiles;
};

}  // namespace shardwright
