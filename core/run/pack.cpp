// SPDX-License-Identifier: Apache-2.0
#include "run/pack.h"

#include <cstring>

namespace shardwright {

namespace {

/// Elements that lie one after the other in both tensors, along one dimension.
struct Stretch {
    std::int64_t source = 0, target = 0, count = 0;
};

/// Position of an index among those of a set; -1: not in it.
std::int64_t positionIn(const IndexSet& set, const IndexSet::Interval& wanted) {
    std::int64_t before = 0;
    for (const auto& interval : set.intervals()) {
        if (wanted.begin >= interval.begin && wanted.end <= interval.end)
            return before + wanted.begin - interval.begin;
        before += interval.end - interval.begin;
    }
    return -1;
}

/// Empty where the region is not inside of both.
std::vector<Stretch> stretchesOf(const IndexSet& source, const IndexSet& target,
                                 const IndexSet& region) {
    std::vector<Stretch> stretches;
    for (const auto& interval : region.intervals()) {
        const std::int64_t from = positionIn(source, interval), to = positionIn(target, interval);
        if (from < 0 || to < 0)
            return {};
        const std::int64_t count = interval.end - interval.begin;
        if (!stretches.empty()) {
            Stretch& last = stretches.back();
            if (last.source + last.count == from && last.target + last.count == to) {
                last.count += count;
                continue;
            }
        }
        stretches.push_back({from, to, count});
    }
    return stretches;
}

struct Dimension {
    std::vector<Stretch> stretches;
    std::int64_t sourceCount = 0, targetCount = 0;
    std::int64_t sourceBits = 0, targetBits = 0;  ///< From one index to the next.

    bool whole() const {
        return stretches.size() == 1 && stretches[0].count == sourceCount &&
               stretches[0].count == targetCount;
    }
};

constexpr std::size_t bytesOf(std::int64_t bits) {
    return static_cast<std::size_t>((bits + 7) / 8);
}

}  // namespace

void RegionCopy::copyBytes(std::byte* to, const std::byte* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
}

Result<RegionCopy> RegionCopy::make(const Box& source, const Box& target, const Box& region,
                                    int elementBits) {
    RegionCopy copy;
    const std::size_t rank = region.dims.size();
    if (elementBits <= 0 || source.dims.size() != rank || target.dims.size() != rank)
        return Error{"a region cannot be copied between tensors of different rank or without an "
                     "element size",
                     {}};
    if (region.empty())
        return copy;
    std::vector<Dimension> dims(rank);
    std::int64_t sourceBits = elementBits, targetBits = elementBits, regionBits = elementBits;
    for (std::size_t d = rank; d-- > 0;) {
        dims[d] = {stretchesOf(source.dims[d], target.dims[d], region.dims[d]),
                   source.dims[d].count(), target.dims[d].count(), sourceBits, targetBits};
        if (dims[d].stretches.empty())
            return Error{"a region to copy is not inside of its source and target", {}};
        sourceBits *= dims[d].sourceCount;
        targetBits *= dims[d].targetCount;
        regionBits *= region.dims[d].count();
    }
    copy.m_bytes = bytesOf(regionBits);
    copy.m_whole = sourceBits == regionBits && targetBits == regionBits;
    if (copy.m_whole) {
        copy.m_inner = {{0, 0, copy.m_bytes}};
        return copy;
    }

    // Inner dimensions that are whole in both tensors make the runs of the next one longer.
    bool aligned = true;
    std::size_t inner = rank;
    while (inner > 1 && dims[inner - 1].whole())
        --inner;
    for (const Stretch& s : dims[inner - 1].stretches) {
        const Dimension& dim = dims[inner - 1];
        aligned &= (s.source * dim.sourceBits) % 8 == 0 && (s.target * dim.targetBits) % 8 == 0 &&
                   (s.count * dim.sourceBits) % 8 == 0;
        copy.m_inner.push_back({bytesOf(s.source * dim.sourceBits),
                                bytesOf(s.target * dim.targetBits),
                                bytesOf(s.count * dim.sourceBits)});
    }
    for (std::size_t d = 0; d + 1 < inner; ++d) {
        auto& offsets = copy.m_outer.emplace_back();
        aligned &= dims[d].sourceBits % 8 == 0 && dims[d].targetBits % 8 == 0;
        for (const Stretch& s : dims[d].stretches)
            for (std::int64_t i = 0; i < s.count; ++i)
                offsets.push_back({bytesOf((s.source + i) * dims[d].sourceBits),
                                   bytesOf((s.target + i) * dims[d].targetBits)});
    }
    if (!aligned)
        return Error{"elements of " + std::to_string(elementBits) +
                         " bits would be cut inside of a byte",
                     {}};
    return copy;
}

}  // namespace shardwright
