// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sharding/layout.h"

#include <onnx/onnx_pb.h>

#include <filesystem>

namespace shardwright::lowering {

/// The elements `box` of a tensor as an inline tensor, without name. Data outside the model file is
/// read below `folder`. Refuses sub-byte types that are not taken whole, and data that is not
/// there.
onnx::TensorProto cutTensor(const onnx::TensorProto& tensor, const Box& box,
                            const std::filesystem::path& folder);

}  // namespace shardwright::lowering
