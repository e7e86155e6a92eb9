// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/communicator.h"

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
};

}  // namespace shardwright
