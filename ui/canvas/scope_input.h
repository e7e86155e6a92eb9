// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/canvas/scene_structure.h"

#include <vector>

namespace shardwright {

/// The layout's view of a scope, and which value each net is.
struct ScopeInput {
    LayoutInput input;
    std::vector<int> itemOf;      ///< Layout item -> item of the container.
    std::vector<ValueId> values;  ///< By net.
};

ScopeInput scopeInput(const SceneContainer& inside);

}  // namespace shardwright
