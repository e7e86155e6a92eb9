// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/graph.h"
#include "plan/plan.h"
#include "run/executor.h"

#include <filesystem>
#include <string>

namespace shardwright {

/// The last pass in the JSON trace event format, which ui.perfetto.dev and chrome://tracing open:
/// one thread a device, slices for segments, local copies and collectives (with kind, tensor, node,
/// devices and bytes), and inside of these for waiting.
std::string traceJson(const Plan& plan, const GraphIndex& graph, const RunResult& result);
Result<void> writeTrace(const std::filesystem::path& path, const Plan& plan,
                        const GraphIndex& graph, const RunResult& result);

/// "MatMul `mm1` ... Add `add`" for a segment.
std::string segmentLabel(const Segment& segment, const GraphIndex& graph);

}  // namespace shardwright
