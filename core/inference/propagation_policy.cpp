// SPDX-License-Identifier: Apache-2.0
#include "inference/propagation_policy.h"

#include <algorithm>
#include <array>

namespace shardwright {

namespace {

using Policy = PropagationPolicy;
constexpr std::array<Policy, 5> kPolicies = {
    Policy{.name = "report",
           .about = "what all tensors agree on; conflicts are reported with fixes",
           .strided = true},
    Policy{.name = "paddle",
           .about = "PaddlePaddle's rules: the first tensor that says anything wins",
           .matching = Policy::Matching::FirstWins,
           .bySteps = false},
    Policy{.name = "shardy-basic",
           .about = "OpenXLA Shardy: compatible prefixes without any conflict",
           .throughWhole = true,
           .throughNeighbour = true},
    Policy{.name = "shardy-aggressive",
           .about = "OpenXLA Shardy: conflicts are resolved tensor by tensor, larger tensors first",
           .matching = Policy::Matching::PerTensor,
           .throughWhole = true,
           .throughNeighbour = true},
    Policy{.name = "onnx-0007",
           .about = "proposal 0007: forward, through the operators it covers",
           .forwardOnly = true,
           .sideways = false,
           .strictOnly = true,
           .bySteps = false},
};

}  // namespace

std::string directionName(PropagationDirection direction) {
    switch (direction) {
        case PropagationDirection::Forward: return "forward";
        case PropagationDirection::Reverse: return "reverse";
        case PropagationDirection::Both: break;
    }
    return "both";
}

std::span<const PropagationPolicy> propagationPolicies() {
    return kPolicies;
}

const PropagationPolicy* findPropagationPolicy(std::string_view name) {
    const auto it = std::find_if(kPolicies.begin(), kPolicies.end(),
                                 [&](const Policy& policy) { return policy.name == name; });
    return it == kPolicies.end() ? nullptr : &*it;
}

}  // namespace shardwright
