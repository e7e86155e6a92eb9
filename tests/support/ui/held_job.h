// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/window/job_tracker.h"

#include <QSemaphore>

namespace shardwright::test {

/// A job that has begun, and goes on until it is let go: the next one of its kind waits for it.
class HeldJob {
public:
    HeldJob(JobTracker& jobs, JobTracker::Kind kind) {
        jobs.start<int>(
            kind,
            [this](const CancelToken&) {
                m_begun.release();
                m_go.acquire();
                return 0;
            },
            [](int) {});
        m_begun.acquire();
    }
    void letGo() { m_go.release(); }

private:
    QSemaphore m_begun, m_go;
};

}  // namespace shardwright::test
