// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inference/axis_sharding.h"
#include "inference/meaning.h"
#include "inference/propagation_policy.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shardwright {

struct PropagationOptions {
    PropagationPolicy policy = propagationPolicies().front();
    PropagationDirection direction = PropagationDirection::Both;
    /// By mesh axis: axes with a smaller number are propagated to the end before the next ones
    /// start. Empty: all at once.
    std::vector<int> axisPriorities;
};

/// One tensor at a node.
struct NodeSlot {
    NodeId node;
    bool output = false;
    int slot = 0;  ///< Behind the inputs: what bodies of the node read from outside.
    bool operator==(const NodeSlot&) const = default;
};

/// Where an axis of a value came from.
struct AxisOrigin {
    struct Hop {
        NodeId node;    ///< The node whose rule carried the axis ...
        NodeSlot from;  ///< ... from this tensor of it ...
        ValueId to;     ///< ... to this value.
    };
    NodeSlot annotation;  ///< The explicit spec.
    ValueId value;        ///< The tensor that it is about.
    /// From the annotation to the value asked about; of a longer way the first and the last three.
    std::vector<Hop> hops;
    std::size_t length = 0;  ///< Of the whole way.
};

/// Carries the axes of the explicit specs of a model through its main graph. In rounds: all nodes
/// next to a change look at the same state, and what they add is applied in the order of nodes, so
/// that the result is a function of the annotations and not of the history; every addition is
/// kept with its time. An edit replays the rounds for the values that come out differently and
/// their neighbours only, and ends with the same result and history as a full run.
class Propagator {
public:
    /// `input.annotations` is read by run and update only.
    Propagator(const MeaningInput& input, PropagationOptions options);
    ~Propagator();
    Propagator(Propagator&&) noexcept;

    void run(const DecodedAnnotations& annotations, const CancelToken& = {});
    /// `changed`: all nodes whose specs differ from those of the last run or update.
    void update(const DecodedAnnotations& annotations, std::span<const NodeId> changed);

    const PropagationOptions& options() const;
    const AxisSpace& space() const;
    /// What came out for a value, and for a tensor at a node: an input with a spec of its own has
    /// that. Null: of unknown rank, or not in the main graph.
    const AxisSharding* of(ValueId value) const;
    const AxisSharding* of(NodeSlot slot) const;
    /// The spec of the node itself (closed), if it has one there.
    bool isExplicit(NodeSlot slot) const;
    /// All tensors of a node as propagation sees them, inputs first; null: takes no part.
    std::vector<const AxisSharding*> tensorsOf(NodeId node) const;

    /// The earliest way by which (a part of) the axis came to the tensor; nullopt: it has no such
    /// axis.
    std::optional<AxisOrigin> originOf(NodeSlot slot, const AxisRef& axis) const;
    /// "axis tp of `y`: set on `w` at MatMul `fc1`; forward through ..."
    std::string explain(const AxisOrigin& origin, const AxisRef& axis) const;

    std::size_t evaluations() const;  ///< Nodes looked at in the last run or update.
    /// The history of a value as text, to be compared in tests.
    std::string historyOf(ValueId value) const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

}  // namespace shardwright
