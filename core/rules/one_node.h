// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/document.h"
#include "model/result.h"

#include <memory>
#include <string>
#include <vector>

namespace shardwright {

/// One node, as a person types it. Tensors are named in0, in1, ..., out0, ...
struct NodeRequest {
    std::string domain;  ///< "" for ai.onnx.
    std::string op;
    /// [TYPE]DIMS[=ELEMENTS] each: `4,8`, `float16[4,8]`, `int64[2]=8,4`, `int64=1` (rank 0), `_`
    /// (omitted). TYPE as in ONNX's text syntax, float where not given.
    std::vector<std::string> inputs;
    /// NAME=VALUE each: `axis=1`, `perm=0,2,1`, `mode=linear`. The type is the operator's, where
    /// the linked libonnx knows it, else what the value looks like.
    std::vector<std::string> attributes;
    int opset = 0;    ///< 0: the newest.
    int outputs = 0;  ///< 0: as few as the operator can have.
    /// [TYPE]DIMS of outputs in order, for operators whose shapes nobody infers; `_`: not said.
    std::vector<std::string> outputShapes{};
};

/// Error: the text that is not of its form, and the form.
Result<std::shared_ptr<const Model>> oneNodeModel(const NodeRequest& request);

}  // namespace shardwright
