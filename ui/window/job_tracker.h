// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/cancel.h"

#include <QObject>
#include <QThreadPool>

#include <array>
#include <functional>
#include <memory>

namespace shardwright {

/// Runs jobs outside the GUI thread. Of each kind one job counts: a new one cancels the one before,
/// whose result is dropped even if it arrives. Jobs of a kind run one after the other, so that they
/// may share a cache.
class JobTracker : public QObject {
    Q_OBJECT

public:
    enum class Kind {
        Open,
        Save,
        Analysis,
        Search,
        Recovery,
        Export,
        Annotations,
        Rules,
        Run,
        Proposals,
        ProposalSearch,
        Count
    };

    explicit JobTracker(QObject* parent = nullptr);
    /// Cancels everything and waits.
    ~JobTracker() override;

    /// `work` runs in a thread with nothing but what it captured by value; `done` gets its result
    /// in the GUI thread.
    template <class T>
    void start(Kind kind, std::function<T(const CancelToken&)> work, std::function<void(T)> done) {
        run(kind, [work = std::move(work), done = std::move(done)](const CancelToken& token) {
            // Shared, because std::function wants copies and a result may be large or not copyable.
            auto result = std::make_shared<T>(work(token));
            return std::function<void()>([result, done] { done(std::move(*result)); });
        });
    }

    void cancel(Kind kind);
    bool isRunning(Kind kind) const { return slot(kind).running; }

signals:
    void runningChanged(shardwright::JobTracker::Kind kind, bool running);

private:
    using Delivery = std::function<void()>;
    struct Slot {
        QThreadPool pool;
        CancelToken token;
        quint64 id = 0;
        bool running = false;
    };
    void run(Kind kind, std::function<Delivery(const CancelToken&)> job);
    void finished(Kind kind, quint64 id, const Delivery& deliver);
    Slot& slot(Kind kind) { return *m_slots[static_cast<std::size_t>(kind)]; }
    const Slot& slot(Kind kind) const { return *m_slots[static_cast<std::size_t>(kind)]; }

    std::array<std::unique_ptr<Slot>, static_cast<std::size_t>(Kind::Count)> m_slots;
};

}  // namespace shardwright
