// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace shardwright {

/// One tensor at one node.
struct TensorSlot {
    NodeId node;
    bool output = false;
    int slot = 0;

    bool operator==(const TensorSlot&) const = default;
};

/// The tensor in the slot; invalid where the slot is omitted or out of range.
ValueId valueAt(const GraphIndex& graph, TensorSlot slot);
/// What completion says of the slot; null where the slot is out of range.
const SlotMeaning* meaningAt(const Analysis& analysis, TensorSlot slot);
/// The layout in the slot, explicit or inferred, where no axes of the mesh say it; else null.
LayoutRef unexplainedAt(const Document& document, const Analysis& analysis, TensorSlot slot);

// `analysis` gives shapes, mesh and what is inferred; `document` the present annotations, which may
// be newer.

/// Whether the node itself says something about the tensor, in the configuration of the analysis.
bool hasSpec(const Document& document, const Analysis& analysis, TensorSlot slot);
/// The pipeline stage of the node; -1: none.
int stageOf(const Document& document, const Analysis& analysis, NodeId node);
/// Mesh axes of each dimension: of the spec, else of what is inferred. nullopt: unknown rank, or no
/// mesh explains it.
std::optional<MeshSharding> shardingAt(const Document& document, const Analysis& analysis,
                                       TensorSlot slot);

/// Splits dimension `dim` of each slot along `axes` (major to minor; empty: not split). Other
/// dimensions keep theirs, except for axes that `axes` takes from them. Errors: no configuration, a
/// slot of unknown shape or without that dimension (named), an axis twice.
Result<Edit> assignAxes(const Document& document, const Analysis& analysis,
                        std::span<const TensorSlot> tensorSlots, int dim,
                        const std::vector<int>& axes);
/// Splits dimension `dim` of each slot into components, outermost first, in the words of `--shard`:
/// "3*tp", "64/tp*16". Otherwise as assignAxes. Errors also: syntax, an unknown axis, sizes that do
/// not multiply to the dimension.
Result<Edit> assignComponents(const Document& document, const Analysis& analysis,
                              std::span<const TensorSlot> tensorSlots, int dim,
                              std::string_view components);
/// Components in those words: "3*64/tp"; empty: not split.
std::string componentsText(const Mesh& mesh, const std::vector<MeshComponent>& components);
/// Whole on all devices of the node.
Result<Edit> assignReplicated(const Document& document, const Analysis& analysis,
                              std::span<const TensorSlot> tensorSlots);
/// Takes the specs of the slots away.
Edit removeSpecs(const Document& document, const Analysis& analysis,
                 std::span<const TensorSlot> tensorSlots);
/// Sets the stage of the nodes (-1 removes it).
Edit assignStage(const Document& document, const Analysis& analysis, std::span<const NodeId> nodes,
                 int stage);
/// Takes specs and stages of the nodes away, in this configuration.
Edit clearNodes(const Document& document, const Analysis& analysis, std::span<const NodeId> nodes);

/// Changes the mesh of the configuration of the analysis. `newAxis` has, for each axis of the
/// present mesh, its index in `mesh`
/// (-1: gone). Specs that the present mesh explains are encoded again on the new one, without the
/// axes that are gone; others stay as they are.
Result<Edit> changeMesh(const Document& document, const Analysis& analysis, const Mesh& mesh,
                        const std::vector<int>& newAxis);

/// Sizes of the blocks of a dimension: 10 in 4 are 3, 3, 3, 1.
std::vector<std::int64_t> blockSizes(std::int64_t size, std::int64_t shards);

}  // namespace shardwright
