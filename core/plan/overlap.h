// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/context.h"
#include "plan/draft.h"

namespace shardwright::lowering {

/// Work and exchanges below which a phase is not cut: another segment costs some 10 us on each
/// device, about what a core needs for as many bytes.
struct OverlapLimits {
    std::int64_t workBytes = 1 << 20;      ///< Read and written beside the exchanges, weights too.
    std::int64_t exchangeBytes = 1 << 16;  ///< Of the tensors that the device's exchanges work on.
};

/// Marks the steps of a phase that its copies and exchanges do not wait for, so that they run while
/// those are under way; where there is enough of both. After assignPhases().
void findOverlap(Draft& draft, const Context& context, const OverlapLimits& limits = {});

}  // namespace shardwright::lowering
