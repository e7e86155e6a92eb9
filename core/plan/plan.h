// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"
#include "comm/reshard.h"
#include "model/result.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace onnx {
class TensorProto;
}

namespace shardwright {

/// One dense local tensor of one device: the elements of `box` of `value` in row-major order of
/// their indices. For a partial result (before its collective) `term` tells which one.
struct LocalTensor {
    std::string name;  ///< Unique on its device; also the tensor's name in the segment's graph.
    ValueId value;
    Box box;
    int term = 0;
    std::int32_t elementType = 0;

    std::vector<std::int64_t> dims() const;  ///< Counts of the box's index sets.
};

/// A weight or a piece of one that segments read. Its elements stay in the model's file until
/// somebody asks for them (readWeight()).
struct Weight {
    const onnx::TensorProto* tensor = nullptr;  ///< Of Plan::model.
    Box box;                                    ///< Its elements, in row-major order.
    std::int32_t elementType = 0;
    std::vector<std::int64_t> dims;
    std::int64_t bytes = 0;
    int uses = 0;  ///< Segments that read it, of all devices.
};

/// A part of the model that one device runs without talking to others: a valid ONNX model.
struct Segment {
    DeviceId device = 0;
    int phase = 0;
    /// It neither gives the phase's exchanges anything nor takes anything from them: it may run
    /// while they are under way.
    bool besideExchanges = false;
    /// Serialised ModelProto. The initializers of `weights` are in it without their elements: as
    /// external data of length `bytes` at a location that does not exist.
    std::string modelBytes;
    struct WeightUse {
        std::string name;  ///< Of the initializer.
        int weight = 0;    ///< Index into Plan::weights.
    };
    std::vector<WeightUse> weights;
    std::int64_t workBytes = 0;  ///< Most bytes of tensors that are alive at once within it,
                                 ///< without weights, inputs and outputs.
    std::vector<int> inputs;     ///< Indices into DeviceProgram::tensors.
    std::vector<int> outputs;
    std::vector<NodeId> nodes;  ///< Of the original graph, for timings.
};

/// One group operation with the buffers it works on.
struct Exchange {
    GroupOperation operation;
    std::int32_t elementType = 0;
    ValueId value;
    NodeId node;
    CommPhase phase = CommPhase::Output;
    /// Per device of operation.devices (same order): local tensors that are read and written.
    std::vector<std::vector<int>> sources;
    std::vector<std::vector<int>> targets;
};

/// What one device does.
struct DeviceProgram {
    DeviceId device = 0;
    std::vector<LocalTensor> tensors;
    /// Sorted by phase; at most two a phase, the second one beside its exchanges.
    std::vector<Segment> segments;
    /// Local copies without communication, by phase, done before the phase's exchanges, in this
    /// order: `target` is put together from what each source has of its box. With `reduce`, sources
    /// of different terms are joined.
    struct LocalCopy {
        int phase = 0;
        std::vector<int> sources;
        int target = 0;
        ReduceKind reduce = ReduceKind::None;
    };
    std::vector<LocalCopy> copies;
};

/// Phase p: every device runs its segment of phase p, then its local copies, then the exchanges of
/// phase p, started together and finished in this order; in between, what may run beside them.
struct Plan {
    std::shared_ptr<const Model> model;  ///< Owns the tensors of `weights`.
    std::vector<Weight> weights;
    int deviceCount = 0;
    int phases = 0;
    std::vector<DeviceProgram> devices;
    std::vector<std::vector<Exchange>> exchanges;  ///< By phase.
    struct Port {
        ValueId value;
        std::string name;
        std::int32_t elementType = 0;
        std::vector<std::int64_t> shape;        ///< Of the whole tensor.
        std::vector<std::vector<int>> tensors;  ///< By device: local tensors that hold it.
    };
    std::vector<Port> inputs;  ///< Graph inputs: the runner cuts and loads them.
    std::vector<Port>
        outputs;  ///< Graph outputs, in their layout: the runner gathers them for display.
    /// PlanOptions::observe, in that order, without those that are not results of nodes or whose
    /// shape is not known.
    std::vector<Port> observed;
    Communication::KindTotal predictedTotal(CollectiveKind kind) const;
    std::map<CollectiveKind, Communication::KindTotal> predicted;
};

struct PlanOptions {
    /// Further values to keep as outputs on the devices that hold them (observation,
    /// `--verify=all`).
    std::vector<ValueId> observe;
    /// Of nodes that draw random numbers and have no seed of their own. They get the same on all
    /// devices and in lowerUnannotated().
    std::uint64_t seed = 1;
};

/// Lowers an analysed model. Errors: the analysis has errors (the message repeats the first), a
/// shape is unknown (names the tensor), an operator cannot be lowered.
Result<std::shared_ptr<const Plan>> lower(const Analysis& analysis,
                                          const PlanOptions& options = {});
/// The whole model for one device, with symbolic dimensions bound and `observe` as further outputs,
/// to verify against.
Result<std::shared_ptr<const Plan>> lowerUnannotated(const Analysis& analysis,
                                                     const PlanOptions& options = {});
/// Each of these nodes for itself, whole, on one device: what it reads, but constants, is an input
/// of the plan, what it gives an output. Nodes that read or give a tensor of unknown shape, or
/// something that is no tensor, are left out.
Result<std::shared_ptr<const Plan>>
lowerApart(const Analysis& analysis, const std::vector<NodeId>& nodes, std::uint64_t seed = 1);

}  // namespace shardwright
