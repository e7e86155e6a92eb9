// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/document.h"

#include <string_view>

namespace shardwright {

/// Largest file that protobuf can read: sizes are signed 32-bit numbers.
inline constexpr std::uint64_t kLargestModel = 2147483647;
/// Messages nest at most this deep; a body takes three levels (node, attribute, graph). It bounds
/// the stack that protobuf's recursive parser takes.
inline constexpr int kDeepestMessage = 100;

/// Whether the bytes begin like a text-format ModelProto: a comment or one of its field names.
Model::Format guessFormat(std::string_view bytes);

/// Fills `proto`. The error has no place; it says what is wrong with the bytes.
Result<void> parseModel(std::string_view bytes, Model::Format format, onnx::ModelProto& proto);

}  // namespace shardwright
