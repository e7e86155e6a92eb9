// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/conformance_node.h"
#include "inference/factor_propagation.h"

#include <vector>

namespace shardwright {

/// How a tensor of a Paddle case lies in the ONNX node's tensor: the dimension of the latter for
/// each of its own; -1: it has none there.
struct PaddleTensor {
    std::size_t slot = 0;  ///< Of the ONNX node.
    std::vector<int> dims;
};

/// The ONNX reading of a Paddle case.
struct PaddleNode {
    NodeCase node;
    std::vector<PaddleTensor> inputs;  ///< In Paddle's order.
    std::vector<PaddleTensor> outputs;
    FirstWinsTraits traits;
    std::vector<std::size_t> asked;  ///< Input slots in the order in which they are asked.
    bool keepsUnitAxes = false;      ///< Axes on input dimensions of size 1 stay (reshape).
    std::vector<std::size_t>
        copied;  ///< Output dimensions that copy the input's, by a 0 (reshape).
};

/// `mesh` gives sizes for unknown dimensions. Errors: the words of what is illegal.
Result<PaddleNode> readPaddleNode(const Json& json, const AxisSpace& mesh);

}  // namespace shardwright
