// SPDX-License-Identifier: Apache-2.0
#include "ui/window/job_tracker.h"

namespace shardwright {

JobTracker::JobTracker(QObject* parent) : QObject(parent) {
    for (auto& slot : m_slots) {
        slot = std::make_unique<Slot>();
        slot->pool.setMaxThreadCount(1);
    }
}

JobTracker::~JobTracker() {
    for (const auto& slot : m_slots)
        slot->token.cancel();
    for (const auto& slot : m_slots)
        slot->pool.waitForDone();
}

void JobTracker::run(Kind kind, std::function<Delivery(const CancelToken&)> job) {
    Slot& slot = this->slot(kind);
    slot.token.cancel();
    slot.token = CancelToken::create();
    const quint64 id = ++slot.id;
    const bool wasRunning = std::exchange(slot.running, true);
    slot.pool.start([this, kind, id, token = slot.token, job = std::move(job)] {
        // A job that was overtaken while it waited for its turn is not worth beginning.
        Delivery deliver = token.cancelled() ? Delivery() : job(token);
        QMetaObject::invokeMethod(
            this, [this, kind, id, deliver = std::move(deliver)] { finished(kind, id, deliver); },
            Qt::QueuedConnection);
    });
    if (!wasRunning)
        emit runningChanged(kind, true);
}

void JobTracker::finished(Kind kind, quint64 id, const Delivery& deliver) {
    Slot& slot = this->slot(kind);
    if (id != slot.id || !slot.running)
        return;
    slot.running = false;
    if (deliver)
        deliver();
    // The delivery may have begun the next job of the kind.
    if (!slot.running)
        emit runningChanged(kind, false);
}

void JobTracker::cancel(Kind kind) {
    Slot& slot = this->slot(kind);
    slot.token.cancel();
    ++slot.id;
    if (std::exchange(slot.running, false))
        emit runningChanged(kind, false);
}

}  // namespace shardwright
