// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/kernel_engine.h"

#include <atomic>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shardwright {

/// Memory of one device that is used again: buffers of the size of an earlier, returned one.
class BufferPool {
public:
    explicit BufferPool(KernelEngine& engine) : m_engine(engine) {}
    Result<Buffer> take(std::int32_t elementType, std::vector<std::int64_t> dims);
    void give(Buffer buffer);
    /// Counts memory that does not come from here.
    void hold(std::size_t bytes);
    // From any thread.
    std::int64_t liveBytes() const { return m_live.load(std::memory_order_relaxed); }
    std::int64_t peakBytes() const { return m_peak.load(std::memory_order_relaxed); }

private:
    KernelEngine& m_engine;
    std::unordered_map<std::size_t, std::vector<std::shared_ptr<std::byte>>> m_free;
    std::atomic<std::int64_t> m_live{0}, m_peak{0};
};

}  // namespace shardwright
