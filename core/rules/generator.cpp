// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"

#include <algorithm>

namespace shardwright {

namespace {

/// Sizes of the whole tensor, whatever its layout: from `start` to `end`, or how many elements.
std::optional<Rule> buildShape(const NodeContext& context, bool count) {
    RuleMaker maker(context);
    maker.require(context.hasInput(0));
    Rewrite rewrite{Rewrite::Kind::Constant};
    rewrite.slot = 0;
    const auto rank = static_cast<std::int64_t>(context.input(0).dims.size());
    const auto position = [&](const char* name, std::int64_t otherwise) {
        const std::int64_t at = context.attribute(name, otherwise);
        return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
    };
    const std::int64_t end = position("end", rank);
    for (std::int64_t d = position("start", 0); d < end && !count; ++d)
        rewrite.dims.push_back(static_cast<int>(d));
    if (count)
        rewrite.name = "count";
    maker.shapeOnly(0);
    maker.wholeOutput(0, "n", "it is the shape of the whole tensor");
    maker.everywhereOutputs();
    maker.rewrite(std::move(rewrite));
    maker.flops(0);
    return maker.finish();
}

/// No input is cut, so that nothing says how the result would be: it is made whole.
std::optional<Rule> buildWhole(const NodeContext& context, const std::string& reason) {
    RuleMaker maker(context);
    for (std::size_t slot = 0; slot < context.node.inputs.size(); ++slot)
        maker.wholeInput(slot, "i" + std::to_string(slot), reason);
    maker.out(0);
    maker.wholeOutput(0, "d", reason);
    maker.flops(0);
    return maker.finish();
}

constexpr const char* kRandom = "random numbers must be drawn in one piece";

/// Reads the shape and type of its input only.
std::optional<Rule> buildLike(const NodeContext& context, const std::string& reason) {
    RuleMaker maker(context);
    maker.require(context.hasInput(0));
    maker.shapeOnly(0);
    maker.out(0);
    maker.wholeOutput(0, "d", reason);
    Rewrite rewrite{Rewrite::Kind::Placeholder};
    rewrite.slot = 0;
    maker.rewrite(std::move(rewrite));
    maker.flops(0);
    return maker.finish();
}

}  // namespace

void registerGenerator(Registry& registry) {
    for (const auto& [op, count] : {std::pair{"Shape", false}, {"Size", true}})
        registry.add(
            {"",
             op,
             "generator",
             false,
             noRuleInProposal(op),
             [count = count](const NodeContext& context) { return buildShape(context, count); },
             {},
             {0},
             true});
    const auto addWhole = [&](const char* op, const std::string& reason, bool strict) {
        registry.add({"",
                      op,
                      "generator",
                      strict,
                      strict ? "" : noRuleInProposal(op),
                      [reason](const NodeContext& context) { return buildWhole(context, reason); },
                      {},
                      {},
                      false});
    };
    // A constant without inputs causes no layout, so that strict backends have nothing to refuse.
    for (const char* op : {"Constant", "ConstantOfShape"})
        addWhole(op, "it is made whole", true);
    for (const char* op :
         {"Range", "BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix"})
        addWhole(op, "it is made whole", false);
    for (const char* op : {"RandomNormal", "RandomUniform", "Bernoulli", "Multinomial"})
        addWhole(op, kRandom, false);
    for (const char* op : {"RandomNormalLike", "RandomUniformLike", "EyeLike"})
        registry.add({"",
                      op,
                      "generator",
                      false,
                      noRuleInProposal(op),
                      [reason = std::string(op[0] == 'R' ? kRandom : "it is made whole")](
                          const NodeContext& context) { return buildLike(context, reason); },
                      {},
                      {},
                      false});
}

}  // namespace shardwright
