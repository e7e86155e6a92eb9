// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"
#include "comm/hardware_profile.h"
#include "plan/plan.h"
#include "run/executor.h"
#include "run/run_events.h"

#include <vector>

namespace shardwright {

/// The group operations of the last pass, in order, each with what it took from the moment when all
/// its devices were there to its end, and what a profile predicts (null: nothing).
std::vector<RunCollective> collectiveTimings(const Plan& plan, const GraphIndex& graph,
                                             const Mesh& mesh, const std::vector<Span>& spans,
                                             const HardwareProfile* hardware);

}  // namespace shardwright
