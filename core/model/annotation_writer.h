// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/document.h"

namespace shardwright {

/// Brings `proto`, a copy of the model's, to the given annotations. Only what differs from the file is touched;
/// ir_version is raised to 11 where something was changed and the model is annotated.
void writeAnnotations(const Model& model, const Annotations& annotations, onnx::ModelProto& proto);

}  // namespace shardwright
