// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/communicator.h"
#include "run/gate.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shardwright {

/// Where the threads of one group of devices show each other a bucket of calls. Two sets of places
/// are used in turn, so that a thread may begin the next bucket while others still read the last
/// one.
struct Meeting {
    static constexpr std::size_t kScratch = 16 * 1024;
    struct alignas(64) Place {
        std::vector<CollectiveCall> calls;
        /// All of them are small all-reduces, whose tensors are copied into `scratch`: nobody reads
        /// this device's buffers.
        bool small = false;
        std::vector<std::byte> scratch;
    };

    Meeting(DeviceGroup group)
        : devices(std::move(group)), enter(static_cast<int>(devices.size())),
          leave(static_cast<int>(devices.size())), places{std::vector<Place>(devices.size()),
                                                          std::vector<Place>(devices.size())} {}

    const DeviceGroup devices;
    Gate enter;
    Gate leave;  ///< Never poisoned: all who entered only copy memory, and are waited for.
    std::array<std::vector<Place>, 2> places;
};

/// What each device of a group wants of one group operation, in the order of the devices.
using Calls = std::span<const CollectiveCall* const>;

/// Whether the calls of all devices of a group fit together, all with buffers in `memory`; the
/// message says which do not. All devices find the same.
Result<void> checkCalls(Calls calls, const DeviceGroup& devices,
                        MemoryKind memory = MemoryKind::Host);

/// Copying and joining in one kind of memory.
class MemoryOperations {
public:
    virtual ~MemoryOperations() = default;
    virtual void copy(std::byte* target, const std::byte* source, std::size_t bytes) = 0;
    /// As reduceElements().
    virtual void join(ReduceKind kind, std::int32_t type, std::span<const std::byte* const> inputs,
                      std::span<std::byte* const> outputs, std::int64_t count) = 0;
};

/// Does the part of device number `rank`, whose threads see each other's memory. Between the gates.
void moveData(Calls calls, const DeviceGroup& devices, std::size_t rank, MemoryOperations& memory);

}  // namespace shardwright
