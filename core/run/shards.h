// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/executor.h"
#include "run/run_events.h"

#include <filesystem>
#include <vector>

namespace shardwright {

/// One piece with its statistics and its first values.
RunShard describeShard(const RunResult::Output& tensor, const RunResult::Piece& piece,
                       bool isOutput, std::int64_t maxValues);

/// Writes each piece of each tensor as TENSOR.devD.npy (TENSOR.devD.K.npy where a device has
/// several) and `index.json`:
///
///     [{"tensor": "y", "type": "FLOAT", "shape": [8, 16],
///       "shards": [{"device": 0, "file": "y.dev0.npy", "box": [[[0, 4]], [[0, 16]]]}]}]
///
/// with a list of half-open intervals for each dimension. Letters of a name that a file name should
/// not have become `_`.
Result<void> saveShards(const std::filesystem::path& folder,
                        const std::vector<const RunResult::Output*>& tensors,
                        const StringPool& strings);

}  // namespace shardwright
