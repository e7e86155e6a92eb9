// SPDX-License-Identifier: Apache-2.0
#include "run/buffer_pool.h"

#include <algorithm>

namespace shardwright {

namespace {

std::size_t roundedUp(std::size_t bytes) {
    return (std::max<std::size_t>(bytes, 1) + Buffer::kAlignment - 1) / Buffer::kAlignment *
           Buffer::kAlignment;
}

}  // namespace

Result<Buffer> BufferPool::take(std::int32_t elementType, std::vector<std::int64_t> dims) {
    Buffer shape(nullptr, elementType, dims);
    const std::size_t bytes = roundedUp(shape.bytes());
    auto& free = m_free[bytes];
    std::shared_ptr<std::byte> storage;
    if (!free.empty()) {
        storage = std::move(free.back());
        free.pop_back();
    } else {
        storage = m_engine.allocate(bytes);
        if (!storage)
            return Error{"no memory for a tensor of " + std::to_string(bytes) + " bytes", {}};
    }
    hold(bytes);
    return Buffer(std::move(storage), elementType, std::move(dims), m_engine.memory());
}

void BufferPool::give(Buffer buffer) {
    const std::size_t bytes = roundedUp(buffer.bytes());
    m_live.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
    // Whoever got an output of an earlier pass keeps it.
    if (buffer.storage().use_count() == 1)
        m_free[bytes].push_back(buffer.storage());
}

void BufferPool::hold(std::size_t bytes) {
    const auto more = static_cast<std::int64_t>(bytes);
    const std::int64_t live = m_live.fetch_add(more, std::memory_order_relaxed) + more;
    // One thread writes.
    if (live > peakBytes())
        m_peak.store(live, std::memory_order_relaxed);
}

}  // namespace shardwright
