// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

namespace shardwright {

struct WidenedSegment {
    std::string modelBytes;
    std::map<std::string, std::string>
        ports;  ///< New names of the inputs and outputs that have one.
};

/// The same segment, a serialised ModelProto, computed in float32: its bfloat16 inputs are cast
/// when they come in and its bfloat16 outputs when they go out, and every bfloat16 in between is a
/// float: initializers without elements have float's type, too. For kernels that the CPU provider
/// of ONNX Runtime lacks. nullopt: it has no bfloat16, or cannot be read.
std::optional<WidenedSegment> inFloat32(const std::string& segment);

}  // namespace shardwright
