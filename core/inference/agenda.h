// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace shardwright {

/// Places in the topological order of a graph.
class PlaceSet {
public:
    explicit PlaceSet(std::size_t size) : m_size(size), m_words((size + 63) / 64, 0) {}
    std::size_t size() const { return m_size; }
    /// False: it was there.
    bool add(std::size_t place) {
        std::uint64_t& word = m_words[place / 64];
        const std::uint64_t bit = std::uint64_t{1} << (place % 64);
        const bool isNew = (word & bit) == 0;
        word |= bit;
        return isNew;
    }
    void addAll() {
        std::fill(m_words.begin(), m_words.end(), ~std::uint64_t{0});
        if (m_size % 64 != 0)
            m_words.back() = (std::uint64_t{1} << (m_size % 64)) - 1;
    }

private:
    friend class Agenda;
    std::size_t m_size;
    std::vector<std::uint64_t> m_words;
};

/// Nodes that are still to be worked out, by their places in the topological order, taken in
/// ascending order: what a node adds lies behind it.
class Agenda {
public:
    explicit Agenda(std::size_t size) : m_places(size) {}
    void add(int place) {
        if (place >= 0)
            m_places.add(static_cast<std::size_t>(place));
    }
    void addAll() { m_places.addAll(); }
    /// The first of all; nothing: there is none.
    std::optional<std::size_t> first() const {
        for (std::size_t word = 0; word < m_places.m_words.size(); ++word)
            if (m_places.m_words[word] != 0)
                return word * 64 +
                       static_cast<std::size_t>(std::countr_zero(m_places.m_words[word]));
        return std::nullopt;
    }
    /// From the beginning again: those that a walk with `only` has left.
    void restart() { m_word = 0; }
    /// Takes the first at or after the one taken last, of `only` where it is given.
    std::optional<std::size_t> take(const PlaceSet* only = nullptr) {
        for (; m_word < m_places.m_words.size(); ++m_word) {
            std::uint64_t& word = m_places.m_words[m_word];
            const std::uint64_t eligible = only ? word & only->m_words[m_word] : word;
            if (eligible == 0)
                continue;
            const int bit = std::countr_zero(eligible);
            word &= ~(std::uint64_t{1} << bit);
            return m_word * 64 + static_cast<std::size_t>(bit);
        }
        return std::nullopt;
    }

private:
    PlaceSet m_places;
    std::size_t m_word = 0;
};

}  // namespace shardwright
