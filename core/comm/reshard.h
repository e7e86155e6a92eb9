// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inference/cells.h"
#include "sharding/layout.h"
#include "sharding/mesh.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardwright {

enum class CollectiveKind {
    AllReduce,
    Reduce,
    ReduceScatter,
    AllGather,
    AllToAll,
    Broadcast,
    Scatter,
    Permute,
    Send,
    Slice,
    Region,
};
std::string collectiveName(CollectiveKind kind);  ///< "all-reduce", ...

/// One copy (or contribution to a reduction): elements of `box` go from one device to another, or
/// stay.
struct Part {
    DeviceId from = -1;
    DeviceId to = -1;
    Box box;       ///< In elements of the whole tensor.
    int term = 0;  ///< Index of the partial result that it is taken from; 0 without a reduction.
    bool operator==(const Part&) const = default;
};

/// One collective of one group of devices. Every target element of a device in the group is covered
/// by its parts: once, or once a term where `reduce` is set. Parts with from == to are local.
struct GroupOperation {
    CollectiveKind kind = CollectiveKind::Slice;
    ReduceKind reduce = ReduceKind::None;
    DeviceGroup devices;
    std::vector<Part> parts;
    std::int64_t bytes = 0;  ///< As "Communication entries" defines them.
};

/// How a tensor gets from one state to a layout: collectives between groups, and local copies on
/// devices that are in no group.
struct ReshardPlan {
    CollectiveKind kind = CollectiveKind::Slice;  ///< Slice: free, everything is local.
    std::vector<GroupOperation> groups;
    std::vector<Part> local;
    std::vector<int>
        axes;  ///< Mesh axes along which it communicates; empty where no mesh explains it.

    bool tooLarge = false;  ///< More copies than are worked with (millions): nothing is planned.

    bool free() const { return groups.empty() && !tooLarge; }
    std::int64_t
    bytesSentMax(int elementBits) const;  ///< Ring formula, the device that sends most.
    std::int64_t bytesSentTotal(int elementBits) const;
};

/// A partial (or complete) result as it comes out of cells: each box of a term is on some devices.
struct SourcePiece {
    Box box;
    int term = 0;
    DeviceGroup devices;
    bool empty = false;  ///< Of an empty cell: no elements, but its devices take part in the sum.
};

/// Plans the way from `sources` to `target`. With several terms each target element gets every term
/// once. A receiver takes the copy on itself, else the one that differs from it in the fewest mesh
/// axes, else the lowest device id.
ReshardPlan planReshard(const std::vector<SourcePiece>& sources, ReduceKind reduce,
                        const Layout& target, const Mesh& mesh, int elementBits);
/// What one device is to have.
struct WantedBoxes {
    DeviceId device = -1;
    std::vector<Box> boxes;
};
/// The same for any boxes; `target` ascends by device.
ReshardPlan planReshard(const std::vector<SourcePiece>& sources, ReduceKind reduce,
                        const std::vector<WantedBoxes>& target, const Mesh& mesh, int elementBits);
std::vector<SourcePiece> piecesOf(const Layout& layout);
/// What a node's cells give for one output, before the collective.
std::vector<SourcePiece> piecesOf(const CellGrid& cells, std::size_t outputSlot);

}  // namespace shardwright
