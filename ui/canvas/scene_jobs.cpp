// SPDX-License-Identifier: Apache-2.0
#include "ui/canvas/scene_jobs.h"

namespace shardwright {

SceneJobs::SceneJobs(QObject* parent) : QObject(parent) {
    // A cancelled job may take a moment to notice; the next one does not wait for it.
    m_pool.setMaxThreadCount(3);
}

SceneJobs::~SceneJobs() {
    for (const CancelToken& token : m_tokens)
        token.cancel();
    m_pool.clear();
    m_pool.waitForDone();
}

void SceneJobs::cancel(Kind kind) {
    const auto index = static_cast<std::size_t>(kind);
    m_tokens[index].cancel();
    ++m_ids[index];
    m_running[index] = false;
}

CancelToken SceneJobs::renew(Kind kind) {
    cancel(kind);
    const auto index = static_cast<std::size_t>(kind);
    m_tokens[index] = CancelToken::create();
    m_running[index] = true;
    return m_tokens[index];
}

bool SceneJobs::finish(Kind kind, int id) {
    const auto index = static_cast<std::size_t>(kind);
    if (m_ids[index] != id)
        return false;
    m_running[index] = false;
    return true;
}

}  // namespace shardwright
