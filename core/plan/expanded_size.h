// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/graph.h"

#include <cstdint>
#include <optional>

namespace shardwright::lowering {

/// How many nodes the main graph has once every call of a model-local function is replaced by the
/// function's nodes, as ONNX Runtime does; bodies count once. A few functions that call each other
/// twice make more than any memory holds: the count ends at the largest number. nullopt: a function
/// calls itself.
std::optional<std::int64_t> expandedNodeCount(const GraphIndex& graph);

}  // namespace shardwright::lowering
