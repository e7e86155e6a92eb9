// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/shapes.h"

#include <optional>

namespace shardwright {

/// A size for a dimension that the model does not have, with the names that somebody may have
/// meant: it would go unnoticed, and the dimension that was meant have another size. Names are
/// symbols of declared types anywhere in the model, and `input#dim` for anonymous dimensions of
/// inputs. nullopt: all are there.
std::optional<Error> unknownBinding(const Model& model, const Bindings& bindings);

}  // namespace shardwright
