// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/run_job.h"

#include <optional>

namespace shardwright {

/// What the parts of one run share: who asked for what, and who is told.
struct RunContext {
    const RunRequest& request;
    const EventSink& sink;
    const CancelToken& cancel;
    const RunHooks& hooks;
    RunProcesses* processes = nullptr;  ///< Null: one process runs all devices.

    /// Process 0 reports; the others follow.
    bool isFollower() const { return processes && processes->rank() > 0; }
    void stage(RunStage stage, double share = 0) const { sink(RunProgress{stage, share}); }
    /// Of what was cancelled, that it was.
    RunFailure failure(RunFailure::Kind kind, const Error& error) const {
        const bool cancelled = error.message == kCancelled || cancel.cancelled();
        return {cancelled ? RunFailure::Kind::Cancelled : kind,
                cancelled ? kCancelled : error.message, error.place};
    }
};

/// A part of a run that may end it.
using RunStep = std::optional<RunFailure>;

}  // namespace shardwright
