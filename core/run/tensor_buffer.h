// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/string_pool.h"

#include <onnx/onnx_pb.h>

#include <filesystem>

namespace shardwright {

/// A tensor of a file in memory, its external data read below `folder`. Errors: it cannot be read,
/// its data does not fit its shape, no memory.
Result<Buffer> tensorBuffer(const onnx::TensorProto& tensor, const std::filesystem::path& folder,
                            StringPool& strings);

}  // namespace shardwright
