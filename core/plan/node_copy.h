// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/seeds.h"

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <map>
#include <string>

namespace shardwright::lowering {

/// Outer names of tensors that a body reads, and what they are called in the segment.
using Renames = std::map<std::string, std::string>;

/// A node as segments have it: without annotations, documentation and metadata. In its bodies,
/// outer names are changed by `renames` (where no name of the body hides them), annotations are
/// taken away, and node names that occur twice in one graph are made unique, since ONNX Runtime
/// refuses them. Operators that draw random numbers get their seed. Tensors outside of the model
/// file, in attributes and bodies, are read below `folder`: ONNX Runtime would look for them beside
/// the working directory. Refuses data that is not there.
onnx::NodeProto copyNode(const onnx::NodeProto& node, const std::filesystem::path& folder,
                         const Seeds& seeds, const Renames& renames = {});

/// The same for a model-local function.
onnx::FunctionProto copyFunction(const onnx::FunctionProto& function,
                                 const std::filesystem::path& folder, const Seeds& seeds);

}  // namespace shardwright::lowering
