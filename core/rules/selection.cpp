// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"

namespace shardwright {

namespace {

std::optional<Rule> buildAllWhole(const NodeContext& context, const std::string& reason) {
    RuleMaker maker(context);
    for (std::size_t slot = 0; slot < context.node.inputs.size(); ++slot)
        maker.wholeInput(slot, "i" + std::to_string(slot), reason);
    for (std::size_t slot = 0; slot < context.node.outputs.size(); ++slot)
        maker.wholeOutput(slot, "o" + std::to_string(slot), reason);
    return maker.finish();
}

/// [4,8] along 1, condition [8]      d0 d1^, d1^ -> d0 o1^
std::optional<Rule> buildCompress(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &y = maker.out(0);
    const char* reason = "the condition says what is kept of it";
    maker.wholeInput(1, "condition", reason);
    if (!context.hasAttribute("axis")) {
        maker.wholeInput(0, "d", reason);
        maker.wholeOutput(0, "o", reason);
        return maker.finish();
    }
    const std::size_t axis = maker.axis(context.attribute("axis", 0), x.size());
    maker.require(x.size() == y.size());
    if (maker.failed())
        return std::nullopt;
    Dims in, out;
    for (std::size_t d = 0; d < x.size(); ++d) {
        const std::string number = std::to_string(d);
        if (d == axis) {
            in.push_back({maker.whole("d" + number, x[d], reason)});
            out.push_back({maker.whole("o" + number, y[d], reason)});
            continue;
        }
        maker.require(x[d] == y[d]);
        in.push_back({maker.parallel("d" + number, x[d])});
        out.push_back(in.back());
    }
    maker.input(0, std::move(in));
    maker.output(0, std::move(out));
    maker.flops(0);
    return maker.finish();
}

/// Rows are counted apart: [2,6] -> [2,4]      n t^ -> n o^
std::optional<Rule> buildTfIdf(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &y = maker.out(0);
    maker.require(x.size() == y.size() && !x.empty() && x.size() <= 2);
    if (maker.failed())
        return std::nullopt;
    const int t = maker.whole("t", x.back(), "sequences of it are counted");
    const int o = maker.whole("o", y.back(), "each is the count of another sequence");
    Dims in{{t}}, out{{o}};
    if (x.size() == 2) {
        maker.require(x[0] == y[0]);
        const int n = maker.parallel("n", x[0]);
        in.insert(in.begin(), std::vector<int>{n});
        out.insert(out.begin(), std::vector<int>{n});
    }
    maker.input(0, std::move(in));
    maker.output(0, std::move(out));
    maker.flops(maker.elements(x));
    return maker.finish();
}

struct Selection {
    const char* op;
    const char* reason;
};

constexpr Selection kSelections[] = {
    {"NonMaxSuppression", "a box is dropped for another one that it overlaps"},
    {"NonZero", "positions are counted over the whole tensor"},
    {"Unique", "every element is compared with all others"},
    {"ImageDecoder", "a compressed image is decoded as a whole"},
};

}  // namespace

void registerSelection(Registry& registry) {
    const std::string family = "selection";
    const std::string counted = "how many there are depends on the data";
    for (const Selection& selection : kSelections)
        registry.add({"",
                      selection.op,
                      family,
                      false,
                      noRuleInProposal(selection.op),
                      [reason = std::string(selection.reason)](const NodeContext& context) {
                          return buildAllWhole(context, reason);
                      },
                      {},
                      {},
                      true,
                      counted});
    registry.add({"",
                  "Compress",
                  family,
                  false,
                  noRuleInProposal("Compress"),
                  buildCompress,
                  {},
                  {},
                  true,
                  counted});
    registry.add({"",
                  "TfIdfVectorizer",
                  family,
                  false,
                  unsupportedInProposal("TfIdfVectorizer"),
                  buildTfIdf,
                  {},
                  {},
                  true});
}

}  // namespace shardwright
