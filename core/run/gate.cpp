// SPDX-License-Identifier: Apache-2.0
#include "run/gate.h"

#include <chrono>
#include <thread>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace shardwright {

namespace {

void relax() {
#if defined(__x86_64__) || defined(__i386__)
    _mm_pause();
#endif
}

}  // namespace

std::uint32_t Gate::arrive() {
    std::uint32_t round = m_round.load(std::memory_order_acquire);
    if (round & kPoisoned)
        return round;
    if (m_arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == m_threads) {
        m_arrived.store(0, std::memory_order_relaxed);
        // Fails only if it was poisoned in the meantime: then nobody passes.
        std::uint32_t expected = round;
        m_round.compare_exchange_strong(expected, round + kRound, std::memory_order_acq_rel);
        m_round.notify_all();
    }
    return round;
}

bool Gate::await(std::uint32_t round, const WaitPolicy& policy) {
    if (round & kPoisoned)
        return false;
    const auto opened = [&](std::uint32_t now) { return (now | kPoisoned) != (round | kPoisoned); };
    std::uint32_t now = m_round.load(std::memory_order_acquire);
    for (int i = 0; now == round && i < policy.spins; ++i) {
        relax();
        now = m_round.load(std::memory_order_acquire);
    }
    // On a busy machine a yield costs a time slice of somebody else, and a sleeper is woken sooner.
    using Clock = std::chrono::steady_clock;
    const auto yieldUntil = Clock::now() + std::chrono::microseconds(policy.yieldMicroseconds);
    while (now == round && Clock::now() < yieldUntil) {
        std::this_thread::yield();
        now = m_round.load(std::memory_order_acquire);
    }
    while (now == round) {
        m_round.wait(round, std::memory_order_acquire);
        now = m_round.load(std::memory_order_acquire);
    }
    return opened(now);
}

void Gate::poison() {
    m_round.fetch_or(kPoisoned, std::memory_order_acq_rel);
    m_round.notify_all();
}

}  // namespace shardwright
