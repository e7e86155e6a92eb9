// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/plan.h"

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <filesystem>

namespace shardwright {

/// Reads a weight's elements into `target`, which has weight.bytes bytes, straight from the model
/// or from the file of its external data below `folder`: no other copy is made, but of elements
/// that share bytes. Errors: data that is not there, or shorter than its shape says.
Result<void> readWeight(const Weight& weight, const std::filesystem::path& folder,
                        std::byte* target);

namespace lowering {

/// The elements `box` of a tensor as an inline tensor, without name. Data outside the model file is
/// read below `folder`. Refuses data that is not there.
onnx::TensorProto cutTensor(const onnx::TensorProto& tensor, const Box& box,
                            const std::filesystem::path& folder);

}  // namespace lowering
}  // namespace shardwright
