// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

namespace shardwright {

/// SW3xx, SW4xx of moves, and SW5xx: what completion and communication say, in words, with priced fixes.
std::vector<Diagnostic> diagnoseMeaning(const Analysis& analysis, LayoutPool& pool);

}  // namespace shardwright
