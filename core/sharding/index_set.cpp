// SPDX-License-Identifier: Apache-2.0
#include "sharding/layout.h"

#include "model/saturating.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace shardwright {

namespace {

using Interval = IndexSet::Interval;

/// Appends to a list sorted by begin, joining what touches or overlaps the last one.
void append(std::vector<Interval>& list, Interval next) {
    if (next.begin >= next.end)
        return;
    if (!list.empty() && next.begin <= list.back().end)
        list.back().end = std::max(list.back().end, next.end);
    else
        list.push_back(next);
}

}  // namespace

IndexSet::IndexSet(std::int64_t begin, std::int64_t end) {
    append(m_intervals, {begin, end});
}

IndexSet::IndexSet(std::vector<Interval> intervals) {
    const auto byBegin = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
    // Nearly all callers produce sorted lists; the check keeps them linear.
    if (!std::is_sorted(intervals.begin(), intervals.end(), byBegin))
        std::sort(intervals.begin(), intervals.end(), byBegin);
    m_intervals.reserve(intervals.size());
    for (const Interval& interval : intervals)
        append(m_intervals, interval);
}

std::int64_t IndexSet::count() const {
    std::int64_t sum = 0;
    for (const Interval& interval : m_intervals)
        sum += interval.end - interval.begin;
    return sum;
}

bool IndexSet::contains(const IndexSet& other) const {
    auto mine = m_intervals.begin();
    for (const Interval& interval : other.m_intervals) {
        while (mine != m_intervals.end() && mine->end < interval.end)
            ++mine;
        if (mine == m_intervals.end() || mine->begin > interval.begin)
            return false;
    }
    return true;
}

IndexSet IndexSet::intersect(const IndexSet& other) const {
    IndexSet result;
    auto a = m_intervals.begin();
    auto b = other.m_intervals.begin();
    while (a != m_intervals.end() && b != other.m_intervals.end()) {
        append(result.m_intervals, {std::max(a->begin, b->begin), std::min(a->end, b->end)});
        if (a->end < b->end)
            ++a;
        else
            ++b;
    }
    return result;
}

IndexSet IndexSet::unite(const IndexSet& other) const {
    IndexSet result;
    auto a = m_intervals.begin();
    auto b = other.m_intervals.begin();
    while (a != m_intervals.end() || b != other.m_intervals.end()) {
        const bool takeA =
            b == other.m_intervals.end() || (a != m_intervals.end() && a->begin <= b->begin);
        append(result.m_intervals, takeA ? *a++ : *b++);
    }
    return result;
}

Box Box::whole(const std::vector<std::int64_t>& shape) {
    Box box;
    box.dims.reserve(shape.size());
    for (const std::int64_t size : shape)
        box.dims.emplace_back(0, size);
    return box;
}

bool Box::empty() const {
    return std::any_of(dims.begin(), dims.end(), [](const IndexSet& set) { return set.empty(); });
}

std::int64_t Box::count() const {
    if (empty())
        return 0;
    std::int64_t product = 1;
    for (const IndexSet& set : dims)
        product = saturatingProduct(product, set.count());
    return product;
}

bool Box::contains(const Box& other) const {
    assert(dims.size() == other.dims.size());
    if (other.empty())
        return true;
    for (std::size_t d = 0; d < dims.size(); ++d) {
        if (!dims[d].contains(other.dims[d]))
            return false;
    }
    return true;
}

Box Box::intersect(const Box& other) const {
    assert(dims.size() == other.dims.size());
    Box result;
    result.dims.reserve(dims.size());
    for (std::size_t d = 0; d < dims.size(); ++d)
        result.dims.push_back(dims[d].intersect(other.dims[d]));
    return result;
}

}  // namespace shardwright
