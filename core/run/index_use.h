// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/graph.h"
#include "model/shapes.h"

namespace shardwright {

/// What a graph input's integers are used for, as far as following them through Cast, Identity and
/// views (Reshape, Unsqueeze, Squeeze, Flatten, Transpose, Slice, Expand, Concat) shows, also into
/// bodies and functions.
struct IndexUse {
    /// They index an axis of this size (Gather, GatherElements, GatherND, ScatterElements,
    /// ScatterND); the smallest of several. -1: none found.
    std::int64_t bound = -1;
    /// They reach a Cast to bool: a mask of 0 and 1.
    bool mask = false;
};

IndexUse findIndexUse(const GraphIndex& graph, const ShapeTable& shapes, ValueId input);

}  // namespace shardwright
