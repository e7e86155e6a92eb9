// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace shardwright {

enum class PropagationDirection { Forward, Reverse, Both };
std::string directionName(PropagationDirection direction);  ///< "forward", ...

/// How propagation decides: one engine, several answers. All of it is data.
struct PropagationPolicy {
    /// What a factor gets from the tensors that have it.
    enum class Matching {
        Common,     ///< What all agree on, and no axis that any tensor has on another factor.
        PerTensor,  ///< What all agree on; conflicts with other factors are resolved tensor by
                    ///< tensor.
        FirstWins,  ///< The first tensor that says anything.
    };
    std::string_view name;
    std::string_view about;
    Matching matching = Matching::Common;
    bool throughWhole = false;      ///< Also along factors that must be whole.
    bool throughNeighbour = false;  ///< Also along factors that need neighbours.
    bool strided = false;           ///< A fused dimension may be split in its inner part.
    bool forwardOnly = false;
    bool sideways = true;     ///< From input to input.
    bool strictOnly = false;  ///< Only operators that proposal 0007 covers.
    bool bySteps = true;      ///< Operator steps 1 to 5; else all at once.
};

/// report (the default), paddle, shardy-basic, shardy-aggressive, onnx-0007.
std::span<const PropagationPolicy> propagationPolicies();
const PropagationPolicy* findPropagationPolicy(std::string_view name);  ///< Null: no such policy.

}  // namespace shardwright
