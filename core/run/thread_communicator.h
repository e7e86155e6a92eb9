// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/communicator.h"
#include "run/data_mover.h"

#include <functional>

#include <memory>
#include <vector>

namespace shardwright {

struct ThreadCommunicatorOptions {
    /// Cores that the threads share; 0: those of this machine. With more threads than cores nobody
    /// spins.
    int cores = 0;
    /// Up to this size every thread joins all of an all-reduce by itself; above, one chunk a
    /// thread.
    std::size_t smallAllReduce = 16 * 1024;
    /// Of each device; empty: host memory.
    std::function<std::unique_ptr<DataMover>(DeviceId)> makeMover = {};
};

/// Connects devices 0 .. count-1, each of them one thread of this process, through its memory.
/// Waiting threads spin for a few microseconds (only if each has a core), then yield, then sleep on
/// a futex.
///
/// After a poison, a call that all devices of the group have entered is still completed by all of
/// them, any other fails on all of them; so no thread ever reads the buffers of one that has
/// already given up.
std::vector<std::unique_ptr<Communicator>>
makeThreadCommunicators(int count, const ThreadCommunicatorOptions& options = {});

}  // namespace shardwright
