// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inference/cells.h"

#include <optional>
#include <vector>

namespace shardwright {

/// Cuts of the factors of one dimension (major to minor) that a sharding of that dimension asks
/// for. nullopt: a shard edge does not fall on a factor edge.
std::optional<std::vector<FactorCut>> alignToFactors(const std::vector<Component>& components,
                                                     const std::vector<std::int64_t>& factorSizes);

/// The coarsest cut (of those that a sharding can say) whose blocks lie inside blocks of both.
FactorCut refine(const FactorCut& a, const FactorCut& b);

}  // namespace shardwright
