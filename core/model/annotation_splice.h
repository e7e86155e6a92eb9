// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/document.h"

#include <optional>

namespace shardwright {

/// The opened binary file with other annotations: everything else keeps its bytes and its place,
/// whatever wrote it, and weights are copied once. Nothing where the file is laid out in a way that
/// this cannot follow (a singular message in several parts, groups); then the whole model has to be
/// serialised again.
std::optional<std::string> spliceAnnotations(const Model& model, const Annotations& annotations);

}  // namespace shardwright
