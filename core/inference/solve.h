// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inference/meaning.h"

#include <vector>

namespace shardwright {

/// What a node of `rule` computes on `devices`, given the layout of each input (slots, then
/// captures; null: whole on every device, omitted, or shape only). Pure. The rule's shapes are
/// concrete or taken as empty.
NodeSolution solveNode(const RulePtr& rule, const DeviceGroup& devices,
                       const std::vector<LayoutRef>& inputs,
                       const std::vector<const TensorInfo*>& outputs, LayoutPool& pool);

}  // namespace shardwright
