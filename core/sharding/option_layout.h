// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sharding/shard_text.h"

namespace shardwright {

/// The layout that an option means for a tensor, on the devices of `within` (empty: all of the
/// mesh). A dimension whose size is not known gets one that fits: the spec names its symbol or no
/// size. Errors: an unknown axis, a dimension that is not there, sizes that do not fit.
Result<Layout> layoutOfOption(const ShardOption& option, const Mesh& mesh, const TensorInfo& info,
                              const DeviceGroup& within);

}  // namespace shardwright
