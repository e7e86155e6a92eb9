// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rules/registry.h"

#include <memory>
#include <string>

namespace shardwright {

/// Why the shapes of the only node of a model do not fit its operator, with the input, its
/// dimension and the sizes: "MatMul: dimension 0 of #in1 is 7, with 8 it would fit". Found by
/// trying the sizes that there are in each dimension, so that no operator is described twice.
/// Empty: they fit, the operator has no rule, or sizes depend on the data.
std::string misfitOf(const std::shared_ptr<const Model>& model, const Registry& registry);

}  // namespace shardwright
