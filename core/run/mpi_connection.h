// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/result.h"
#include "run/mpi_library.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace shardwright {

/// Connections that can fail: what all communicators of a process share.
class MpiConnection {
public:
    MpiConnection(MpiLibrary& mpi, int count);

    /// Waits until what was started on `group` is complete.
    Result<void> wait(MpiGroup& group);

    /// All processes give up what they wait for, and say why. The first reason counts.
    void poison(const std::string& why);

    // A note begins with what it is.
    static constexpr char kFailed = 'f', kAlive = 'a', kTold = 't';

    /// Reads what the others have sent beside the data.
    void takeNotes();

    /// Bytes of the others' kTold since the last call.
    std::vector<std::string> told() {
        const std::lock_guard lock(m_mutex);
        return std::exchange(m_told, {});
    }

    /// `seconds` have gone by. The first process whose silence is longer than the limit; the first
    /// one is waited for a little longer, so that it is the one to report.
    std::optional<int> silent(double seconds, double limit);

    Result<void> alive() {
        return m_poisoned.load(std::memory_order_acquire) ? Result<void>(reason()) : Result<void>();
    }

    MpiLibrary& library;
    std::unique_ptr<MpiGroup> all;
    int count() const { return m_count; }

private:
    bool fail(const std::string& why) {
        const std::lock_guard lock(m_mutex);
        return failLocked(why);
    }
    bool failLocked(const std::string& why);
    Error reason() {
        const std::lock_guard lock(m_mutex);
        return Error{m_reason, {}};
    }

    const int m_count, m_spins;
    std::mutex m_mutex;
    std::atomic<bool> m_poisoned{false};
    std::string m_reason;
    std::vector<std::string> m_told;
    std::vector<double> m_silence;  ///< Seconds, by rank.
};

/// Says every half second that this process is alive, and listens whether the others are. The first
/// process hears all, and all hear the first. A thread of its own does it: whoever runs a long
/// kernel, loads a model or waits for others is alive.
class MpiPulse {
public:
    explicit MpiPulse(std::shared_ptr<MpiConnection> connection)
        : m_connection(std::move(connection)), m_thread([this] { beat(); }) {}
    ~MpiPulse();

    /// `giveUp` is called with the reason where this process cannot end by itself some seconds
    /// after another one was silent for `seconds`.
    void watch(double seconds, std::function<void(const std::string&)> giveUp);

private:
    void beat();
    void say();

    const std::shared_ptr<MpiConnection> m_connection;
    std::mutex m_mutex;
    std::condition_variable m_changed;
    bool m_ended = false;
    double m_limit = 0;
    std::function<void(const std::string&)> m_giveUp;
    std::thread m_thread;
};

}  // namespace shardwright
