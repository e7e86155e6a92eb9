// SPDX-License-Identifier: Apache-2.0
#include "run/mpi_connection.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

#include <unistd.h>

namespace shardwright {

namespace {

constexpr double kBeat = 0.5, kLastWords = 5;  // Seconds.

int coreCount() {
    return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

MpiConnection::MpiConnection(MpiLibrary& mpi, int count)
    : library(mpi), m_count(count), m_spins(count <= coreCount() ? 2000 : 0) {
    std::vector<int> ranks(static_cast<std::size_t>(count));
    std::iota(ranks.begin(), ranks.end(), 0);
    m_silence.resize(ranks.size());
    all = library.group(ranks);
}

Result<void> MpiConnection::wait(MpiGroup& group) {
    using Clock = std::chrono::steady_clock;
    Clock::time_point yieldUntil;
    for (int i = 0; !group.finished(); ++i) {
        if (i % 8 == 0)
            takeNotes();
        if (m_poisoned.load(std::memory_order_acquire))
            return reason();
        if (i < m_spins)
            continue;
        const auto now = Clock::now();
        if (i == m_spins)
            yieldUntil = now + std::chrono::microseconds(500);
        if (now < yieldUntil)
            std::this_thread::yield();
        else  // What takes long need not be noticed at once.
            usleep(now < yieldUntil + std::chrono::milliseconds(20) ? 50 : 500);
    }
    return {};
}

void MpiConnection::poison(const std::string& why) {
    if (!fail(why))
        return;
    for (int rank = 0; rank < m_count; ++rank)
        if (rank != library.rank())
            all->sendNote(rank, kFailed + why);
}

void MpiConnection::takeNotes() {
    while (auto note = all->takeNote()) {
        const std::lock_guard lock(m_mutex);
        const char kind = note->text.empty() ? kAlive : note->text.front();
        if (kind == kTold)
            m_told.push_back(note->text.substr(1));
        else if (kind == kFailed)
            failLocked(note->text.substr(1));
        if (note->from >= 0 && note->from < m_count)
            m_silence[static_cast<std::size_t>(note->from)] = 0;
    }
}

std::optional<int> MpiConnection::silent(double seconds, double limit) {
    const std::lock_guard lock(m_mutex);
    for (int rank = 0; rank < m_count; ++rank) {
        double& silence = m_silence[static_cast<std::size_t>(rank)];
        const bool watched = rank != library.rank() && (rank == 0 || library.rank() == 0);
        silence = watched ? silence + seconds : 0;
        if (limit > 0 && silence > limit + (rank == 0 ? 5 : 0))
            return rank;
    }
    return std::nullopt;
}

bool MpiConnection::failLocked(const std::string& why) {
    if (m_poisoned.load(std::memory_order_relaxed))
        return false;
    m_reason = why;
    m_poisoned.store(true, std::memory_order_release);
    return true;
}

MpiPulse::~MpiPulse() {
    {
        const std::lock_guard lock(m_mutex);
        m_ended = true;
    }
    m_changed.notify_all();
    m_thread.join();
}

void MpiPulse::watch(double seconds, std::function<void(const std::string&)> giveUp) {
    const std::lock_guard lock(m_mutex);
    m_limit = seconds;
    m_giveUp = std::move(giveUp);
}

void MpiPulse::beat() {
    using Clock = std::chrono::steady_clock;
    auto last = Clock::now();
    double sinceFailed = -1;
    std::string reason;
    std::unique_lock lock(m_mutex);
    while (
        !m_changed.wait_for(lock, std::chrono::duration<double>(kBeat), [&] { return m_ended; })) {
        const auto limit = m_limit;
        const auto giveUp = m_giveUp;
        lock.unlock();
        const auto now = Clock::now();
        // Whoever was stopped himself has heard nothing meanwhile.
        const double seconds =
            std::min(2 * kBeat, std::chrono::duration<double>(now - last).count());
        last = now;
        say();
        m_connection->takeNotes();
        if (sinceFailed >= 0) {
            sinceFailed += seconds;
            if (sinceFailed > kLastWords && giveUp)
                giveUp(reason);
        } else if (const auto rank = m_connection->silent(seconds, limit)) {
            reason = "process " + std::to_string(*rank) +
                     " of the run hangs: it has given no sign of life for " +
                     std::to_string(std::lround(limit)) + " s";
            m_connection->poison(reason);
            sinceFailed = 0;
        }
        lock.lock();
    }
}

void MpiPulse::say() {
    const int own = m_connection->library.rank();
    for (int rank = 0; rank < m_connection->count(); ++rank)
        if (rank != own && (rank == 0 || own == 0))
            m_connection->all->sendNote(rank, std::string(1, MpiConnection::kAlive));
}

}  // namespace shardwright
