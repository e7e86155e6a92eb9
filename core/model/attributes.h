// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/graph.h"

#include <string>
#include <vector>

namespace shardwright {

/// One attribute of a node, for people.
struct AttributeText {
    std::string name;
    std::string
        type;  ///< "INT", "TENSOR", ... as in onnx::AttributeProto; unknown types by number.
    std::string
        value;  ///< "1", "[0, 2, 1]", "FLOAT 64x256"; at most about `kMaxAttributeText` characters.
};

inline constexpr std::size_t kMaxAttributeText = 400;

/// The attributes of a node in file order.
std::vector<AttributeText> attributeTexts(const GraphIndex& graph, NodeId node);

}  // namespace shardwright
