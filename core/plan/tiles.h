// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inference/cells.h"

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace shardwright::lowering {

/// One run of a node's kernel on one device: cells whose classes form a product, taken together.
/// Cells of different blocks of a partial reduction stay apart: the collective takes each term
/// once.
struct Tile {
    std::vector<std::vector<std::int64_t>> classes;  ///< By factor, ascending.
    std::vector<Box> inputs, outputs;                ///< By slot; omitted slots have empty boxes.
    std::vector<int> terms;  ///< By output, numbered as piecesOf(CellGrid) does.
};

struct DeviceTiles {
    DeviceId device = 0;
    std::vector<Tile> tiles;
};

/// The run of a kernel on these classes (by factor).
Tile tileOf(const CellGrid& cells, std::vector<std::vector<std::int64_t>> classes);

/// The tiles of all devices that have any, by device. Cells without elements make none.
std::vector<DeviceTiles> tilesOf(const CellGrid& cells);

/// Nodes with equal rule and layouts share one grid, so they share their tiles, too.
class TileCache {
public:
    const std::vector<DeviceTiles>& of(const std::shared_ptr<const CellGrid>& cells);

private:
    std::unordered_map<const CellGrid*, std::vector<DeviceTiles>> m_tiles;
};

}  // namespace shardwright::lowering
