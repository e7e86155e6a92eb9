// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/plan.h"

namespace shardwright {

/// An input of a node as the node takes it, after a reshard.
struct PlanView {
    NodeId node;  ///< Of the main graph.
    std::size_t slot = 0;
    std::string name;  ///< Of the port.
};

/// lower(), and the views after what `options` observes in Plan::observed.
Result<std::shared_ptr<const Plan>> lowerWithViews(const Analysis& analysis,
                                                   const PlanOptions& options,
                                                   const std::vector<PlanView>& views);

}  // namespace shardwright
