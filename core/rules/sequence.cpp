// SPDX-License-Identifier: Apache-2.0
//
// Operators of sequences, optionals and strings.
#include "rules/registry.h"
#include "rules/rule_maker.h"

namespace shardwright {

namespace {

constexpr const char* kSequence =
    "a sequence or optional is not a tensor, so that it stays on each device";

/// Strings of [c] or [1,c]: words may be dropped, so that those of one row count all others.
std::optional<Rule> buildNormalizeStrings(const NodeContext& context) {
    return wholeRule(context, "words may be dropped from it, so that its length is of the data");
}

/// Each text becomes a row of as many pieces as the longest one has.
std::optional<Rule> buildSplitStrings(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &y = maker.out(0);
    maker.require(y.size() == x.size() + 1);
    const char* reason = "the row of pieces is as long as the longest text needs";
    const Dims dims = maker.wholeDims(x, "d", reason);
    Dims pieces = dims;
    if (!y.empty())
        pieces.push_back({maker.whole("piece", y.back(), reason)});
    maker.input(0, dims);
    maker.output(0, std::move(pieces));
    maker.output(1, dims);
    return maker.finish();
}

/// Element by element, broadcast.
std::optional<Rule> buildStrings(const NodeContext& context) {
    RuleMaker maker(context);
    maker.in(0);
    const Dims target = maker.parallelDims(maker.out(0));
    for (std::size_t slot = 0; slot < context.node.inputs.size(); ++slot)
        maker.input(slot, maker.broadcast(context.input(slot).dims, target));
    maker.output(0, target);
    return maker.finish();
}

}  // namespace

std::optional<Rule> wholeRule(const NodeContext& context, const std::string& reason) {
    RuleMaker maker(context);
    for (std::size_t slot = 0; slot < context.node.inputs.size(); ++slot)
        maker.wholeInput(slot, "i" + std::to_string(slot) + "d", reason);
    for (std::size_t slot = 0; slot < context.node.outputs.size(); ++slot)
        maker.wholeOutput(slot, "o" + std::to_string(slot) + "d", reason);
    maker.flops(0);
    return maker.finish();
}

void registerSequence(Registry& registry) {
    for (const char* op :
         {"ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement",
          "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert",
          "SequenceLength", "SplitToSequence"}) {
        OperatorEntry entry{
            "",
            op,
            "sequence",
            false,
            unsupportedInProposal(op),
            [](const NodeContext& context) { return wholeRule(context, kSequence); },
            {},
            {},
            true};
        entry.anyValues = true;
        entry.dataDependent = kSequence;
        registry.add(std::move(entry));
    }
    const auto add = [&registry](const char* op, RuleBuilder build) {
        registry.add(
            {"", op, "string", false, noRuleInProposal(op), std::move(build), {}, {}, true});
    };
    add("StringConcat", buildStrings);
    add("RegexFullMatch", buildStrings);
    add("StringNormalizer", buildNormalizeStrings);
    add("StringSplit", buildSplitStrings);
}

}  // namespace shardwright
