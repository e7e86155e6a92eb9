// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>

namespace shardwright {

/// Shared flag that a long job polls. A default token is never cancelled.
class CancelToken {
public:
    CancelToken() = default;
    static CancelToken create() {
        CancelToken token;
        token.m_flag = std::make_shared<std::atomic<bool>>(false);
        return token;
    }
    void cancel() const {
        if (m_flag)
            m_flag->store(true, std::memory_order_relaxed);
    }
    bool cancelled() const { return m_flag && m_flag->load(std::memory_order_relaxed); }

private:
    std::shared_ptr<std::atomic<bool>> m_flag;
};

}  // namespace shardwright
