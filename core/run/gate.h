// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace shardwright {

/// How long a waiting thread stays awake.
struct WaitPolicy {
    int spins = 0;
    int yieldMicroseconds = 0;
};

/// A reusable barrier that can be poisoned. Either all threads pass a round, or none.
class Gate {
public:
    explicit Gate(int threads) : m_threads(static_cast<std::uint32_t>(threads)) {}
    /// False: poisoned before all were here.
    bool pass(const WaitPolicy& policy) { return await(arrive(), policy); }
    /// The two halves of pass(): a thread that has arrived may do something else before it awaits
    /// the others. Gives the round, for await().
    std::uint32_t arrive();
    bool await(std::uint32_t round, const WaitPolicy& policy);
    void poison();

private:
    static constexpr std::uint32_t kPoisoned = 1, kRound = 2;
    const std::uint32_t m_threads;
    alignas(64) std::atomic<std::uint32_t> m_arrived{0};
    alignas(64) std::atomic<std::uint32_t> m_round{
        0};  ///< Rounds in steps of 2; the lowest bit: poisoned.
};

}  // namespace shardwright
