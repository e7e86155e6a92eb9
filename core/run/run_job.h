// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/cancel.h"
#include "run/executor.h"
#include "run/run_events.h"
#include "run/run_processes.h"

#include <functional>
#include <variant>

namespace shardwright {

/// Called with each event, from one thread at a time.
using EventSink = std::function<void(const RunEvent&)>;

/// What tests put in.
struct RunHooks {
    std::function<std::unique_ptr<Communicator>(std::unique_ptr<Communicator>)> decorate;
    std::function<std::int64_t()> availableMemory;  ///< In bytes; empty: what the system says.
};

/// How a run ended.
using RunOutcome = std::variant<RunReport, RunFailure>;
/// 0: nothing wrong; 1: the model has errors, or is not verified; 2: anything else.
int exitCode(const RunOutcome& outcome);

/// All of a run: loads the model, analyses it, refuses it with its first error, lowers, makes or
/// reads inputs, executes, verifies (and repeats with all tensors to name the first that differs),
/// writes trace and shards. The outcome is also the last event.
///
/// With `processes`, each of them runs one device. All call this with the same request; process 0
/// has the results of all, and the others give events that mean nothing.
RunOutcome runJob(const RunRequest& request, const EventSink& sink, const CancelToken& cancel = {},
                  const RunHooks& hooks = {}, RunProcesses* processes = nullptr);

}  // namespace shardwright
