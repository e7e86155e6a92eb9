// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/defs/shape_inference.h>

#include <string_view>

namespace shardwright {

/// The inference function of an operator of which libonnx has none: ONNX Runtime's contrib
/// operators (com.microsoft), a few of ai.onnx.ml, and former versions of ai.onnx. It gives types
/// and shapes as ONNX Runtime 1.32's own does (onnxruntime/core/graph/contrib_ops), or nothing
/// where they depend on values. Null: not known here either.
const onnx::InferenceFunction* extraInference(std::string_view domain, std::string_view op);

}  // namespace shardwright
