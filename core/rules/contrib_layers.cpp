// SPDX-License-Identifier: Apache-2.0
#include "rules/contrib.h"

namespace shardwright {

namespace {

constexpr const char* kNormalised = "it is normalised along it";

/// Words, positions and segments are looked up, added and normalised.
///   [b,s], [b,s], [v,h], [p,h], [g,h], [h], [h]
///     b s, b s, v^ h^, p^ h^, g^ h^, h^, h^ -> b s h^
std::optional<Rule> buildEmbedLayerNorm(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &ids = maker.in(0), &words = maker.in(2), &y = maker.out(0);
    maker.require(ids.size() == 2 && words.size() == 2 && y.size() == 3 && y[2] == words[1]);
    if (maker.failed())
        return std::nullopt;
    const int b = maker.parallel("b", ids[0]);
    const int s = context.hasInput(7) || context.hasOutput(1)
                      ? maker.whole("s", ids[1], "the mask is counted along it")
                  : context.hasInput(8)
                      ? maker.parallel("s", ids[1])
                      : maker.whole("s", ids[1], "positions are counted from the first row");
    const int h = maker.whole("h", words[1], kNormalised);
    for (const std::size_t slot : {0, 1, 7, 8})
        if (context.hasInput(slot))
            maker.input(slot, maker.broadcast(context.input(slot).dims, {{b}, {s}}));
    for (const std::size_t slot : {2, 3, 4})
        if (context.hasInput(slot)) {
            const Sizes& table = context.input(slot).dims;
            maker.require(table.size() == 2 && table[1] == words[1]);
            if (maker.failed())
                return std::nullopt;
            maker.input(slot, {{maker.whole("v" + std::to_string(slot), table[0],
                                            "what is looked up is normalised before it is joined")},
                               {h}});
        }
    for (const std::size_t slot : {5, 6})
        setLike(maker, slot, {{h}});
    maker.output(0, {{b}, {s}, {h}});
    maker.output(1, {{b}});
    maker.output(2, {{b}, {s}, {h}});
    maker.flops(10 * maker.elements(y));
    return maker.finish();
}

/// Each list of numbers looks up rows of its own table.
ElementUse embeds(const NodeContext& context) {
    return {{{0, sizeAt(context, 2, 0)}, {1, sizeAt(context, 4, 0)}, {8, sizeAt(context, 3, 0)}},
            {}};
}

/// The left half is multiplied by the activation of the right one.
///   [n,s,2*d], [2*d]      n s (half^ d), (half^ d) -> n s d
std::optional<Rule> buildBiasSplitGelu(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &y = maker.out(0);
    maker.require(!x.empty() && y.size() == x.size() && x.back() == 2 * y.back());
    if (maker.failed())
        return std::nullopt;
    Dims in = maker.parallelDims(Sizes(x.begin(), x.end() - 1)), out = in;
    const int half = maker.whole("half", 2, "one half is the gate of the other"),
              d = maker.parallel("d", y.back());
    in.push_back({half, d});
    out.push_back({d});
    maker.input(0, std::move(in));
    setLike(maker, 1, {{half, d}});
    maker.output(0, std::move(out));
    maker.travels({.elementwise = true, .passThrough = true});
    maker.flops(8 * maker.elements(y));
    return maker.finish();
}

/// Dimensions from the axis on are one; the bias is broadcast.
std::optional<Rule> buildBiasSoftmax(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    maker.require(x == maker.out(0));
    const std::size_t axis = maker.axis(context.attribute("axis", 1), x.size());
    Dims dims;
    for (std::size_t d = 0; d < x.size(); ++d) {
        const std::string name = "d" + std::to_string(d);
        dims.push_back(
            {d < axis ? maker.parallel(name, x[d]) : maker.whole(name, x[d], kNormalised)});
    }
    maker.input(0, dims);
    setLike(maker, 1, dims);
    maker.output(0, dims);
    maker.flops(6 * maker.elements(x));
    return maker.finish();
}

/// Groups of channels of each picture. GroupNorm: x, scale, bias; SkipGroupNorm: also skip and
/// bias.
std::optional<Rule> buildGroupNorm(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    maker.require(x == maker.out(0) && !x.empty());
    if (maker.failed())
        return std::nullopt;
    Dims dims = maker.wholeDims(x, "d", kNormalised);
    dims[0] = {maker.parallel("n", x[0])};
    maker.input(0, dims);
    for (std::size_t slot = 1; slot < context.node.inputs.size(); ++slot) {
        const Sizes& sizes = context.input(slot).dims;
        if (sizes.size() > 1 && sizes[0] == x[0]) {
            Dims own = maker.wholeDims(sizes, "i" + std::to_string(slot), kNormalised);
            own[0] = dims[0];
            maker.input(slot, std::move(own));
        } else {
            maker.wholeInput(slot, "i" + std::to_string(slot), kNormalised);
        }
    }
    maker.output(0, dims);
    maker.output(1, dims);
    maker.flops(8 * maker.elements(x));
    return maker.finish();
}

/// Each matrix by itself.
std::optional<Rule> buildInverse(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    maker.require(x == maker.out(0) && x.size() >= 2);
    if (maker.failed())
        return std::nullopt;
    Dims dims;
    for (std::size_t d = 0; d < x.size(); ++d) {
        const std::string name = "d" + std::to_string(d);
        dims.push_back({d + 2 < x.size()
                            ? maker.parallel(name, x[d])
                            : maker.whole(name, x[d], "a matrix is inverted as a whole")});
    }
    maker.input(0, dims);
    maker.output(0, dims);
    return maker.finish();
}

/// x, bias and skip of its shape.
std::optional<Rule> buildBroadcast(const NodeContext& context) {
    RuleMaker maker(context);
    maker.require(maker.in(0) == maker.out(0));
    const Dims dims = maker.parallelDims(maker.out(0));
    for (std::size_t slot = 0; slot < context.node.inputs.size(); ++slot)
        setLike(maker, slot, dims);
    maker.output(0, dims);
    maker.travels({.elementwise = true, .passThrough = true});
    return maker.finish();
}

RuleBuilder as(StandIn standIn) {
    return [standIn = std::move(standIn)](const NodeContext& context) {
        return buildAs(context, standIn);
    };
}

}  // namespace

void registerContribLayers(Registry& registry) {
    addContrib(registry, {"EmbedLayerNormalization"}, "normalization", buildEmbedLayerNorm);
    addContrib(registry, {"GroupNorm", "SkipGroupNorm"}, "normalization", buildGroupNorm);
    registry.describe("com.microsoft", "EmbedLayerNormalization", embeds);
    addContrib(registry, {"BiasSplitGelu"}, "broadcast", buildBiasSplitGelu);
    addContrib(registry, {"BiasAdd", "ScaledSiLU"}, "broadcast", buildBroadcast);
    addContrib(registry, {"BiasSoftmax"}, "whole-axis", buildBiasSoftmax);
    addContrib(registry, {"Inverse"}, "whole-axis", buildInverse);
    addContrib(registry, {"Trilu"}, "whole-axis", as({"Trilu", 14, {0, 1}}));
    addContrib(registry, {"GatherND"}, "indexed", as({"GatherND", 12, {0, 1}}));
    registry.describe("com.microsoft", "GatherND", registry.find("", "GatherND")->elements);
    addContrib(registry, {"Pad"}, "window", as({"Pad", 13, {0, 1, 2}}), {1});
    addContrib(registry, {"Range"}, "generator", as({"Range", 11, {0, 1, 2}}), {0, 1, 2});
    addContrib(registry, {"GridSample"}, "window", as({"GridSample", 16, {0, 1}}));
}

}  // namespace shardwright
