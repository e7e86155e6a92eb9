// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/canvas/layered_layout.h"

#include <vector>

namespace shardwright {

/// The x of the middle of every vertex. `upperOffset` and `lowerOffset` say, by link, how far from
/// the middle of its ends a link meets them.
std::vector<float> alignBlocks(const RankedLayout& layout, const std::vector<float>& widths,
                               const std::vector<float>& upperOffset,
                               const std::vector<float>& lowerOffset);

}  // namespace shardwright
