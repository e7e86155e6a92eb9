// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/document.h"

#include <vector>

namespace shardwright {

/// Nodes whose annotation differs, in ascending order.
std::vector<NodeId> changedNodes(const Annotations& before, const Annotations& after);

/// Brings the configurations, our metadata entries and ir_version of `proto` to the given
/// annotations. Only what differs is touched; ir_version is raised to 11 where something changed
/// (also a node) and the model is annotated.
void writeModelFields(const Annotations& before, const Annotations& after, onnx::ModelProto& proto);

/// writeModelFields and the nodes; `proto` is a copy of the model's.
void writeAnnotations(const Model& model, const Annotations& annotations, onnx::ModelProto& proto);

}  // namespace shardwright
