// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/mpi_library.h"
#include "run/run_processes.h"

namespace shardwright {

/// The plug-in, initialised. Errors: it is not there, its libraries cannot be loaded, MPI refuses.
Result<MpiLibrary*> loadMpi();

/// Connects the first `count` processes, device d being rank d (0: all processes). They all call
/// it, and the library outlives it. An all-reduce above `small` bytes is made in chunks.
std::unique_ptr<RunProcesses> connectMpi(MpiLibrary& library, int count = 0,
                                         std::size_t small = 16 * 1024);

}  // namespace shardwright
