// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

// What the runner needs of MPI, as the plug-in libshardwright-mpi.so offers it: the only file that
// sees mpi.h is core/run/mpi/mpi_library.cpp. Data and time only; what a collective means, checks
// and counts is in mpi_communicator.cpp. An error inside of MPI ends all processes, with MPI's own
// words on standard error.

namespace shardwright {

/// A communicator of MPI. All functions but finished() start an operation; what they were given
/// must stay until finished(). Blocks lie one after the other, `counts` are their bytes, by rank.
class MpiGroup {
public:
    using Counts = std::span<const std::size_t>;

    virtual ~MpiGroup() = default;
    virtual void barrier() = 0;
    virtual void broadcast(std::byte* data, std::size_t bytes, int root) = 0;
    /// `send` may be this rank's own block in `receive`.
    virtual void allGather(const std::byte* send, std::byte* receive, Counts counts) = 0;
    virtual void allToAll(const std::byte* send, Counts sendCounts, std::byte* receive,
                          Counts receiveCounts) = 0;
    /// Messages between two ranks arrive in order.
    virtual void send(const std::byte* data, std::size_t bytes, int to) = 0;
    virtual void receive(std::byte* data, std::size_t bytes, int from) = 0;
    /// Whether all that was started is complete; makes progress.
    virtual bool finished() = 0;

    /// A note of at most 2000 bytes to another rank, which need not wait for it. From any thread.
    virtual void sendNote(int rank, std::string_view text) = 0;
    struct Note {
        int from = -1;
        std::string text;
    };
    virtual std::optional<Note> takeNote() = 0;
};

class MpiLibrary {
public:
    virtual ~MpiLibrary() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    /// "Open MPI 4.1.4"
    virtual std::string version() const = 0;
    /// A communicator of these ranks, ascending. All of them call it, and it returns when all have.
    virtual std::unique_ptr<MpiGroup> group(std::span<const int> ranks) = 0;
    /// All processes call it, last of all.
    virtual void finish() = 0;

    /// MPI counts in int: what has more bytes than this goes as several messages.
    std::size_t largestMessage = std::size_t{1} << 30;
};

/// The plug-in's function `shardwrightMpi`: initialises MPI, once. Null: `error` says why not.
using MpiEntry = MpiLibrary*(std::string& error);

}  // namespace shardwright
