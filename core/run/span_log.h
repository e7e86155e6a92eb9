// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/executor.h"

#include <atomic>
#include <span>
#include <vector>

namespace shardwright {

/// What one device did in a pass. The device's thread writes; another one may read what is there
/// meanwhile, without a lock: spans are never moved, and are counted when they are complete. Only a
/// pass that is published can be read before the device's thread has ended; it must be the last.
class SpanLog {
public:
    /// Before the first pass, with the most spans that one has.
    void reserve(std::size_t most) { m_spans.resize(most); }
    void begin(bool published) {
        m_written = 0;
        m_published = published;
    }
    void add(const Span& span) {
        if (m_written == m_spans.size())
            return;
        m_spans[m_written++] = span;
        if (m_published)
            m_count.store(m_written, std::memory_order_release);
    }
    /// From any thread.
    std::span<const Span> published() const {
        const std::size_t count = m_count.load(std::memory_order_acquire);
        // Until one is counted, their place may still be made.
        return count == 0 ? std::span<const Span>() : std::span(m_spans.data(), count);
    }
    /// For the device's thread, or after it.
    std::span<const Span> all() const { return {m_spans.data(), m_written}; }

private:
    std::vector<Span> m_spans;
    std::size_t m_written = 0;
    bool m_published = false;
    std::atomic<std::size_t> m_count{0};
};

}  // namespace shardwright
