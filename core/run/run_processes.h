// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/communicator.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shardwright {

/// The processes of one run, one a device, as each of them sees them. Process 0 has the request and
/// gives the report. All of them make the same calls in the same order.
class RunProcesses {
public:
    virtual ~RunProcesses() = default;
    virtual int rank() const = 0;  ///< The device that this process runs.
    virtual int size() const = 0;
    /// "Open MPI v4.1.4"
    virtual std::string name() const = 0;

    /// Process 0's bytes, on all. Error: another process failed (its message).
    virtual Result<std::string> broadcast(std::string bytes) = 0;
    /// Everybody's bytes by rank, on process 0; nothing on the others.
    virtual Result<std::vector<std::string>> gather(std::string bytes) = 0;
    /// This device's end of connections between all; of several, one is used at a time.
    virtual std::unique_ptr<Communicator> communicator() = 0;
    /// As Communicator::poison; from any thread.
    virtual void poison(const std::string& reason) = 0;
    /// Something short (up to 1900 bytes) for process 0, which need not wait for it. From any
    /// thread.
    virtual void tell(std::string bytes) = 0;
    /// What the others have told process 0 since the last time.
    virtual std::vector<std::string> told() = 0;
    /// From now on, a process that gives no sign of life for so long (seconds; 0: never) counts as
    /// hung: the run fails with that as its reason. Whoever is in a call that cannot be given up is
    /// asked to end by `giveUp`, from a thread of its own.
    virtual void watchOthers(double seconds, std::function<void(const std::string&)> giveUp) = 0;
};

}  // namespace shardwright
