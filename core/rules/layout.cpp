// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"

namespace shardwright {

namespace {

/// perm [0,2,1]      d0 d1 d2 -> d0 d2 d1
std::optional<Rule> buildTranspose(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    Sizes perm = context.attributeInts("perm");
    if (perm.empty())
        for (std::size_t d = x.size(); d-- > 0;)
            perm.push_back(static_cast<std::int64_t>(d));
    maker.require(perm.size() == x.size() && maker.axes(perm, x.size()).size() == x.size());
    if (maker.failed())
        return std::nullopt;
    const Dims in = maker.parallelDims(x);
    Dims out;
    for (const std::int64_t p : perm)
        out.push_back(in[maker.axis(p, x.size())]);
    maker.input(0, in);
    maker.output(0, std::move(out));
    maker.travels({.passThrough = true});
    maker.flops(0);
    return maker.finish();
}

/// The channels of the deep tensor hold the blocks of the wide one.
///   DepthToSpace DCR    n (u^ v^ c) h w -> n c (h u^) (w v^)
///   DepthToSpace CRD    n (c u^ v^) h w -> n c (h u^) (w v^)
///   SpaceToDepth        likewise, the other way; its mode came with opset 28
std::optional<Rule> buildDepthSpace(const NodeContext& context, bool toSpace) {
    RuleMaker maker(context);
    const Sizes& deep = toSpace ? maker.in(0) : maker.out(0);
    const Sizes& wide = toSpace ? maker.out(0) : maker.in(0);
    const std::int64_t block = context.attribute("blocksize", 0);
    maker.require(deep.size() == 4 && wide.size() == 4 && block > 0);
    if (maker.failed())
        return std::nullopt;
    const char* reason = "the block size is an attribute of the operator";
    const int n = maker.parallel("n", deep[0]), c = maker.parallel("c", wide[1]);
    const int h = maker.parallel("h", deep[2]), w = maker.parallel("w", deep[3]);
    const int u = maker.whole("u", block, reason), v = maker.whole("v", block, reason);
    const bool channelsFirst = context.attribute("mode", "DCR") == "CRD";
    const Dims deepDims{
        {n}, channelsFirst ? std::vector<int>{c, u, v} : std::vector<int>{u, v, c}, {h}, {w}};
    const Dims wideDims{{n}, {c}, {h, u}, {w, v}};
    maker.input(0, toSpace ? deepDims : wideDims);
    maker.output(0, toSpace ? wideDims : deepDims);
    maker.flops(0);
    return maker.finish();
}

}  // namespace

void registerLayout(Registry& registry) {
    registry.add({"",
                  "Transpose",
                  "layout",
                  false,
                  noRuleInProposal("Transpose"),
                  buildTranspose,
                  {},
                  {},
                  true});
    registry.add({"",
                  "DepthToSpace",
                  "layout",
                  false,
                  noRuleInProposal("DepthToSpace"),
                  [](const NodeContext& context) { return buildDepthSpace(context, true); },
                  {},
                  {},
                  true});
    registry.add({"",
                  "SpaceToDepth",
                  "layout",
                  false,
                  noRuleInProposal("SpaceToDepth"),
                  [](const NodeContext& context) { return buildDepthSpace(context, false); },
                  {},
                  {},
                  true});
    for (const char* op : {"Transpose", "DepthToSpace", "SpaceToDepth"})
        registry.describe("", op, carries({0}));
}

}  // namespace shardwright
