// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardwright {

/// The common factorisation of two shapes of equally many elements, read row-major.
struct CommonFactors {
    struct Part {
        std::int64_t size = 1;
        bool in = false, out = false;  ///< Both: the shapes share it. One: sizes do not nest there.
    };
    std::vector<Part> parts;
    std::vector<std::vector<int>> in, out;  ///< Parts of each dimension, major to minor.
    bool fits = false;                      ///< The products are equal.
};

/// Cuts both shapes into runs with equal products (as short as possible), and each run into parts
/// that are contiguous radices of both: outermost while one side divides the other, then their
/// common divisor; the same from the innermost end; what is left in between is a part of one side
/// each.
///   [2,6,64] -> [2,6,4,16]    a b (c d) -> a b c d
///   [8,8] -> [64,1]           a b -> (a b) 1
///   [6,4] -> [4,6]            (a b^) (c^ d) -> (a e^) (f^ d), a = d = 2
CommonFactors commonFactors(const std::vector<std::int64_t>& in,
                            const std::vector<std::int64_t>& out);

}  // namespace shardwright
