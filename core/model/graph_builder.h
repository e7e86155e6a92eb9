// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/graph.h"

namespace onnx {
class ModelProto;
}

namespace shardwright {

/// Indexes all graphs of the model, which must outlive the index and not change. Never fails: what
/// is wrong with the model is in GraphIndex::problems.
GraphIndex buildGraphIndex(const onnx::ModelProto& model);

/// Fills GraphIndex::scopes and NodeInfo::scope of an index that is otherwise complete.
void buildScopes(GraphIndex& index);

}  // namespace shardwright
