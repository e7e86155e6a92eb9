// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"
#include "plan/plan.h"
#include "run/executor.h"
#include "run/run_events.h"
#include "run/verify.h"

#include <map>
#include <optional>

namespace shardwright {

// What a run found, as the plain values that leave the worker.

RunPlace runPlaceOf(const GraphIndex& graph, NodeId node);  ///< Empty for an invalid id.
std::map<std::string, RunKindTotal> totalsOf(const CollectiveCounts& counts);
RunDeviceTiming timingOf(const DeviceTiming& timing, std::int64_t predictedBytes);
RunTensorCheck checkOf(const TensorCheck& check);
/// A segment's or an exchange's event; nothing for local copies.
std::optional<RunEvent> eventOf(const Span& span, const Plan& plan, const GraphIndex& graph);
RunDivergence divergenceOf(const RunTensorCheck& check, ValueId value, const Analysis& analysis,
                           const Plan& plan);

}  // namespace shardwright
