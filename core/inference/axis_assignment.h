// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inference/factor_rows.h"

#include <vector>

namespace shardwright {

/// One axis list a factor: how a node computes.
using FactorAssignment = std::vector<AxisList>;

/// What a node would compute by, from what its tensors have (inputs first; null: takes no part):
/// where they agree, that; else the lists of the larger tensors first, parallel factors before
/// reductions. Every axis is on one factor. Whole and neighbour factors get none. (The rule by
/// which Shardy inserts explicit reshards.)
FactorAssignment assignAxes(const Rule& rule, const std::vector<const AxisSharding*>& tensors,
                            const std::vector<double>& sizes, bool strided);

/// Whether a rule's factor may be split at all in a computation.
bool maySplit(const Rule& rule, std::size_t factor);

/// All assignments that mix what the tensors say of each factor, at most `limit`; each axis on one
/// factor.
std::vector<FactorAssignment> enumerateAssignments(const Rule& rule,
                                                   const std::vector<const AxisSharding*>& tensors,
                                                   std::size_t limit = 343);

/// The sharding of input or output `slot` when the node computes by `assignment`.
AxisSharding inputOf(const Rule& rule, std::size_t slot, const FactorAssignment& assignment);
AxisSharding outputOf(const Rule& rule, std::size_t slot, const FactorAssignment& assignment);
/// Axes over which output `slot` is a partial result.
AxisList partialOf(const Rule& rule, std::size_t slot, const FactorAssignment& assignment);

}  // namespace shardwright
