// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/executor.h"
#include "run/tolerances.h"

#include <set>

namespace shardwright {

/// Those of `values` whose nodes are right: alone on one device, from the very inputs that the
/// sharded run gave them, they come to the same (Tolerances::ofNodeAlone). Such a value may still
/// differ from the run on one device: by rounding of what comes before it, which the model enlarges
/// (a step of a quantised number, the difference of two that are nearly equal).
/// `sharded`: with all tensors observed. `options`: with as many passes as it had, since random
/// numbers are others in each, and `seed`: its seed. Values of nodes that cannot be run alone are
/// not among them. Errors: as of execute().
Result<std::set<ValueId>>
rightFromTheirInputs(const Analysis& analysis, const std::vector<ValueId>& values,
                     const RunResult& sharded, const InputSet& inputs, const Tolerances& tolerances,
                     const RunOptions& options, std::uint64_t seed, const CancelToken& = {});

}  // namespace shardwright
