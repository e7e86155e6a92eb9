// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"

#include <string_view>

namespace shardwright {

namespace {

/// The size of the whole tensor, whatever its layout.
std::optional<Rule> buildShape(const NodeContext& context) {
    RuleMaker maker(context);
    maker.require(context.hasInput(0));
    maker.shapeOnly(0);
    maker.wholeOutput(0, "n", "it is the shape of the whole tensor");
    maker.everywhereOutputs();
    maker.rewrite(Rewrite{Rewrite::Kind::Constant});
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

/// Reads the shape and type of its input only.
std::optional<Rule> buildLike(const NodeContext& context) {
    RuleMaker maker(context);
    maker.require(context.hasInput(0));
    maker.shapeOnly(0);
    maker.out(0);
    maker.wholeOutput(0, "d", "it is made whole");
    Rewrite rewrite{Rewrite::Kind::Placeholder};
    rewrite.slot = 0;
    maker.rewrite(std::move(rewrite));
    maker.flops(0);
    return maker.finish();
}

}  // namespace

void registerGenerator(Registry& registry) {
    for (const char* op : {"Shape", "Size"})
        registry.add({"", op, "generator", false, noRuleInProposal(op), buildShape, {}, {0}, true});
    for (const char* op :
         {"Constant", "ConstantOfShape", "Range", "RandomNormal", "RandomUniform"}) {
        const bool random = op[0] == 'R' && op[1] == 'a' && op[2] == 'n' && op[3] == 'd';
        const std::string reason =
            random ? "random numbers must be drawn in one piece" : "it is made whole";
        // A constant without inputs causes no layout, so that strict backends have nothing to
        // refuse.
        const bool strict = std::string_view(op).starts_with("Constant");
        registry.add({"",
                      op,
                      "generator",
                      strict,
                      strict ? "" : noRuleInProposal(op),
                      [reason](const NodeContext& context) { return buildWhole(context, reason); },
                      {},
                      {},
                      false});
    }
    for (const char* op : {"RandomNormalLike", "RandomUniformLike", "EyeLike"})
        registry.add({"", op, "generator", false, noRuleInProposal(op), buildLike, {}, {}, false});
}

}  // namespace shardwright
