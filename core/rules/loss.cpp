// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"

namespace shardwright {

namespace {

/// Losses of single samples add up; a mean does where every sample counts the same.
///   none    n c^ d, n d, c^ -> n d
///   sum     n+ c^ d+, n+ d+, c^ -> .
///   mean    the same: the sum is divided by the number of samples
/// SoftmaxCrossEntropyLoss can give the logarithms of the probabilities as well: n c^ d.
std::optional<Rule> buildLoss(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &target = maker.in(1);
    maker.require(x.size() >= 2 && target.size() + 1 == x.size());
    if (maker.failed())
        return std::nullopt;
    const std::string reduction = context.attribute("reduction", "mean");
    const bool weighed = context.hasInput(2) || context.hasAttribute("ignore_index");
    const bool mean = reduction == "mean";
    double samples = 1;
    Dims in, at, out;
    for (std::size_t d = 0; d < x.size(); ++d) {
        const std::string name = d == 0 ? "n" : "d" + std::to_string(d - 1);
        if (d == 1) {
            in.push_back({maker.whole("c", x[1], "the target says which of them is taken")});
            continue;
        }
        maker.require(target[d == 0 ? 0 : d - 1] == x[d]);
        samples *= static_cast<double>(x[d]);
        if (reduction == "none")
            in.push_back({maker.parallel(name, x[d])});
        else if (mean && weighed)
            in.push_back({maker.whole(name, x[d],
                                      "the mean is divided by weights that the targets choose")});
        else
            in.push_back({maker.reduction(name, x[d], ReduceKind::Sum)});
        at.push_back(in.back());
    }
    if (reduction == "none")
        out = at;
    maker.input(0, in);
    maker.input(1, at);
    maker.input(2, {in[1]});
    maker.output(0, std::move(out));
    maker.output(1, in);
    if (mean && !weighed && samples > 0) {
        Rewrite sum{Rewrite::Kind::SetAttribute};
        sum.name = "reduction";
        sum.text = "sum";
        maker.rewrite(std::move(sum));
        Rewrite scale{Rewrite::Kind::Scale};
        scale.scale = 1.0 / samples;
        maker.rewrite(std::move(scale));
    }
    maker.flops(5 * maker.elements(x));
    return maker.finish();
}

}  // namespace

void registerLoss(Registry& registry) {
    for (const char* op : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"})
        registry.add({"", op, "loss", false, noRuleInProposal(op), buildLoss, {}, {}, true});
    // A label names a class.
    for (const char* op : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"})
        registry.describe("", op, [](const NodeContext& context) {
            return ElementUse{{{1, sizeAt(context, 0, 1)}}, {}};
        });
}

}  // namespace shardwright
