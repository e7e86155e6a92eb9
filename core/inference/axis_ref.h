// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

namespace shardwright {

/// A mesh axis, or a part of one. An axis of size n is read as a row-major product: the part
/// `a:(pre)size` is the digit of `size` values that has `pre` coordinates above it. The whole axis
/// is (1)n. (Shardy's sub-axes.)
struct AxisRef {
    int axis = -1;
    std::int64_t pre = 1;
    std::int64_t size = 1;

    auto operator<=>(const AxisRef&) const = default;
    std::int64_t next() const { return pre * size; }  ///< `pre` of the part that follows.
    bool overlaps(const AxisRef& other) const;
    bool contains(const AxisRef& other) const;
    /// The other part begins where this one does and is longer, or they are equal.
    bool prefixOf(const AxisRef& other) const;
    /// The longest beginning of this part that shares nothing with `other`; nullopt: none.
    std::optional<AxisRef> without(const AxisRef& other) const;
};

using AxisList = std::vector<AxisRef>;  ///< Major to minor.

std::int64_t shardsOf(const AxisList& axes);  ///< Product of the sizes.
/// Appends; two parts of one axis that follow each other become one.
void appendAxis(AxisList& axes, const AxisRef& axis);
std::optional<AxisRef> without(AxisRef axis, const AxisList& others);
bool overlaps(const AxisRef& axis, const AxisList& others);

enum class PrefixOrder { Equal, Strict, None };
/// Whether `a` is a beginning of `b`; its last axis may be the first part of b's.
PrefixOrder prefixOrder(const AxisList& a, const AxisList& b);

/// Joins two lists of one factor: `old` and what `more` says. They agree as long as one continues
/// the other; `mayExtend` false keeps the result at most as long as `old`. Returned beside it:
/// whether later lists may extend it.
///   [a], [a b] -> [a b];   [a b], [a c] -> [a], closed
struct JoinedAxes {
    AxisList axes;
    bool mayExtend = true;
};
JoinedAxes joinAxes(const AxisList& old, const AxisList& more, bool mayExtend);

}  // namespace shardwright
