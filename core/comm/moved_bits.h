// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/shapes.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

namespace shardwright {

/// Bits of an element that is moved between devices, as bytes of communication count it. A string
/// is moved as a number of 64 bits; what it says goes to a process once and is not counted.
inline int movedBits(std::int32_t elementType) {
    return elementType == onnx::TensorProto::STRING ? 64 : std::max(1, elementBits(elementType));
}

}  // namespace shardwright
