// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/communicator.h"
#include "run/mpi_connection.h"

namespace shardwright {

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
std::unique_ptr<Communicator> makeMpiCommunicator(std::shared_ptr<MpiConnection> connection,
                                                  std::size_t small);

}  // namespace shardwright
