// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/reshard.h"

namespace shardwright {

/// What the devices of a node read of input `slot`, with what windows read of their neighbours
/// (CellGrid::hasHalo): one box a device where its cells make up a block, else one a cell.
std::vector<WantedBoxes> haloBoxes(const CellGrid& cells, std::size_t slot);

/// Brings each device the elements beyond its own, which lie as `layout` says. Its operations are
/// of kind region: exact copies of the few elements at the borders.
ReshardPlan planHalo(const CellGrid& cells, std::size_t slot, const Layout& layout,
                     const Mesh& mesh, int elementBits);

}  // namespace shardwright
