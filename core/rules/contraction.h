// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rules/rule.h"

namespace shardwright {

/// Einsum: one factor a label; labels that the result lacks are summed. A label that occurs twice
/// in one operand (a diagonal) is whole.
std::optional<Rule> buildEinsum(const NodeContext& context);

}  // namespace shardwright
