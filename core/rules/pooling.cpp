// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"
#include "rules/spatial.h"

#include <onnx/onnx_pb.h>

namespace shardwright {

namespace {

Dims joined(int n, int c, const Dims& spatial) {
    Dims dims{{n}, {c}};
    dims.insert(dims.end(), spatial.begin(), spatial.end());
    return dims;
}

/// AveragePool, LpPool, MaxPool: every image and channel is pooled on its own, and windows side by
/// side are, too.
///   kernel 2, stride 2 of [2,3,8]      n c (l kl^) -> n c l
///   kernel 3, stride 1 of [2,3,8]      n c l~ -> n c l~
/// The indices of MaxPool count over the whole tensor, so that nothing of it can be split.
std::optional<Rule> buildPool(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &y = maker.out(0);
    maker.require(x.size() >= 3 && x.size() == y.size());
    if (maker.failed())
        return std::nullopt;
    maker.require(x[0] == y[0] && x[1] == y[1]);
    const Sizes kernel = context.attributeInts("kernel_shape");
    maker.flops(maker.elements(y) * maker.elements(kernel));
    if (context.hasOutput(1)) {
        const char* reason = "the indices count over the whole tensor";
        maker.wholeInput(0, "x", reason);
        const Dims dims = maker.wholeDims(y, "y", reason);
        maker.require(context.output(1).dims == y);
        maker.output(0, dims);
        maker.output(1, dims);
        return maker.finish();
    }
    const auto windows = windowsOf(maker, kernel, spatialSizes(x));
    const SpatialDims spatial = spatialDims(maker, windows, spatialSizes(x), spatialSizes(y), 0);
    const int n = maker.parallel("n", x[0]), c = maker.parallel("c", x[1]);
    maker.input(0, joined(n, c, spatial.wide));
    maker.output(0, joined(n, c, spatial.narrow));
    return maker.finish();
}

/// What runs where the pixels are split.
void runAsReduction(RuleMaker& maker, const char* op, int axesInputSince, std::size_t rank) {
    Rewrite rewrite{Rewrite::Kind::ReplaceOperator};
    rewrite.name = op;
    for (std::size_t d = 2; d < rank; ++d)
        rewrite.axes.push_back(static_cast<std::int64_t>(d));
    rewrite.axesToInput = maker.context().opset >= axesInputSince;
    maker.rewrite(std::move(rewrite));
}

/// [2,3,4,4]      n c h+ w+ -> n c 1 1      a reduction over all pixels
std::optional<Rule> buildGlobalPool(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &y = maker.out(0);
    maker.require(x.size() >= 3 && x.size() == y.size());
    if (maker.failed())
        return std::nullopt;
    const std::string_view op = context.graph.opType(context.node.id);
    // Before opset 2 p was a real number.
    const std::int64_t p = context.opset < 2 ? 0 : context.attribute("p", 2);
    const bool largest = op == "GlobalMaxPool", mean = op == "GlobalAveragePool";
    std::string whole;
    if (!largest && !mean && p != 1 && p != 2)
        whole = "the root of order p is taken over all of it";
    Dims pixels;
    for (std::size_t d = 2; d < x.size(); ++d) {
        const std::string name = spatialName(d - 2, x.size() - 2);
        pixels.push_back(
            {whole.empty()
                 ? maker.reduction(name, x[d], largest ? ReduceKind::Max : ReduceKind::Sum)
                 : maker.whole(name, x[d], whole)});
    }
    const double count = maker.elements(spatialSizes(x));
    if (mean && count > 0) {
        runAsReduction(maker, "ReduceSum", 13, x.size());
        Rewrite scale{Rewrite::Kind::Scale};
        scale.scale = 1.0 / count;
        maker.rewrite(std::move(scale));
    } else if (!largest && whole.empty()) {
        runAsReduction(maker, p == 1 ? "ReduceL1" : "ReduceSumSquare", 18, x.size());
        if (p == 2) {
            Rewrite tail{Rewrite::Kind::Tail};
            tail.name = "Sqrt";
            maker.rewrite(std::move(tail));
        }
    }
    const int n = maker.parallel("n", x[0]), c = maker.parallel("c", x[1]);
    maker.input(0, joined(n, c, pixels));
    maker.output(0, joined(n, c, Dims(pixels.size())));
    maker.flops(maker.elements(x));
    return maker.finish();
}

std::optional<Rule> buildUnpool(const NodeContext& context) {
    RuleMaker maker(context);
    const char* reason = "the indices count over the whole tensor";
    const Dims dims = maker.wholeDims(maker.in(0), "x", reason);
    maker.require(maker.in(1) == maker.in(0));
    maker.out(0);
    maker.input(0, dims);
    maker.input(1, dims);
    maker.wholeInput(2, "shape", "the shape is read whole");
    maker.wholeOutput(0, "y", reason);
    return maker.finish();
}

/// Channels and pixels of images and of the regions that are pooled.
struct Regions {
    int n = -1, c = -1, r = -1;
    Dims images, pooled;
};

Regions regionsOf(RuleMaker& maker, int images) {
    Regions regions;
    const Sizes &x = maker.in(0), &y = maker.out(0);
    maker.require(x.size() == 4 && y.size() == 4);
    if (maker.failed())
        return regions;
    regions.n = images;
    regions.c = maker.parallel("c", x[1]);
    regions.r = maker.parallel("r", y[0]);
    const Dims pixels = maker.wholeDims({x[2], x[3]}, "x", "regions may lie anywhere");
    const Dims bins =
        maker.wholeDims({y[2], y[3]}, "y", "the output's size is an attribute of the operator");
    regions.images = joined(regions.n, regions.c, pixels);
    regions.pooled = joined(regions.r, regions.c, bins);
    return regions;
}

/// [2,3,8,8], [5,5]      n^ c x0^ x1^, r box^ -> r c y0^ y1^
std::optional<Rule> buildMaxRoiPool(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &rois = maker.in(1);
    maker.require(x.size() == 4 && rois.size() == 2);
    if (maker.failed())
        return std::nullopt;
    const Regions regions =
        regionsOf(maker, maker.whole("n", x[0], "a region names its image by number"));
    maker.input(0, regions.images);
    maker.input(1, {{regions.r}, {maker.whole("box", rois[1], "a region is five numbers")}});
    maker.output(0, regions.pooled);
    return maker.finish();
}

/// Images are split by a masked lookup: each device pools the regions of its images.
///   [2,3,8,8], [5,4], [5]      n+ c x0^ x1^, r box^, r -> r c y0^ y1^
std::optional<Rule> buildRoiAlign(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &rois = maker.in(1), &numbers = maker.in(2);
    maker.require(x.size() == 4 && rois.size() == 2 && numbers.size() == 1);
    if (maker.failed())
        return std::nullopt;
    const int n = maker.reduction("n", x[0], ReduceKind::Sum);
    Rewrite rewrite{Rewrite::Kind::MaskedLookup};
    rewrite.slot = 2;
    rewrite.factor = n;
    maker.rewrite(std::move(rewrite));
    const Regions regions = regionsOf(maker, n);
    maker.input(0, regions.images);
    maker.input(1, {{regions.r}, {maker.whole("box", rois[1], "a region is four numbers")}});
    maker.input(2, {{regions.r}});
    maker.output(0, regions.pooled);
    maker.flops(10 * maker.elements(maker.out(0)));
    return maker.finish();
}

}  // namespace

void registerPooling(Registry& registry) {
    const auto add = [&](const char* op, std::optional<Rule> (*build)(const NodeContext&),
                         bool listed = true) {
        registry.add({"",
                      op,
                      "pooling",
                      false,
                      listed ? unsupportedInProposal(op) : noRuleInProposal(op),
                      build,
                      {},
                      {},
                      true});
    };
    for (const char* op : {"AveragePool", "LpPool", "MaxPool"})
        add(op, buildPool);
    for (const char* op : {"GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"})
        add(op, buildGlobalPool);
    add("MaxUnpool", buildUnpool, false);
    add("MaxRoiPool", buildMaxRoiPool);
    add("RoiAlign", buildRoiAlign, false);
    registry.describe("", "RoiAlign", [](const NodeContext& context) {
        return ElementUse{{{2, sizeAt(context, 0, 0)}}, {}};
    });
    // They count over the whole of the output.
    registry.describe("", "MaxUnpool", [](const NodeContext& context) {
        const TensorInfo& whole = context.output(0);
        return ElementUse{{{1, whole.concrete() ? whole.elementCount() : -1}}, {}};
    });
}

}  // namespace shardwright
