// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inference/cells.h"
#include "model/persistent_array.h"
#include "sharding/codec.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace shardwright {

enum class LayoutSource { Explicit, Inferred, Everywhere, Unknown };
std::string layoutSourceName(LayoutSource source);  ///< "explicit", "inferred", ...

/// Where one value lies after its producer (a node, or the file for inputs and initializers).
struct ValueMeaning {
    LayoutSource source = LayoutSource::Unknown;
    LayoutRef layout;  ///< Null for Unknown, and for Everywhere (whole on every device).
    bool operator==(const ValueMeaning&) const = default;
};

/// One tensor at one node.
struct SlotMeaning {
    LayoutSource source = LayoutSource::Unknown;
    LayoutRef layout;   ///< As the node sees it: after moves and reshards. Null for Everywhere and
                        ///< Unknown.
    LayoutRef arrives;  ///< Inputs: as the producer left it; null for Everywhere and Unknown.
    /// Inputs: the layout differs from what arrives because the node's devices differ ("moved" by
    /// meaning).
    bool moved = false;
};

/// Why a node has no meaning. The checker finds the words.
struct MeaningProblem {
    enum class Kind {
        NoDevice,        ///< A cell has no device.
        SplitWhole,      ///< A factor that must be whole is split.
        SplitNeighbour,  ///< Likewise for a neighbour factor without an extra.
        ViewEdge,        ///< Shard edges of `slot` do not fall on factor edges of dimension `dim`.
        MoveCount,       ///< A split inherited input cannot be moved: device counts differ.
        TooFine,         ///< More cells, or cells of more pieces, than are worked with.
        OutsideStage,    ///< A spec lies outside the devices of the bound stage.
    };
    Kind kind;
    NodeId node;
    int slot = -1;       ///< The input chiefly concerned.
    int otherSlot = -1;  ///< NoDevice: the input that disagrees.
    int factor = -1;
    int dim = -1;
    std::int64_t cells = 0, cellsWithoutDevice = 0;
};

/// What a node computes where. Shared by nodes with equal rule and layouts.
struct NodeSolution {
    DeviceGroup devices;
    std::shared_ptr<const CellGrid>
        cells;  ///< Null: everywhere (whole on every device), or no meaning.
    std::vector<LayoutRef>
        natural;  ///< One an output: where the result lies once partials are joined; null: omitted.
    std::vector<MeaningProblem> problems;  ///< Node not set.
};

struct NodeMeaning {
    bool everywhere = false;
    std::shared_ptr<const NodeSolution> solution;  ///< Null: an input is unknown.
    std::vector<SlotMeaning> inputs;               ///< Slots, then captures.
    std::vector<SlotMeaning> outputs;
};

/// Completion of a model under proposal 0007, main graph.
struct Meaning {
    PersistentArray<NodeMeaning>
        nodes;  ///< By NodeId; nodes of bodies and functions have no slots.
    PersistentArray<ValueMeaning> values;  ///< By ValueId.
    std::vector<MeaningProblem> problems;  ///< In topological order of their nodes.

    /// By NodeId: place in the topological order of the main graph, or -1.
    std::shared_ptr<const std::vector<int>> positions;
    std::uint64_t revision = 0;  ///< Another one for each completion.
    /// The completion whose meaning all nodes but `redone` share; 0: none.
    std::uint64_t basis = 0;
    std::vector<NodeId> redone;  ///< In topological order.
};

struct MeaningInput {
    std::shared_ptr<const Model> model;
    std::shared_ptr<const ShapeTable> shapes;
    std::shared_ptr<const RuleTable> rules;
    const Configuration* configuration = nullptr;
    const DecodedAnnotations* annotations = nullptr;
};

/// Remembers node solutions by (rule, layouts, devices), and the last completion; keep it across
/// edits.
class MeaningCache {
public:
    MeaningCache();
    ~MeaningCache();
    LayoutPool& pool();

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
    friend class MeaningSolver;
};

class MeaningSolver;

/// One completion, in steps: some nodes first, the others later. Each node is worked out once,
/// whatever the steps; the result is that of completeMeaning(). `input`, what it points to, and
/// the cache stay as they are until the end; the cache learns of nothing that is not finished.
class MeaningRun {
public:
    MeaningRun(const MeaningInput& input, MeaningCache& cache);
    ~MeaningRun();
    /// Works out nodes in topological order, `most` at most.
    void workOut(std::size_t most, const CancelToken& = {});
    /// Works out these nodes, what they follow from, and nothing else.
    void workOut(std::span<const NodeId> nodes, const CancelToken& = {});
    bool isDone() const;  ///< Nothing is left to be worked out.
    /// Nodes that are not worked out yet are as in the basis; without one, unknown.
    Meaning soFar();
    /// Works out the rest. To be called once, last; cancelled: the result is good for nothing.
    Meaning finish(const CancelToken& = {});

private:
    std::unique_ptr<MeaningSolver> m_solver;
};

/// One pass over the topological order, linear in the number of slots. Where the cache has a
/// completion of the same model, shapes, rules and configuration, only the nodes whose specs or
/// stage devices have changed since, and what follows from them, is worked out again; the result is
/// the same.
Meaning completeMeaning(const MeaningInput& input, MeaningCache& cache, const CancelToken& = {});

/// Why a slot has its layout, in words: the explicit spec, the producer, the rule and the tensors
/// it came from.
std::string explainSlot(const MeaningInput& input, const Meaning& meaning, NodeId node, bool output,
                        int slot);

}  // namespace shardwright
