// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sharding/shard_text.h"

#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace shardwright {

/// Nodes by the tensors they read or write. Points into the model.
class TensorIndex {
public:
    explicit TensorIndex(const GraphIndex& graph);

    /// Names that the glob matches, each with its nodes.
    std::vector<std::pair<std::string_view, const std::vector<NodeId>*>>
    match(const std::string& glob) const;
    std::set<std::string_view> names() const;

private:
    std::unordered_map<std::string_view, std::vector<NodeId>> m_nodes;
};

/// A tensor at a node.
using Target = std::pair<NodeId, std::string>;

/// All nodes and tensors that an option names.
std::vector<Target> targetsOf(const ShardOption& option, const GraphIndex& graph,
                              const TensorIndex& index);
/// Why there are none, with names that may have been meant.
Error noTargetOf(const ShardOption& option, const GraphIndex& graph, const TensorIndex& index);
bool anyNodeMatches(const GraphIndex& graph, std::string_view pattern);
/// That no node matches `pattern`, likewise.
Error noNodeMatches(const GraphIndex& graph, const std::string& pattern, const std::string& place);

}  // namespace shardwright
