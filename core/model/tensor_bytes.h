// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/external_data.h"
#include "model/result.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace onnx {
class TensorProto;
}

namespace shardwright {

/// Number of elements that the tensor's dims claim; an error for a negative dimension or an
/// overflow.
Result<std::int64_t> elementCount(const onnx::TensorProto& tensor);

/// The elements as little-endian bytes, sub-byte types packed, as `raw_data` has them: from
/// raw_data, the typed fields, or external data below the model's folder. What is there must be as
/// much as the dims say. Tensors of strings have no such bytes: an error.
Result<std::string> tensorBytes(const onnx::TensorProto& tensor,
                                const std::filesystem::path& modelFolder);

}  // namespace shardwright
