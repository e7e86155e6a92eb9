// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

#include <string_view>
#include <vector>

namespace shardwright {

/// Nodes that match a search, in file order. All words of the query must match; letter case does
/// not count. A word is looked for in node names, scopes, operators and tensor names; `key:text`
/// looks in one place:
///   name: op: scope: tensor: shape: ("8x16") type: attr: ("axis", "axis=1") axis: (mesh axis)
///   stage: ("1", "none") diag: (code, severity or words) layout: ("explicit", "inferred",
///   "everywhere", "unknown")
/// `*` and `?` make a word a glob over the whole text; quotes keep spaces.
std::vector<NodeId> findNodes(const Analysis& analysis, std::string_view query,
                              const CancelToken& = {});

}  // namespace shardwright
