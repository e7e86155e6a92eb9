// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/cancel.h"
#include "ui/canvas/layered_layout.h"

namespace shardwright {

/// Orders the vertices within each layer so that few links cross. False when cancelled.
bool orderLayers(RankedLayout& layout, const CancelToken& cancel);

}  // namespace shardwright
