// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/shapes.h"
#include "sharding/diagnostic.h"

namespace shardwright {

/// SW6xx: problems of the model itself, whatever its annotations.
std::vector<Diagnostic> diagnoseModel(const Model& model, const ShapeTable& shapes);

}  // namespace shardwright
