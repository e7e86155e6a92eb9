// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rules/registry.h"
#include "rules/rule_maker.h"

#include <string>
#include <vector>

namespace shardwright {

/// A contrib operator that does what an operator of ai.onnx does: to the inputs `slots`, in this
/// order. All other inputs are parameters of it, whole on the device (scales, zero points).
struct StandIn {
    const char* op;
    int opset;
    std::vector<std::size_t> slots;
    /// Why its sums cannot be split into parts; empty where they can.
    std::string wholeSums{};
};

/// The rule of the stand-in. nullopt: there is none, or the shapes do not fit.
std::optional<Rule> buildAs(const NodeContext& context, const StandIn& standIn);

/// Every dimension of an input like those of `like`, or nothing where it has one element only.
void setLike(RuleMaker& maker, std::size_t slot, const Dims& like);
/// All further present inputs whole, where they have more than one element.
void setParameters(RuleMaker& maker, std::size_t from, const std::string& reason);

Rewrite localAttribute(const char* name, std::vector<int> factors);

/// Adds operators of com.microsoft; none is covered by proposal 0007.
void addContrib(Registry& registry, std::initializer_list<const char*> ops, const char* family,
                RuleBuilder build, std::vector<int> constantSlots = {});

void registerContribAttention(Registry& registry);  ///< Attention, MultiHeadAttention, GQA ...
void registerContribProducts(Registry& registry);   ///< FusedMatMul, MatMulNBits, MoE ...
void registerContribQuantized(Registry& registry);  ///< QLinear*, QGemm, DynamicQuantizeMatMul ...
void registerContribLayers(Registry& registry);     ///< EmbedLayerNormalization, BiasSplitGelu ...

}  // namespace shardwright
