// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

namespace shardwright {

// Sums and products of sizes, counts and bytes (none of them negative) that a hostile model can
// make as large as it likes: they stop at the largest number.

inline std::int64_t saturatingSum(std::int64_t a, std::int64_t b) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    return b > kMost - a ? kMost : a + b;
}

inline std::int64_t saturatingProduct(std::int64_t a, std::int64_t b) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    return a != 0 && b > kMost / a ? kMost : a * b;
}

/// amount * times / parts, rounded down.
inline std::int64_t saturatingShare(std::int64_t amount, std::int64_t times, std::int64_t parts) {
    return saturatingSum(saturatingProduct(amount / parts, times),
                         saturatingProduct(amount % parts, times) / parts);
}

/// Bytes of so many elements of `bits` bits, those below a byte packed.
inline std::int64_t saturatingBytes(std::int64_t elements, int bits) {
    return saturatingSum(saturatingProduct(elements / 8, bits), (elements % 8 * bits + 7) / 8);
}

}  // namespace shardwright
