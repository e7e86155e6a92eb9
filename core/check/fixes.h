// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

namespace shardwright {

/// Explicit input specs at the problem's node that give it a meaning, cheapest first, at most
/// three. Every fix is tried with the solver before it is offered.
std::vector<Fix> findFixes(const Analysis& analysis, const MeaningProblem& problem,
                           LayoutPool& pool);

/// Likewise such specs that let all of `wanted` take part in what the node computes.
std::vector<Fix> findFixesOfIdle(const Analysis& analysis, NodeId node, const DeviceGroup& wanted,
                                 LayoutPool& pool);

}  // namespace shardwright
