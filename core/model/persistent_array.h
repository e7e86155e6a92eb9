// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <memory>
#include <vector>

namespace shardwright {

/// An immutable array whose copies share what they have in common, so that a snapshot of 100,000
/// elements costs little, and a new version costs what changed. Versions may be read in any thread.
template <class T>
class PersistentArray {
    static constexpr std::size_t kChunk = 64;
    using Chunk = std::array<T, kChunk>;

public:
    std::size_t size() const { return m_size; }
    const T& operator[](std::size_t index) const {
        assert(index < m_size);
        return (*m_chunks[index / kChunk])[index % kChunk];
    }

    /// Makes the next version of an array.
    class Editor {
    public:
        /// `size` default elements.
        explicit Editor(std::size_t size) : m_own((size + kChunk - 1) / kChunk, true) {
            m_array.m_size = size;
            for (std::size_t i = 0; i < m_own.size(); ++i)
                m_array.m_chunks.push_back(std::make_shared<Chunk>());
        }
        explicit Editor(PersistentArray base)
            : m_array(std::move(base)), m_own(m_array.m_chunks.size(), false) {}

        const T& operator[](std::size_t index) const { return m_array[index]; }
        T& edit(std::size_t index) {
            assert(index < m_array.m_size);
            auto& chunk = m_array.m_chunks[index / kChunk];
            if (!m_own[index / kChunk]) {
                chunk = std::make_shared<Chunk>(*chunk);
                m_own[index / kChunk] = true;
            }
            return (*chunk)[index % kChunk];
        }
        /// As it is now; what is edited later leaves it alone.
        PersistentArray snapshot() {
            m_own.assign(m_own.size(), false);
            return m_array;
        }
        PersistentArray finish() && { return std::move(m_array); }

    private:
        PersistentArray m_array;
        std::vector<bool> m_own;  ///< Chunks that no other version has.
    };

private:
    std::size_t m_size = 0;
    std::vector<std::shared_ptr<Chunk>> m_chunks;
};

}  // namespace shardwright
