// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rules/rule.h"

#include <onnx/onnx_pb.h>

#include <optional>

namespace shardwright {

/// Whether nodes of the graph, or of bodies inside of it, take attributes from the caller of the
/// function that it is.
bool refersToCaller(const GraphIndex& graph, GraphId top);

/// Whether what the ShapeTable knows inside of the function that the node calls is not what holds
/// in this call: other calls have other shapes, or the caller gives attributes.
bool needsOwnModel(const NodeContext& context);

/// The call as a model of its own: the node alone, its inputs with their shapes and small elements,
/// and the function with the attributes of this call in the places that refer to them. What is
/// looked up in it holds for this call. nullopt: the caller gives a graph.
std::optional<onnx::ModelProto> callAlone(const Model& model, const NodeContext& context);

}  // namespace shardwright
