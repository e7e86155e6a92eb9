// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inference/axis_sharding.h"
#include "rules/rule.h"

#include <vector>

namespace shardwright {

/// What one tensor says of one factor.
struct FactorAxes {
    bool present = false;  ///< The tensor has the factor.
    bool open = true;
    bool minorMost = true;  ///< The last factor of its component: may be split unevenly.
    AxisList axes;
    AxisList
        overflow;  ///< Of the dimension, but beyond this factor: nothing can be said of the rest.
};

/// One tensor of a node projected to the factors of its rule (by factor).
struct FactorRow {
    std::vector<FactorAxes> factors;
    bool taking = false;  ///< False: omitted, shape only or of another rank; says nothing.
};

/// Axes are dealt to the factors of a dimension, major first, until each is fully split; an axis
/// that is longer than what is left of a factor is cut into parts. Shardy's projection, component
/// by component.
FactorRow projectToFactors(const Rule& rule, const TensorMap& map, const AxisSharding& sharding);

/// The sharding with the axes of the row in the dimensions marked in `changed`; others stay as they
/// are. A factor behind one that is not fully split gives a component of its own (a strided shard)
/// if `strided`, else it is dropped.
AxisSharding fromFactors(const Rule& rule, const TensorMap& map, const FactorRow& row,
                         const AxisSharding& present, const std::vector<bool>& changed,
                         bool strided);
/// All dimensions from the factors.
AxisSharding fromFactors(const Rule& rule, const TensorMap& map, const std::vector<AxisList>& axes,
                         bool strided);

}  // namespace shardwright
