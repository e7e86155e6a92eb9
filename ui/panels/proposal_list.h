// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/proposals.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shardwright {

/// Proposals that look alike: for the same tensor of the same operator, at the same place of scopes
/// whose paths differ in numbers only (`layers.0`, `layers.1`), with the same layout.
using ProposalGroup = std::vector<std::uint32_t>;

/// What propagation proposed, and of what. Immutable; made outside the GUI thread.
struct ProposalList {
    std::shared_ptr<const Analysis> analysis;
    PropagationOptions options;
    Proposals proposals;
    std::vector<ProposalGroup> groups;  ///< By their first members.

    const GraphIndex& graph() const { return analysis->graph(); }
};

/// Propagates. Error: cancelled, no configuration.
Result<std::shared_ptr<const ProposalList>>
makeProposalList(std::shared_ptr<const Analysis> analysis, const PropagationOptions& options,
                 const CancelToken& cancel);

/// The groups with the members whose nodes a search (check/find.h) finds; all for an empty query.
std::vector<ProposalGroup> searchedGroups(const ProposalList& list, std::string_view query,
                                          const CancelToken& cancel);

/// One name for all between two of them: `layers.0/fc` and `layers.3/fc` are `layers.*/fc`. Where
/// they differ in more than numbers, the first one's.
std::string commonName(std::string_view first, std::string_view last);

}  // namespace shardwright
