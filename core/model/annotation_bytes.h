// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/document.h"

#include <string>
#include <string_view>

namespace shardwright {

/// The annotations alone, without the model: for a copy of unsaved work that stays small beside
/// gigabytes of weights. A serialised ModelProto with configurations, metadata and one bare node
/// for each NodeId.
std::string annotationsToBytes(const Annotations& annotations);

/// Errors: not such bytes, or of a model with another number of nodes.
Result<Annotations> annotationsFromBytes(std::string_view bytes, const Model& model);

}  // namespace shardwright
