// SPDX-License-Identifier: Apache-2.0
#include "inference/axis_ref.h"

#include <algorithm>

namespace shardwright {

bool AxisRef::overlaps(const AxisRef& other) const {
    return axis == other.axis && std::max(pre, other.pre) < std::min(next(), other.next());
}

bool AxisRef::contains(const AxisRef& other) const {
    return axis == other.axis && pre <= other.pre && other.next() <= next();
}

bool AxisRef::prefixOf(const AxisRef& other) const {
    return axis == other.axis && pre == other.pre && size <= other.size && size > 0 &&
           other.size % size == 0;
}

std::optional<AxisRef> AxisRef::without(const AxisRef& other) const {
    if (!overlaps(other))
        return *this;
    if (other.pre <= pre || other.pre % pre != 0)
        return std::nullopt;
    return AxisRef{axis, pre, other.pre / pre};
}

std::int64_t shardsOf(const AxisList& axes) {
    std::int64_t shards = 1;
    for (const AxisRef& axis : axes)
        shards *= axis.size;
    return shards;
}

void appendAxis(AxisList& axes, const AxisRef& axis) {
    if (!axes.empty() && axes.back().axis == axis.axis && axes.back().next() == axis.pre)
        axes.back().size *= axis.size;
    else
        axes.push_back(axis);
}

std::optional<AxisRef> without(AxisRef axis, const AxisList& others) {
    for (const AxisRef& other : others) {
        const auto rest = axis.without(other);
        if (!rest)
            return std::nullopt;
        axis = *rest;
    }
    return axis;
}

bool overlaps(const AxisRef& axis, const AxisList& others) {
    return std::any_of(others.begin(), others.end(),
                       [&](const AxisRef& other) { return axis.overlaps(other); });
}

PrefixOrder prefixOrder(const AxisList& a, const AxisList& b) {
    if (a == b)
        return PrefixOrder::Equal;
    if (a.empty())
        return PrefixOrder::Strict;
    if (a.size() > b.size() || !std::equal(a.begin(), a.end() - 1, b.begin()))
        return PrefixOrder::None;
    return a.back().prefixOf(b[a.size() - 1]) ? PrefixOrder::Strict : PrefixOrder::None;
}

JoinedAxes joinAxes(const AxisList& old, const AxisList& more, bool mayExtend) {
    JoinedAxes result;
    std::size_t i = 0;
    for (; i < old.size() && i < more.size(); ++i) {
        const AxisRef &a = old[i], &b = more[i];
        if (a == b) {
            result.axes.push_back(a);
        } else if (b.prefixOf(a)) {
            // Whatever follows a part of an axis would have to be its next part, and the two
            // would have been merged: a longer list differs from here on.
            const bool last = i + 1 == more.size();
            result.axes.push_back(last ? a : b);
            if (!last)
                return {std::move(result.axes), false};
        } else if (a.prefixOf(b)) {
            const bool last = i + 1 == old.size();
            result.axes.push_back(mayExtend && last ? b : a);
            if (!mayExtend || !last)
                return {std::move(result.axes), false};
        } else {
            return {std::move(result.axes), false};
        }
    }
    result.axes.insert(result.axes.end(),
                       old.begin() + static_cast<std::ptrdiff_t>(std::min(i, old.size())),
                       old.end());
    if (mayExtend)
        result.axes.insert(result.axes.end(),
                           more.begin() + static_cast<std::ptrdiff_t>(std::min(i, more.size())),
                           more.end());
    result.mayExtend = mayExtend;
    return result;
}

}  // namespace shardwright
