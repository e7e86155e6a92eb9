// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/canvas/arrangement.h"

#include <vector>

namespace shardwright {

/// Puts what only begins or only ends a line (inputs, outputs, ports) straight over or under the
/// port of the open scope that it is joined to, as far as its neighbours in the rank allow. Side by
/// side they take the order of those ports, so that their lines do not cross. `middles` are the x
/// of all vertices and are changed; offsets are by link, `widths` by vertex.
void alignWithPorts(const RankedLayout& layout, const std::vector<ItemShape>& shapes,
                    const std::vector<float>& widths, const std::vector<float>& upperOffset,
                    const std::vector<float>& lowerOffset, std::vector<float>& middles);

}  // namespace shardwright
