// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/cancel.h"
#include "run/run_events.h"

#include <filesystem>
#include <functional>
#include <variant>

namespace shardwright {

struct WorkerOptions {
    std::filesystem::path program;  ///< Empty: findWorker().
    double cancelGraceSeconds =
        2.0;  ///< After a cancel or the time limit the worker may end by itself for so long.
    std::vector<std::string> mpiOptions = {};  ///< For mpirun: {"--hostfile", "hosts"}.
};

/// `shardwright-worker` beside the calling program. Error: it is not there.
Result<std::filesystem::path> findWorker();

/// Runs a request in a process of its own and passes its events on, in this thread. A worker that
/// crashes, is killed, says nothing sensible or outlives its time limit becomes a failure, with
/// words for what happened; the caller is not hurt. A request for MPI becomes one process a device,
/// started by mpirun; none of them outlives the call.
std::variant<RunReport, RunFailure> runInWorker(const RunRequest& request,
                                                const std::function<void(const RunEvent&)>& sink,
                                                const CancelToken& cancel = {},
                                                const WorkerOptions& options = {});

/// What the end of a worker process means, from waitpid's status: "was killed, probably for lack of
/// memory", ... Empty for an ordinary exit (codes 0 to 2).
std::string describeEnd(int waitStatus);

}  // namespace shardwright
