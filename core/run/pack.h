// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/result.h"
#include "sharding/layout.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardwright {

/// The way of the elements of one region from a dense tensor that holds the box `source` to one
/// that holds the box `target`. A contiguous message is a dense tensor whose box is the region
/// itself. Worked out once, used often.
class RegionCopy {
public:
    RegionCopy() = default;
    /// Errors: the region is not inside of both boxes, or types below a byte would be cut inside of
    /// one.
    static Result<RegionCopy> make(const Box& source, const Box& target, const Box& region,
                                   int elementBits);

    /// Bytes of the region.
    std::size_t bytes() const { return m_bytes; }
    /// Both tensors are the region: one memcpy from start to start.
    bool wholeToWhole() const { return m_whole; }
    void run(const std::byte* source, std::byte* target) const {
        forEachRun([&](std::size_t from, std::size_t to, std::size_t bytes) {
            copyBytes(target + to, source + from, bytes);
        });
    }
    /// Calls f(offset in source, offset in target, bytes) for each contiguous run, in the region's
    /// order.
    template <class F>
    void forEachRun(F&& f) const;

private:
    struct Offset {
        std::size_t source = 0, target = 0;
    };
    struct Run {
        std::size_t source = 0, target = 0, bytes = 0;
    };
    static void copyBytes(std::byte* to, const std::byte* from, std::size_t bytes);

    std::vector<std::vector<Offset>>
        m_outer;  ///< Byte offsets of each index of the outer dimensions.
    std::vector<Run> m_inner;
    std::size_t m_bytes = 0;
    bool m_whole = false;
};

template <class F>
void RegionCopy::forEachRun(F&& f) const {
    if (m_bytes == 0)
        return;
    std::vector<std::size_t> at(m_outer.size(), 0);
    while (true) {
        Offset base;
        for (std::size_t d = 0; d < at.size(); ++d) {
            base.source += m_outer[d][at[d]].source;
            base.target += m_outer[d][at[d]].target;
        }
        for (const Run& run : m_inner)
            f(base.source + run.source, base.target + run.target, run.bytes);
        std::size_t d = at.size();
        while (d > 0 && ++at[d - 1] == m_outer[d - 1].size())
            at[--d] = 0;
        if (d == 0)
            return;
    }
}

}  // namespace shardwright
