// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"

#include <algorithm>

namespace shardwright {

namespace {

constexpr const char* kNormalised = "it is normalised along it";

/// Mean, InvStdDev and the like: as the input, with nothing where it is normalised.
void setStatistics(RuleMaker& maker, std::size_t slot, const Dims& dims, std::size_t axis) {
    if (!maker.context().hasOutput(slot))
        return;
    const Sizes& sizes = maker.context().output(slot).dims;
    Dims out(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(std::min(axis, dims.size())));
    out.resize(dims.size());
    maker.output(slot, maker.broadcast(sizes, out, 0));
}

Dims normalisedFrom(RuleMaker& maker, const Sizes& x, std::size_t axis) {
    Dims dims;
    for (std::size_t d = 0; d < x.size(); ++d)
        dims.push_back({d >= axis ? maker.whole("h" + std::to_string(d - axis), x[d], kNormalised)
                                  : maker.parallel("d" + std::to_string(d), x[d])});
    return dims;
}

/// LayerNormalization, RMSNormalization: scale and bias are broadcast to x.
///   axis -1 of [2,8], [8], [8]      d0 h0^, h0^, h0^ -> d0 h0^
std::optional<Rule> buildLayerNorm(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    maker.require(x == maker.out(0));
    const std::size_t axis = maker.axis(context.attribute("axis", -1), x.size());
    const Dims dims = normalisedFrom(maker, x, axis);
    maker.input(0, dims);
    for (std::size_t slot = 1; slot < context.node.inputs.size(); ++slot)
        maker.input(slot, maker.broadcast(context.input(slot).dims, dims));
    maker.output(0, dims);
    setStatistics(maker, 1, dims, axis);
    setStatistics(maker, 2, dims, axis);
    maker.flops(8 * maker.elements(x));
    return maker.finish();
}

/// com.microsoft SkipLayerNormalization and its simplified form: x, skip, then vectors; output 3 is
/// their sum.
std::optional<Rule> buildSkipNorm(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    maker.require(x == maker.out(0) && !x.empty());
    if (maker.failed())
        return std::nullopt;
    const std::size_t axis = x.size() - 1;
    const Dims dims = normalisedFrom(maker, x, axis);
    maker.input(0, dims);
    for (std::size_t slot = 1; slot < context.node.inputs.size(); ++slot)
        maker.input(slot, maker.broadcast(context.input(slot).dims, dims));
    maker.output(0, dims);
    setStatistics(maker, 1, dims, axis);
    setStatistics(maker, 2, dims, axis);
    if (context.hasOutput(3)) {
        maker.require(context.output(3).dims == x);
        maker.output(3, dims);
    }
    maker.flops(9 * maker.elements(x));
    return maker.finish();
}

/// n, c, then the rest; whole where the statistics are taken.
Dims channelDims(RuleMaker& maker, const Sizes& x, bool wholeBatch, bool wholeChannel,
                 bool wholeRest) {
    Dims dims;
    for (std::size_t d = 0; d < x.size(); ++d) {
        const std::string name = d == 0 ? "n" : d == 1 ? "c" : "s" + std::to_string(d - 2);
        const bool whole = d == 0 ? wholeBatch : d == 1 ? wholeChannel : wholeRest;
        dims.push_back({whole ? maker.whole(name, x[d], kNormalised) : maker.parallel(name, x[d])});
    }
    return dims;
}

bool batchNormTrains(const NodeContext& context) {
    if (context.opset >= 14)
        return context.attribute("training_mode", 0) != 0;
    if (context.opset < 7)
        return context.attribute("is_test", 0) == 0 && context.node.outputs.size() > 1;
    return context.node.outputs.size() > 1;
}

/// [2,3,4], [3] x 4      n c s0, c, c, c, c -> n c s0
std::optional<Rule> buildBatchNorm(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    maker.require(x == maker.out(0) && !x.empty());
    if (maker.failed())
        return std::nullopt;
    const bool trains = batchNormTrains(context);
    const Dims dims = channelDims(maker, x, trains, false, trains);
    const Dims channel = x.size() > 1 ? Dims{dims[1]} : Dims{{}};
    maker.input(0, dims);
    for (std::size_t slot = 1; slot < context.node.inputs.size(); ++slot)
        maker.input(slot, maker.broadcast(context.input(slot).dims, channel));
    maker.output(0, dims);
    for (std::size_t slot = 1; slot < context.node.outputs.size(); ++slot)
        if (context.hasOutput(slot))
            maker.output(slot, maker.broadcast(context.output(slot).dims, channel));
    maker.flops((trains ? 8 : 2) * maker.elements(x));
    return maker.finish();
}

/// [2,3,4], [3], [3]      n c s0^, c, c -> n c s0^
std::optional<Rule> buildInstanceNorm(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    maker.require(x == maker.out(0) && x.size() >= 2);
    if (maker.failed())
        return std::nullopt;
    const Dims dims = channelDims(maker, x, false, false, true);
    maker.input(0, dims);
    for (std::size_t slot = 1; slot < context.node.inputs.size(); ++slot)
        maker.input(slot, maker.broadcast(context.input(slot).dims, {dims[1]}));
    maker.output(0, dims);
    maker.flops(8 * maker.elements(x));
    return maker.finish();
}

/// Groups of channels are independent of each other; before opset 21 scale and bias are one a
/// group.
///   2 groups of [2,6,4], [6], [6]      n (g c^) s0^, (g c^), (g c^) -> n (g c^) s0^
std::optional<Rule> buildGroupNorm(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    const std::int64_t groups = context.attribute("num_groups", 0);
    maker.require(x == maker.out(0) && x.size() >= 2 && groups > 0);
    if (maker.failed() || x[1] % groups != 0)
        return std::nullopt;
    Dims dims = channelDims(maker, x, false, false, true);
    const int g = maker.parallel("g", groups);
    dims[1] = {g, maker.whole("c", x[1] / groups, kNormalised)};
    maker.input(0, dims);
    for (std::size_t slot = 1; slot < context.node.inputs.size(); ++slot) {
        const bool byGroup = context.opset < 21 && maker.in(slot) == Sizes{groups};
        maker.input(slot,
                    maker.broadcast(maker.in(slot), {byGroup ? std::vector<int>{g} : dims[1]}));
    }
    maker.output(0, dims);
    Rewrite rewrite{Rewrite::Kind::LocalAttribute};
    rewrite.name = "num_groups";
    rewrite.factors = {g};
    maker.rewrite(std::move(rewrite));
    maker.flops(8 * maker.elements(x));
    return maker.finish();
}

/// Normalised over the dimensions that `whole` names.
std::optional<Rule> buildNormalisedAxes(const NodeContext& context,
                                        const std::function<Sizes(std::size_t)>& whole) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    maker.require(x == maker.out(0));
    const auto axes = maker.axes(whole(x.size()), x.size());
    Dims dims;
    for (std::size_t d = 0; d < x.size(); ++d) {
        const bool isWhole = std::find(axes.begin(), axes.end(), d) != axes.end();
        const std::string name = "d" + std::to_string(d);
        dims.push_back(
            {isWhole ? maker.whole(name, x[d], kNormalised) : maker.parallel(name, x[d])});
    }
    maker.input(0, dims);
    maker.output(0, dims);
    maker.flops(4 * maker.elements(x));
    return maker.finish();
}

std::optional<Rule> buildLpNorm(const NodeContext& context) {
    return buildNormalisedAxes(context,
                               [&](std::size_t) { return Sizes{context.attribute("axis", -1)}; });
}

std::optional<Rule> buildMeanVariance(const NodeContext& context) {
    const Sizes axes = context.attributeInts("axes");
    return buildNormalisedAxes(context, [&](std::size_t) {
        return axes.empty() ? Sizes{0, 2, 3} : axes;
    });
}

std::optional<Rule> buildLrn(const NodeContext& context) {
    return buildNormalisedAxes(context, [](std::size_t) { return Sizes{1}; });
}

}  // namespace

void registerNormalization(Registry& registry) {
    const std::string family = "normalization";
    const std::string foreign = foreignToProposal();
    registry.add({"",
                  "LayerNormalization",
                  family,
                  false,
                  unsupportedInProposal("LayerNormalization"),
                  buildLayerNorm,
                  {},
                  {},
                  true});
    registry.add({"",
                  "RMSNormalization",
                  family,
                  false,
                  noRuleInProposal("RMSNormalization"),
                  buildLayerNorm,
                  {},
                  {},
                  true});
    for (const char* domain : {"", "com.microsoft"})
        registry.add({domain,
                      "SimplifiedLayerNormalization",
                      family,
                      false,
                      foreign,
                      buildLayerNorm,
                      {},
                      {},
                      true});
    for (const char* op : {"SkipLayerNormalization", "SkipSimplifiedLayerNormalization"})
        registry.add({"com.microsoft", op, family, false, foreign, buildSkipNorm, {}, {}, true});
    registry.add({"",
                  "BatchNormalization",
                  family,
                  false,
                  noRuleInProposal("BatchNormalization"),
                  buildBatchNorm,
                  {},
                  {},
                  true});
    registry.add({"",
                  "InstanceNormalization",
                  family,
                  false,
                  unsupportedInProposal("InstanceNormalization"),
                  buildInstanceNorm,
                  {},
                  {},
                  true});
    registry.add({"",
                  "GroupNormalization",
                  family,
                  false,
                  noRuleInProposal("GroupNormalization"),
                  buildGroupNorm,
                  {},
                  {},
                  true});
    registry.add({"",
                  "LpNormalization",
                  family,
                  false,
                  unsupportedInProposal("LpNormalization"),
                  buildLpNorm,
                  {},
                  {},
                  true});
    registry.add({"",
                  "MeanVarianceNormalization",
                  family,
                  false,
                  noRuleInProposal("MeanVarianceNormalization"),
                  buildMeanVariance,
                  {},
                  {},
                  true});
    registry.add({"", "LRN", family, false, noRuleInProposal("LRN"), buildLrn, {}, {}, true});
}

}  // namespace shardwright
