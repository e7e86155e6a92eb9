// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/proposals.h"

namespace shardwright {

/// Which explicit annotation an axis of a tensor at a node came from.
ProposalSource sourceOf(const Propagator& propagator, TensorSlot slot, ValueId value, int dim,
                        const AxisRef& axis);

/// Nodes whose tensors disagree after a propagation, in the order of nodes: one factor with axes of
/// which none continues the other, or one axis on two factors. With fixes for the first kPriced of
/// them, priced by `profile` (comm/cost.h), or by bytes where it is null.
std::vector<PropagationConflict> findConflicts(const Analysis& analysis,
                                               const Propagator& propagator,
                                               const HardwareProfile* profile = nullptr);

}  // namespace shardwright
