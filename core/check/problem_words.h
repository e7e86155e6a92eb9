// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

namespace shardwright {

/// Why a node has no meaning (SW301 to SW305, SW310, SW410, SW411), with priced fixes.
Diagnostic diagnoseProblem(const Analysis& analysis, const MeaningProblem& problem,
                           LayoutPool& pool);

}  // namespace shardwright
