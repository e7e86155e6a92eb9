// SPDX-License-Identifier: Apache-2.0
#include "rules/common_factors.h"
#include "rules/registry.h"
#include "rules/rule_maker.h"

namespace shardwright {

namespace {

constexpr const char* kNotNested = "the sizes of the two shapes do not nest here";

Dims dimsOf(const std::vector<std::vector<int>>& parts, const std::vector<int>& factors) {
    Dims dims(parts.size());
    for (std::size_t d = 0; d < parts.size(); ++d)
        for (const int part : parts[d])
            dims[d].push_back(factors[static_cast<std::size_t>(part)]);
    return dims;
}

/// Input 0 and output 0 as two views of the same elements.
void setView(RuleMaker& maker) {
    const CommonFactors common = commonFactors(maker.in(0), maker.out(0));
    maker.require(common.fits);
    std::vector<int> factors;
    std::size_t letters = 0;
    for (const CommonFactors::Part& part : common.parts) {
        const std::string name = part.size == 1 ? "" : letterName(letters++);
        factors.push_back(part.in && part.out ? maker.parallel(name, part.size)
                                              : maker.whole(name, part.size, kNotNested));
    }
    maker.input(0, dimsOf(common.in, factors));
    maker.output(0, dimsOf(common.out, factors));
    maker.travels({.passThrough = true});
    maker.flops(0);
}

Rewrite localShape(const NodeContext& context) {
    Rewrite rewrite{Rewrite::Kind::LocalShapeInput};
    rewrite.slot = 1;
    if (context.opset < 5) {
        rewrite = Rewrite{Rewrite::Kind::LocalShapeAttribute};
        rewrite.name = "shape";
    }
    return rewrite;
}

/// [2,6,64] -> [2,6,4,16]      a b (c d), shape^ -> a b c d
std::optional<Rule> buildReshape(const NodeContext& context) {
    RuleMaker maker(context);
    setView(maker);
    maker.wholeInput(1, "shape", "the shape is read whole");
    maker.require(context.opset < 5 || context.hasInput(1));
    maker.rewrite(localShape(context));
    return maker.finish();
}

/// The local node does the same to the local sizes: an axis that is flattened with others stays
/// within its factors.
std::optional<Rule> buildFlatten(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    const std::int64_t axis = context.attribute("axis", 1);
    const auto rank = static_cast<std::int64_t>(x.size());
    maker.require(axis >= -rank && axis <= rank && maker.out(0).size() == 2);
    setView(maker);
    return maker.finish();
}

std::optional<Rule> buildSqueeze(const NodeContext& context) {
    RuleMaker maker(context);
    setView(maker);
    maker.wholeInput(1, "axes", "the axes are read whole");
    if (!context.hasInput(1) && context.attributeInts("axes").empty()) {
        // Without axes, a dimension that is cut down to one element would vanish, too.
        Rewrite rewrite{Rewrite::Kind::RunAsReshape};
        rewrite.slot = 0;
        maker.rewrite(std::move(rewrite));
    }
    return maker.finish();
}

std::optional<Rule> buildUnsqueeze(const NodeContext& context) {
    RuleMaker maker(context);
    setView(maker);
    maker.wholeInput(1, "axes", "the axes are read whole");
    return maker.finish();
}

}  // namespace

void registerView(Registry& registry) {
    registry.add(
        {"", "Reshape", "view", false, noRuleInProposal("Reshape"), buildReshape, {}, {}, true});
    registry.add(
        {"", "Flatten", "view", false, noRuleInProposal("Flatten"), buildFlatten, {}, {}, true});
    registry.add(
        {"", "Squeeze", "view", false, noRuleInProposal("Squeeze"), buildSqueeze, {}, {}, true});
    registry.add({"",
                  "Unsqueeze",
                  "view",
                  false,
                  noRuleInProposal("Unsqueeze"),
                  buildUnsqueeze,
                  {},
                  {},
                  true});
    for (const char* op : {"Reshape", "Flatten", "Squeeze", "Unsqueeze"})
        registry.describe("", op, carries({0}));
}

}  // namespace shardwright
