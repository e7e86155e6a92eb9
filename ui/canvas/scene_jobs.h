// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/cancel.h"

#include <QObject>
#include <QThreadPool>

#include <array>
#include <functional>
#include <memory>

namespace shardwright {

/// Work of a canvas outside of the GUI thread. A new job of a kind cancels the one before; results
/// of cancelled jobs are dropped. Deleting it cancels everything and waits for the threads.
class SceneJobs : public QObject {
    Q_OBJECT

public:
    enum class Kind { Place, Marks, Count };

    explicit SceneJobs(QObject* parent = nullptr);
    ~SceneJobs() override;

    /// Runs `work` in a thread and then `done` with its result on this one, unless cancelled.
    template <class Work, class Done>
    void start(Kind kind, Work work, Done done) {
        const CancelToken token = renew(kind);
        const int id = m_ids[static_cast<std::size_t>(kind)];
        m_pool.start(
            [this, kind, id, token, work = std::move(work), done = std::move(done)]() mutable {
                if (token.cancelled())
                    return;
                auto result = std::make_shared<decltype(work(token))>(work(token));
                if (token.cancelled())
                    return;
                // Posted to this object: gone with it.
                QMetaObject::invokeMethod(
                    this,
                    [this, kind, id, result, done = std::move(done)]() mutable {
                        if (finish(kind, id))
                            done(std::move(*result));
                    },
                    Qt::QueuedConnection);
            });
    }
    void cancel(Kind kind);
    bool running(Kind kind) const { return m_running[static_cast<std::size_t>(kind)]; }

private:
    static constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::Count);
    CancelToken renew(Kind kind);
    bool finish(Kind kind, int id);

    QThreadPool m_pool;
    std::array<CancelToken, kKinds> m_tokens;
    std::array<int, kKinds> m_ids{};
    std::array<bool, kKinds> m_running{};
};

}  // namespace shardwright
