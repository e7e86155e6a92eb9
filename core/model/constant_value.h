// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/shapes.h"

#include <memory>
#include <optional>

namespace onnx {
class TensorProto;
}

namespace shardwright {

using ConstantRef = std::shared_ptr<const ConstantValue>;

/// Integer types and bool: ConstantValue::ints.
bool isIntegral(std::int32_t elementType);
/// Floating point types that we can read: ConstantValue::reals.
bool isReal(std::int32_t elementType);

/// Elements of a tensor whose data is in the model file. Null where it is malformed, external, of
/// another type or larger than `limit` elements.
ConstantRef constantFromTensor(const onnx::TensorProto& tensor,
                               std::int64_t limit = ShapeTable::kMaxFolded);

/// The reverse, for libonnx; false for types without a field of their own (float16).
bool tensorFromConstant(const ConstantValue& constant, onnx::TensorProto& tensor);

/// Product of dims; nothing where a size is negative or the product is above `limit`.
std::optional<std::int64_t> countWithin(const std::vector<std::int64_t>& dims,
                                        std::int64_t limit = ShapeTable::kMaxFolded);

}  // namespace shardwright
