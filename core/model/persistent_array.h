// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
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
    bool empty() const { return m_size == 0; }
    const T& operator[](std::size_t index) const {
        assert(index < m_size);
        return (*m_chunks[index / kChunk])[index % kChunk];
    }

    /// Another version in place of this one. An Editor changes several elements for less.
    void set(std::size_t index, T value) {
        Editor editor(std::move(*this));
        editor.edit(index) = std::move(value);
        *this = std::move(editor).finish();
    }

    class Iterator {
    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = const T*;
        using reference = const T&;
        Iterator() = default;
        Iterator(const PersistentArray* array, std::size_t index)
            : m_array(array), m_index(index) {}
        reference operator*() const { return (*m_array)[m_index]; }
        pointer operator->() const { return &**this; }
        Iterator& operator++() { return ++m_index, *this; }
        Iterator operator++(int) { return {m_array, m_index++}; }
        bool operator==(const Iterator&) const = default;

    private:
        const PersistentArray* m_array = nullptr;
        std::size_t m_index = 0;
    };
    Iterator begin() const { return {this, 0}; }
    Iterator end() const { return {this, m_size}; }

    /// Calls `different` with each index that both have and at which they are not equal. What they
    /// share is not looked at.
    template <class Different>
    static void compare(const PersistentArray& a, const PersistentArray& b,
                        const Different& different) {
        const std::size_t size = std::min(a.m_size, b.m_size);
        for (std::size_t chunk = 0; chunk * kChunk < size; ++chunk) {
            if (a.m_chunks[chunk] == b.m_chunks[chunk])
                continue;
            const std::size_t end = std::min(size, (chunk + 1) * kChunk);
            for (std::size_t i = chunk * kChunk; i < end; ++i)
                if (!(a[i] == b[i]))
                    different(i);
        }
    }

    /// Makes the next version of an array.
    class Editor {
    public:
        /// `size` default elements.
        explicit Editor(std::size_t size) { grow(size); }
        explicit Editor(PersistentArray base)
            : m_array(std::move(base)), m_own(m_array.m_chunks.size(), false) {}

        std::size_t size() const { return m_array.m_size; }
        const T& operator[](std::size_t index) const { return m_array[index]; }
        /// Adds default elements up to `size`.
        void grow(std::size_t size) {
            m_array.m_size = std::max(m_array.m_size, size);
            while (m_own.size() * kChunk < size) {
                m_array.m_chunks.push_back(std::make_shared<Chunk>());
                m_own.push_back(true);
            }
        }
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
