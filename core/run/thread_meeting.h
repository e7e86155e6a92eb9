// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/communicator.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardwright {

/// How long a waiting thread stays awake.
struct WaitPolicy {
    int spins = 0;
    int yields = 0;
};

/// A reusable barrier that can be poisoned. Either all threads pass a round, or none.
class Gate {
public:
    explicit Gate(int threads) : m_threads(static_cast<std::uint32_t>(threads)) {}
    /// False: poisoned before all were here.
    bool pass(const WaitPolicy& policy);
    void poison();

private:
    static constexpr std::uint32_t kPoisoned = 1, kRound = 2;
    const std::uint32_t m_threads;
    alignas(64) std::atomic<std::uint32_t> m_arrived{0};
    alignas(64) std::atomic<std::uint32_t> m_round{0};  ///< Rounds in steps of 2; the lowest bit: poisoned.
};

/// Where the threads of one group of devices show each other their calls. Two sets of places are used in turn, so that a
/// thread may begin the next call while others still read the last one.
struct Meeting {
    static constexpr std::size_t kScratch = 16 * 1024;
    struct alignas(64) Place {
        CollectiveCall call;
        std::vector<std::byte> scratch;  ///< A copy of a small all-reduce's tensor.
    };

    Meeting(DeviceGroup group)
        : devices(std::move(group)), enter(static_cast<int>(devices.size())), leave(static_cast<int>(devices.size())),
          places{std::vector<Place>(devices.size()), std::vector<Place>(devices.size())} {}

    const DeviceGroup devices;
    Gate enter;
    Gate leave;  ///< Never poisoned: all who entered only copy memory, and are waited for.
    std::array<std::vector<Place>, 2> places;
};

/// Whether the calls of all devices of a group fit together; the message says which do not. All devices find the same.
Result<void> checkCalls(const std::vector<Meeting::Place>& places, const DeviceGroup& devices);
/// Does the part of device number `rank`. Between the gates.
void moveData(const std::vector<Meeting::Place>& places, const DeviceGroup& devices, std::size_t rank);

}  // namespace shardwright
