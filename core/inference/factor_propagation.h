// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inference/factor_rows.h"
#include "inference/propagation_policy.h"

#include <optional>
#include <string>
#include <vector>

namespace shardwright {

/// What a step lets through (the operator steps of propagation).
enum class StepMode {
    None,
    ParallelFactors,  ///< Factors that are split without a collective.
    ReverseOnly,      ///< From outputs to inputs (broadcasts).
    ReverseParallel,
    All,
};

struct StepOptions {
    const PropagationPolicy* policy = nullptr;
    PropagationDirection direction = PropagationDirection::Both;
    StepMode mode = StepMode::All;
    const AxisSpace* space = nullptr;
    /// Axes with a larger number wait; empty: none do.
    const std::vector<int>* priorities = nullptr;
    int priority = 0;
};

/// One node's tensors, inputs first. Null: takes no part.
using NodeShardings = std::vector<const AxisSharding*>;

/// Extends the open dimensions of a node's tensors by what its rule and the other tensors say.
/// Monotone: axes are only added behind those there are. Entries without change are nullopt.
std::vector<std::optional<AxisSharding>>
propagateNode(const Rule& rule, const NodeShardings& tensors, const StepOptions& options);

/// Whether a factor can carry an axis at all under the policy.
bool carriesAxes(const Rule& rule, std::size_t factor, const PropagationPolicy& policy);

/// What an operator of the other systems does differently from its rule.
struct FirstWinsTraits {
    /// Rows of a table may be split, and the lookup is partial then (Paddle's embedding). Else they
    /// are whole (gather).
    bool maskedLookup = true;
    bool keepsInputs = false;  ///< Inputs are not reconciled with each other; the output is.
    bool cheapestInputs =
        false;  ///< Mesh axes on which inputs differ go where least is moved (concat).
};
FirstWinsTraits firstWinsTraits(const Rule& rule);

/// A node under "the first wins": all inputs and outputs as the rule would have them, whatever is
/// open.
struct FirstWins {
    std::vector<AxisSharding> inputs, outputs;
    std::vector<AxisList> partial;  ///< One an output: axes over which it is a partial result.
    std::string conflict;           ///< Not empty: two tensors contradict each other; the words.
};
/// `order`: of the slots, in which they are asked; empty: as they are.
FirstWins inferFirstWins(const Rule& rule, const NodeShardings& tensors, bool forward,
                         const FirstWinsTraits& traits, const AxisSpace& space,
                         const std::vector<std::size_t>& order = {});

}  // namespace shardwright
