// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/assign.h"
#include "check/report.h"
#include "comm/hardware_profile.h"
#include "inference/propagation.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shardwright {

/// Where one axis of a proposal comes from.
struct ProposalSource {
    int dim = -1;
    AxisRef axis;
    TensorSlot annotation;  ///< The explicit spec; node invalid where no way back was found.
    std::string words;
};

/// A spec that propagation would write.
struct Proposal {
    TensorSlot slot;
    ValueId value;
    AxisSharding sharding;
    LayoutRef layout;
    /// What arrives lies differently: the node would reshard it. Words say so.
    bool reshard = false;
    std::vector<ProposalSource> sources;
};

/// A way out of a conflict: how the node would compute, and what has to move for it.
struct ConflictFix {
    std::string title;
    std::int64_t bytes = 0;
    Edit edit;
    /// On the hardware profile that was given: what has to move, one after the other.
    std::optional<double> seconds{};
};

/// Tensors of a node that contradict each other.
struct PropagationConflict {
    NodeId node;
    std::string message;
    std::vector<ProposalSource> sources;  ///< The axes that cannot go together.
    /// Cheapest first (fastest first on a hardware profile), at most three.
    std::vector<ConflictFix> fixes;
};

struct Proposals {
    std::shared_ptr<const AxisSpace> space;  ///< What axes are numbers of.
    std::vector<Proposal> proposals;         ///< By node, inputs first.
    std::vector<PropagationConflict> conflicts;
    Edit acceptAll;
    /// Nodes whose tensors could not be brought together, so that nothing is proposed for them.
    std::vector<NodeId> left;
};

/// Runs propagation on an analysis and works out what it proposes. Applying `acceptAll` to the
/// document adds no errors: whatever propagation says of a node is tried with the meaning of the
/// file, and what has none is resharded there, else left out. `profile`: fixes of conflicts are
/// priced by it; null: by bytes.
Result<Proposals> proposeLayouts(const Analysis& analysis, const PropagationOptions& options,
                                 const CancelToken& = {}, const HardwareProfile* profile = nullptr);
/// Likewise, on a propagation that has run.
Result<Proposals> proposeLayouts(const Analysis& analysis, const Propagator& propagator,
                                 const HardwareProfile* profile = nullptr);
/// The edit, of the document of the analysis, that writes some of its proposals (indices, each
/// once). Where others are left out, the result may have errors. `acceptAll` is this of all.
Edit acceptProposals(const Analysis& analysis, const Proposals& proposals,
                     std::span<const std::size_t> which);

/// Priorities of axes from `AXIS=N` texts. Errors: no such axis, not a number.
Result<std::vector<int>> parseAxisPriorities(const Mesh& mesh,
                                             const std::vector<std::string>& texts);

Json proposalsJson(const Analysis& analysis, const Proposals& proposals,
                   const PropagationOptions& options);
std::string proposalsText(const Analysis& analysis, const Proposals& proposals);

}  // namespace shardwright
