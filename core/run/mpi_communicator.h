// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/mpi_library.h"
#include "run/run_processes.h"

namespace shardwright {

/// The plug-in, initialised. Errors: it is not there, its libraries cannot be loaded, MPI refuses.
Result<MpiLibrary*> loadMpi();

/// Connects the first `count` processes, device d being rank d (0: all processes). They all call
/// it, and the library outlives it.
///
/// MPI moves the data (MPI_Ialltoallv, MPI_Iallgatherv, MPI_Ibcast and messages, on one MPI
/// communicator a device group); sums are made here, in the order of the devices, as threads make
/// them, so that both transports give the same bits. MPI_Allreduce would choose the order by size
/// and number of ranks, could round halves at each step, and need not give all ranks the same. An
/// all-reduce above `small` bytes exchanges one chunk a rank, joins it, and gathers the joined
/// chunks: the bytes on the wire are those of a ring.
///
/// Before each call the devices show each other what they are about to do: a mismatch is an error
/// with the same words as between threads, instead of a hang or of wrong data.
///
/// After a poison, waiting calls give up at once, and what they had begun in MPI is left as it is:
/// such a process can only end.
std::unique_ptr<RunProcesses> connectMpi(MpiLibrary& library, int count = 0,
                                         std::size_t small = 16 * 1024);

}  // namespace shardwright
