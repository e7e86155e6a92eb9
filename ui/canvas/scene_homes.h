// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/canvas/scene_structure.h"

#include <vector>

namespace shardwright {

/// Which nodes are drawn in which scope, and in what order.
struct SceneHomes {
    std::vector<std::vector<NodeId>> nodesOf;  ///< By scope: what is drawn directly in it.
    std::vector<int> nodeKey;                  ///< By node: its place in topological order.
    std::vector<int> scopeKey;                 ///< By scope: the mean place of its nodes.
};

/// `order` has parents before children. Sets nodesInside and drawn of the containers, whose parents
/// and depths are known.
SceneHomes findHomes(const GraphIndex& graph, const std::vector<ScopeId>& order,
                     std::vector<SceneContainer>& containers);

}  // namespace shardwright
