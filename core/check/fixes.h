// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

namespace shardwright {

/// Explicit input specs at the problem's node that give it a meaning, cheapest first, at most
/// three. Every fix is tried with the solver before it is offered.
std::vector<Fix> findFixes(const Analysis& analysis, const MeaningProblem& problem,
                           LayoutPool& pool);

}  // namespace shardwright
