// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/ids.h"

#include <vector>

namespace shardwright {

class GraphCanvas;

/// All that one sees something of: nodes in the window of the drawing, those inside closed scopes
/// there, and what is selected. May name a node twice.
std::vector<NodeId> nodesInView(const GraphCanvas& canvas);

}  // namespace shardwright
