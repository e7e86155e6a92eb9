// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/canvas/layered_layout.h"

#include <memory>
#include <vector>

namespace shardwright {

/// Size of an item as it is now, and where lines meet it.
struct ItemShape {
    float width = 0, height = 0;
    bool fixedPorts = false;  ///< An open scope: lines meet it where its ports are.
    std::vector<std::pair<int, float>> inPorts,
        outPorts;  ///< (net, offset from the middle), for fixed ports.
    bool operator==(const ItemShape&) const = default;
};

/// Places of one scope's items, relative to its upper left corner.
struct Arrangement {
    struct Spot {
        float x = 0, y = 0, width = 0, height = 0;  ///< Upper left corner and size.
    };
    struct Line {
        int from = -1, to = -1;  ///< Vertices.
        int net = -1;
        std::vector<std::pair<float, float>> points;
    };
    std::shared_ptr<const RankedLayout> ranked;
    std::vector<ItemShape> shapes;  ///< What it was made for.
    std::vector<Spot> spots;        ///< By vertex.
    std::vector<Line> lines;
    float width = 0, height = 0;
};

struct ArrangeOptions {
    float margin = 16;
    float titleHeight = 0;  ///< Kept free above the first rank.
    float minimumWidth = 0;
};

/// Coordinates after Brandes and Koepf (2001) with line ends off the middle of a box. Linear, no
/// recursion.
std::shared_ptr<const Arrangement> arrange(std::shared_ptr<const RankedLayout> ranked,
                                           std::vector<ItemShape> shapes,
                                           const ArrangeOptions& options);

}  // namespace shardwright
