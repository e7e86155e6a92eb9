// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardwright {

/// Factors that several rules have in common. Each rule names its own; where two index the same
/// dimension of a tensor, they are one, and where their sizes differ but nest (6 against 2 and 3),
/// the larger falls into parts, major to minor.
class FactorUnion {
public:
    using List = std::vector<int>;

    int add(std::int64_t size);
    /// The parts that a list of factors consists of by now.
    List parts(const List& factors) const;
    /// Both lists index one dimension. What does not nest becomes whole.
    void unify(const List& a, const List& b);
    /// The first reason stands.
    void makeWhole(int factor, const std::string& reason);
    void makeWhole(const List& factors, const std::string& reason);

    std::int64_t size(int part) const { return m_factors[index(part)].size; }
    bool whole(int part) const { return !m_factors[index(part)].reason.empty(); }
    const std::string& reason(int part) const { return m_factors[index(part)].reason; }

private:
    struct Factor {
        std::int64_t size = 1;
        std::string reason;  ///< Why it is whole; empty: it may be split.
        int same = -1;       ///< Stands for another.
        int major = -1, minor = -1;
    };

    static std::size_t index(int factor) { return static_cast<std::size_t>(factor); }
    int root(int factor) const;
    void split(int part, std::int64_t majorSize);

    std::vector<Factor> m_factors;
};

}  // namespace shardwright
