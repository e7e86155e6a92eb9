// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rules/rule.h"
#include "sharding/layout.h"

namespace shardwright {

/// {o * innerSize + i : o in outer, i in inner}: the indices of a dimension made of two factors.
IndexSet indexProduct(const IndexSet& outer, const IndexSet& inner, std::int64_t innerSize);

/// The output indices that a slice reads from `input`, in ascending order.
IndexSet slicedIndices(const IndexSet& input, const SliceExtra& slice);

/// The elements of a dimension of `size` that the windows of `outputs` read.
IndexSet windowIndices(const IndexSet& outputs, const SliceExtra& slice, std::int64_t size);

/// The one Component that cuts `size` at least at every one of `edges` with the fewest blocks; all
/// blocks are ceil(size / shards) long.
Component componentWithEdges(std::int64_t size, const std::vector<std::int64_t>& edges);

/// The shard (over the components of one dimension, row-major) that holds `element`.
std::int64_t shardOfElement(const std::vector<Component>& components, std::int64_t element);

}  // namespace shardwright
