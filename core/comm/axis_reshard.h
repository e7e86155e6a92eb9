// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inference/axis_sharding.h"

#include <string>
#include <vector>

namespace shardwright {

/// One collective of a reshard in terms of axes.
struct AxisCollective {
    enum class Kind {
        Slice,     ///< Local: every device keeps its block of dimension d along `axes[d]`.
        Permute,   ///< Every device sends what it has to one other; `result` says how it lies then.
        AllToAll,  ///< `moved` goes from dimension `from` to dimension `to`.
        AllGather,  ///< `axes[d]` are given up on dimension d.
    };
    Kind kind = Kind::Slice;
    std::vector<AxisList> axes;  ///< Slice, AllGather: one a dimension.
    AxisList moved;
    std::size_t from = 0, to = 0;
    std::vector<AxisList> result;  ///< One a dimension, after this collective.
};
std::string axisCollectiveName(AxisCollective::Kind kind);  ///< "all_slice", "all_to_all", ...

/// How a tensor of `shape` gets from one sharding to another, cheapest kind first: slice (free),
/// permute, all-to-all, all-gather. Axes are lists a dimension, major to minor; each axis once. At
/// most two rounds are tried; what remains then (axis sizes that do not divide each other) is
/// gathered and sliced whole.
std::vector<AxisCollective> planAxisReshard(const std::vector<std::int64_t>& shape,
                                            const std::vector<AxisList>& from,
                                            const std::vector<AxisList>& to);

}  // namespace shardwright
