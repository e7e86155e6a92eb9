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

/// What an operator of Paddle does differently from the others.
struct FirstWinsTraits {
    /// Rows of a table may be split, and the lookup is partial then (embedding). Else they are
    /// whole (gather).
    bool maskedLookup = true;
    bool keepsInputs = false;   ///< Inputs are not reconciled with each other; the output is.
    bool keepsOutputs = false;  ///< In reverse, outputs stay as they are.
    bool cheapestInputs =
        false;  ///< Mesh axes on which inputs differ go where least is moved (concat).
    bool largestWins = false;  ///< An axis on several factors goes to the largest (matmul).
    bool wholeTakesPart =
        false;                 ///< Forward, a factor that stays whole can still take an axis away.
    bool splitsWhole = false;  ///< Factors that must be whole are split all the same (scatter).
    bool oneFactorAnAxis = false;  ///< An axis on two factors is a conflict (embedding).
    bool reductionsAgree =
        false;  ///< A reduction split in one input only is a conflict (convolution).
};
FirstWinsTraits firstWinsTraits(const Rule& rule);

/// A node under "the first wins": all inputs and outputs as the rule would have them, whatever is
/// open.
struct FirstWins {
    std::vector<AxisSharding> inputs, outputs;
    std::vector<AxisList> partial;  ///< One an output: axes over which it is a partial result.
    std::string conflict;           ///< Not empty: two tensors contradict each other; the words.
};
/// `order`: the input slots that are asked, in order; empty: all.
FirstWins inferFirstWins(const Rule& rule, const NodeShardings& tensors, bool forward,
                         const FirstWinsTraits& traits, const AxisSpace& space,
                         const std::vector<std::size_t>& order = {});

}  // namespace shardwright
