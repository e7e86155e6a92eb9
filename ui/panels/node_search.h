// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

#include <string_view>
#include <vector>

namespace shardwright {

/// What findNodes finds, for people: nodes that match by their own name, scope or operator come
/// before those that match by the name of a tensor only. With several words the former hide the
/// latter: an exporter names a tensor by its producer, so that "q_proj MatMul" is also in every
/// reader's inputs. `tensor:` asks for these. In file order otherwise.
std::vector<NodeId> searchNodes(const Analysis& analysis, std::string_view query,
                                const CancelToken& = {});

}  // namespace shardwright
