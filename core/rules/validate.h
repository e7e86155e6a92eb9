// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rules/rule.h"

namespace shardwright {

/// Whether a rule describes a node of these shapes. Empty when it does, else what is wrong:
/// - one map a slot (captures after the inputs), `present` where the slot is named, one entry a
/// dimension;
/// - the sizes of a dimension's factors multiply to it, except for outputs of a slice and unknown
/// sizes (-1 counts as 0);
/// - no factor occurs twice in a tensor; a reduction factor is missing in some
/// output;
/// - a factor of an output only is parallel or whole; one of inputs only is not parallel;
/// - whole and neighbour factors have a reason; names are unique; slices and rewrites name existing
/// factors and slots.
std::string validateRule(const Rule& rule, const NodeContext& context);

}  // namespace shardwright
