// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <string>

namespace shardwright::lowering {

/// Outer names of tensors that a body reads, and what they are called in the segment.
using Renames = std::map<std::string, std::string>;

/// A node as segments have it: without annotations, documentation and metadata. In its bodies,
/// outer names are changed by `renames` (where no name of the body hides them), annotations are
/// taken away, and node names that occur twice in one graph are made unique, since ONNX Runtime
/// refuses them.
onnx::NodeProto copyNode(const onnx::NodeProto& node, const Renames& renames = {});

/// The same for a model-local function.
onnx::FunctionProto copyFunction(const onnx::FunctionProto& function);

}  // namespace shardwright::lowering
