// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/run_execution.h"
#include "run/run_subject.h"
#include "run/tolerances.h"

#include <functional>
#include <map>
#include <memory>
#include <set>

namespace shardwright {

/// Compares a run with that of the unannotated model on one device, and names the first tensor that
/// is wrong.
class RunVerification {
public:
    RunVerification(const RunContext& run, const RunSubject& subject, RunExecution& execution)
        : m_run(run), m_subject(subject), m_execution(execution) {}

    /// The model for one device, with as many tensors as the request wants compared.
    Result<std::shared_ptr<const Plan>> lowerReference() {
        return lowerReference(m_run.request.verify == VerifyMode::All);
    }

    /// Runs the reference and fills the report in: outputs (and all tensors), the first divergent
    /// one, whether the run is verified. Where an output differs, `repeatWithAll` runs the sharded
    /// model once more with all tensors.
    RunStep verify(const Plan& plan, const RunResult& result,
                   const std::function<Result<RunResult>()>& repeatWithAll, RunReport& report);

private:
    Result<std::shared_ptr<const Plan>> lowerReference(bool all);
    /// `measured`: with as many passes as the sharded run that it is compared with; random numbers
    /// are others in each.
    RunStep runReference(bool all, bool measured, RunResult& reference, RunReport& report);
    RunTensorCheck checked(const RunResult::Output& sharded,
                           const std::vector<RunResult::Output>& references) const;
    std::vector<RunTensorCheck> compareAll(const Plan& plan, const RunResult& sharded,
                                           const RunResult& reference, const RunOptions& options,
                                           RunReport& report);
    std::set<ValueId> rightNodes(const RunResult& sharded, const std::vector<ValueId>& differing,
                                 const RunOptions& options);
    void traceWrong(const std::vector<ValueId>& values, const std::set<ValueId>& wrong);
    void explain(RunTensorCheck& check, ValueId value) const;

    const RunContext& m_run;
    const RunSubject& m_subject;
    RunExecution& m_execution;
    std::optional<Tolerances> m_tolerances;
    std::map<ValueId, double> m_right;  ///< They differ so much, and their nodes are right.
    /// The first wrong tensor that a value is computed from (of a wrong one, possibly itself).
    std::map<ValueId, ValueId> m_origin;
    std::shared_ptr<const Plan> m_reference;
    bool m_referenceHasAll = false;
};

}  // namespace shardwright
