// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/graph.h"
#include "model/shapes.h"
#include "rules/registry.h"

namespace shardwright {

/// What a graph input's integers are used for, as far as following them through the operators whose
/// rules say that they carry elements shows (ElementUse), also into bodies and functions.
struct IndexUse {
    /// They are positions in [0, bound) at some operator; the smallest of several. -1: none found.
    std::int64_t bound = -1;
    /// They become booleans: a mask of 0 and 1.
    bool mask = false;
};

IndexUse findIndexUse(const GraphIndex& graph, const ShapeTable& shapes, ValueId input,
                      const Registry& registry = Registry::standard());

}  // namespace shardwright
