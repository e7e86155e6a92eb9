// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

#include <span>
#include <vector>

namespace shardwright {

/// What is said of one node.
struct NodeWords {
    std::vector<Diagnostic> diagnostics;
    bool extended = false;  ///< It is split in a way that only profile extended knows.
};

/// All that follows from the meaning of the node alone, `problems` being those of this node: it
/// holds as long as the meaning does.
NodeWords diagnoseNode(const Analysis& analysis, NodeId id,
                       std::span<const MeaningProblem* const> problems, LayoutPool& pool);

}  // namespace shardwright
