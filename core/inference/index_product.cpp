// SPDX-License-Identifier: Apache-2.0
#include "inference/index_product.h"

#include <algorithm>
#include <numeric>

namespace shardwright {

IndexSet indexProduct(const IndexSet& outer, const IndexSet& inner, std::int64_t innerSize) {
    std::vector<IndexSet::Interval> intervals;
    const auto& in = inner.intervals();
    const bool innerWhole = in.size() == 1 && in[0].begin == 0 && in[0].end == innerSize;
    for (const auto& o : outer.intervals()) {
        if (innerWhole) {
            intervals.push_back({o.begin * innerSize, o.end * innerSize});
            continue;
        }
        for (std::int64_t index = o.begin; index < o.end; ++index)
            for (const auto& i : in)
                intervals.push_back({index * innerSize + i.begin, index * innerSize + i.end});
    }
    return IndexSet(std::move(intervals));
}

namespace {

std::int64_t floorDivide(std::int64_t a, std::int64_t b) {
    const std::int64_t q = a / b;
    return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

}  // namespace

IndexSet slicedIndices(const IndexSet& input, const SliceExtra& slice) {
    std::vector<IndexSet::Interval> intervals;
    for (const auto& interval : input.intervals()) {
        // First and last o with begin <= start + o * step < end.
        std::int64_t first = 0, last = 0;
        if (slice.step > 0) {
            first = -floorDivide(slice.start - interval.begin, slice.step);
            last = floorDivide(interval.end - 1 - slice.start, slice.step);
        } else {
            first = -floorDivide((interval.end - 1) - slice.start, -slice.step);
            last = floorDivide(slice.start - interval.begin, -slice.step);
        }
        first = std::max<std::int64_t>(first, 0);
        last = std::min(last, slice.count - 1);
        if (first <= last)
            intervals.push_back({first, last + 1});
    }
    return IndexSet(std::move(intervals));
}

IndexSet windowIndices(const IndexSet& outputs, const SliceExtra& slice, std::int64_t size) {
    std::vector<IndexSet::Interval> intervals;
    for (const auto& interval : outputs.intervals()) {
        const std::int64_t first = slice.start + interval.begin * slice.step - slice.before;
        const std::int64_t last = slice.start + (interval.end - 1) * slice.step + slice.after;
        const IndexSet::Interval read{std::max<std::int64_t>(first, 0),
                                      std::min<std::int64_t>(last + 1, size)};
        if (read.begin < read.end)
            intervals.push_back(read);
    }
    IndexSet set;
    for (const auto& interval : intervals)  // Those of neighbouring outputs overlap.
        set = set.unite(IndexSet(interval.begin, interval.end));
    return set;
}

Component componentWithEdges(std::int64_t size, const std::vector<std::int64_t>& edges) {
    std::int64_t step = 0;
    for (const std::int64_t edge : edges)
        if (edge > 0 && edge < size)
            step = std::gcd(step, edge);
    if (step == 0)
        return {size, 1};
    // A cut into k has blocks of ceil(size / k); take the largest divisor of `step` that some k
    // gives.
    for (std::int64_t parts = 1; parts <= step; ++parts) {
        if (step % parts != 0)
            continue;
        const Component candidate{size, (size + step / parts - 1) / (step / parts)};
        if (candidate.block() == step / parts)
            return candidate;
    }
    return {size, size};
}

std::int64_t shardOfElement(const std::vector<Component>& components, std::int64_t element) {
    std::int64_t unit = 1;
    for (const Component& c : components)
        unit *= c.size;
    std::int64_t shard = 0;
    for (const Component& c : components) {
        unit = c.size > 0 ? unit / c.size : 0;
        const std::int64_t digit = unit > 0 ? (element / unit) % c.size : 0;
        shard = shard * c.shards + (c.block() > 0 ? digit / c.block() : 0);
    }
    return shard;
}

}  // namespace shardwright
