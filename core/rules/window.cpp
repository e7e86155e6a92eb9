// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"

#include <algorithm>

namespace shardwright {

namespace {

/// Dims of all dimensions but `axis`, which stays empty.
Dims allBut(RuleMaker& maker, const Sizes& sizes, std::size_t axis) {
    Dims dims;
    for (std::size_t d = 0; d < sizes.size(); ++d)
        dims.push_back(d == axis
                           ? std::vector<int>{}
                           : std::vector<int>{maker.parallel("d" + std::to_string(d), sizes[d])});
    return dims;
}

/// Whether two shapes differ at `axis` at most.
bool sameBut(const Sizes& a, const Sizes& b, std::size_t axis) {
    if (a.size() != b.size())
        return false;
    for (std::size_t d = 0; d < a.size(); ++d)
        if (d != axis && a[d] != b[d])
            return false;
    return true;
}

Dims withAxis(Dims dims, std::size_t axis, std::vector<int> factors) {
    dims[axis] = std::move(factors);
    return dims;
}

/// Equal parts: part i of the whole is tensor i, so that a strided cut of the whole is a cut of
/// each part.
///   Concat [2,3], [2,3] -> [2,6]      d0 a, d0 a -> d0 (part^ a)
/// Parts of different sizes have no common cut:
///   Concat [2,3], [2,5] -> [2,8]      d0 a0^, d0 a1^ -> d0 a^
std::optional<Rule> buildConcat(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& y = maker.out(0);
    const std::size_t axis = maker.axis(context.attribute("axis", 1), y.size());
    const std::size_t count = context.node.inputs.size();
    for (std::size_t slot = 0; slot < count; ++slot)
        maker.require(sameBut(maker.in(slot), y, axis));
    if (maker.failed() || count == 0)
        return std::nullopt;
    bool equal = true;
    std::int64_t total = 0;
    for (std::size_t slot = 0; slot < count; ++slot) {
        equal = equal && maker.in(slot)[axis] == maker.in(0)[axis];
        maker.require(!__builtin_add_overflow(total, maker.in(slot)[axis], &total));
    }
    maker.require(total == y[axis]);
    const Dims others = allBut(maker, y, axis);
    const std::string reason =
        equal ? "each part is a tensor of its own" : "the parts have different sizes";
    const int inner = equal ? maker.parallel("a", maker.in(0)[axis]) : -1;
    for (std::size_t slot = 0; slot < count; ++slot) {
        const int own =
            equal ? inner : maker.whole("a" + std::to_string(slot), maker.in(slot)[axis], reason);
        maker.input(slot, withAxis(others, axis, {own}));
    }
    if (equal)
        maker.output(
            0, withAxis(others, axis,
                        {maker.whole("part", static_cast<std::int64_t>(count), reason), inner}));
    else
        maker.output(0, withAxis(others, axis, {maker.whole("a", y[axis], reason)}));
    maker.travels({.cheapestInputs = true});
    maker.flops(0);
    return maker.finish();
}

/// Along the last dimension each input begins where those before it end.
ElementUse joinedElements(const NodeContext& context) {
    ElementUse use;
    const std::int64_t axis = context.attribute("axis", 1);
    const auto rank = static_cast<std::int64_t>(context.output(0).dims.size());
    const bool last = axis == -1 || axis == rank - 1;
    std::int64_t column = rank == 0 ? -1 : 0;
    for (std::size_t slot = 0; slot < context.node.inputs.size(); ++slot) {
        use.carried.push_back({static_cast<int>(slot), 0, column});
        if (!last || column < 0)
            continue;
        const std::int64_t size = sizeAt(context, slot, -1);
        column = size < 0 ? -1 : column + size;
    }
    return use;
}

ElementUse splitElements(const NodeContext& context) {
    ElementUse use;
    for (std::size_t output = 0; output < context.node.outputs.size(); ++output)
        use.carried.push_back({0, static_cast<int>(output)});
    return use;
}

/// The sizes of the parts, where they are given rather than their number.
void rewriteSplitSizes(RuleMaker& maker, std::size_t axis) {
    const NodeContext& context = maker.context();
    Rewrite rewrite{Rewrite::Kind::LocalSizesInput};
    rewrite.dim = static_cast<int>(axis);
    if (context.opset >= 13 && context.hasInput(1)) {
        rewrite.slot = 1;
    } else if (context.opset < 13 && context.hasAttribute("split")) {
        rewrite.kind = Rewrite::Kind::LocalSizesAttribute;
        rewrite.name = "split";
    } else {
        return;
    }
    maker.rewrite(std::move(rewrite));
}

/// The inverse of Concat.
///   Split [2,6] -> [2,3], [2,3]      d0 (part^ a) -> d0 a, d0 a
std::optional<Rule> buildSplit(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    const std::size_t axis = maker.axis(context.attribute("axis", 0), x.size());
    const std::size_t count = context.node.outputs.size();
    bool equal = true;
    std::int64_t total = 0;
    for (std::size_t slot = 0; slot < count && !maker.failed(); ++slot) {
        maker.require(sameBut(maker.out(slot), x, axis));
        if (maker.failed())
            break;
        equal = equal && maker.out(slot)[axis] == maker.out(0)[axis];
        maker.require(!__builtin_add_overflow(total, maker.out(slot)[axis], &total));
    }
    if (maker.failed() || count == 0 || total != x[axis])
        return std::nullopt;
    const Dims others = allBut(maker, x, axis);
    const std::string reason =
        equal ? "each part is a tensor of its own" : "the parts have different sizes";
    const int inner = equal ? maker.parallel("a", maker.out(0)[axis]) : -1;
    if (equal)
        maker.input(
            0, withAxis(others, axis,
                        {maker.whole("part", static_cast<std::int64_t>(count), reason), inner}));
    else
        maker.input(0, withAxis(others, axis, {maker.whole("a", x[axis], reason)}));
    for (std::size_t slot = 0; slot < count; ++slot) {
        const int own =
            equal ? inner : maker.whole("a" + std::to_string(slot), maker.out(slot)[axis], reason);
        maker.output(slot, withAxis(others, axis, {own}));
    }
    maker.wholeInput(1, "sizes", "the sizes are read whole");
    rewriteSplitSizes(maker, axis);
    maker.flops(0);
    return maker.finish();
}

/// [4,1], shape -> [2,4,3]      d1 1, shape^ -> d0 d1 d2
std::optional<Rule> buildExpand(const NodeContext& context) {
    RuleMaker maker(context);
    maker.require(context.hasInput(1));
    const Dims target = maker.parallelDims(maker.out(0));
    maker.input(0, maker.broadcast(maker.in(0), target));
    maker.wholeInput(1, "shape", "the shape is read whole");
    maker.output(0, target);
    maker.travels({.backwardFirst = true});
    Rewrite rewrite{Rewrite::Kind::LocalShapeInput};
    rewrite.slot = 1;
    maker.rewrite(std::move(rewrite));
    maker.flops(0);
    return maker.finish();
}

/// [2,3] three times along 1 -> [2,9]      d0 d1, repeats^ -> d0 (rep1^ d1)
std::optional<Rule> buildTile(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &y = maker.out(0);
    maker.require(x.size() == y.size());
    if (maker.failed())
        return std::nullopt;
    const bool empty = std::find(x.begin(), x.end(), 0) != x.end();
    if (empty) {
        maker.wholeInput(0, "d", "it has no elements");
        maker.wholeOutput(0, "o", "it has no elements");
    } else {
        const Dims in = maker.parallelDims(x);
        Dims out;
        for (std::size_t d = 0; d < x.size(); ++d) {
            maker.require(y[d] % x[d] == 0);
            const int rep = maker.whole("rep" + std::to_string(d), y[d] / x[d],
                                        "every copy is made by one node");
            out.push_back({rep, in[d].front()});
        }
        maker.input(0, in);
        maker.output(0, std::move(out));
    }
    for (std::size_t slot = 1; slot < context.node.inputs.size(); ++slot)
        maker.wholeInput(slot, "repeats", "the repeats are read whole");
    maker.flops(0);
    return maker.finish();
}

/// What is added at both ends of each axis, by axis; nothing when not constant.
std::optional<Sizes> padsOf(RuleMaker& maker, std::size_t rank) {
    const NodeContext& context = maker.context();
    std::optional<Sizes> pads;
    if (context.opset >= 11)
        pads = context.constantInts(1);
    else
        pads = context.attributeInts(context.opset >= 2 ? "pads" : "paddings");
    if (!pads)
        return std::nullopt;
    std::vector<std::size_t> axes;
    if (context.opset >= 18 && context.hasInput(3)) {
        const auto given = context.constantInts(3);
        if (!given)
            return std::nullopt;
        for (const std::int64_t a : *given)
            axes.push_back(maker.axis(a, rank));
    } else {
        for (std::size_t d = 0; d < rank; ++d)
            axes.push_back(d);
    }
    maker.require(pads->size() == 2 * axes.size());
    Sizes byAxis(2 * rank, 0);
    for (std::size_t i = 0; i < axes.size() && !maker.failed(); ++i) {
        byAxis[axes[i]] = (*pads)[i];
        byAxis[rank + axes[i]] = (*pads)[axes.size() + i];
    }
    return byAxis;
}

/// [2,3] by 1 at both ends of 1 -> [2,5]      d0 d1^, pads^, . -> d0 p1^
std::optional<Rule> buildPad(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &y = maker.out(0);
    maker.require(x.size() == y.size());
    if (maker.failed())
        return std::nullopt;
    const auto pads = padsOf(maker, x.size());
    Dims in, out;
    for (std::size_t d = 0; d < x.size() && !maker.failed(); ++d) {
        const std::string number = std::to_string(d);
        if (pads && (*pads)[d] == 0 && (*pads)[x.size() + d] == 0) {
            in.push_back({maker.parallel("d" + number, x[d])});
            out.push_back(in.back());
            continue;
        }
        const char* reason = pads ? "padding is added at its ends" : "the padding is not constant";
        in.push_back({maker.whole("d" + number, x[d], reason)});
        out.push_back({maker.whole("p" + number, y[d], reason)});
    }
    maker.input(0, std::move(in));
    maker.output(0, std::move(out));
    maker.wholeInput(1, "pads", "the padding is read whole");
    maker.wholeInput(2, "value", "the value is read whole");
    maker.wholeInput(3, "axes", "the axes are read whole");
    maker.flops(0);
    return maker.finish();
}

}  // namespace

void registerWindow(Registry& registry) {
    registry.add(
        {"", "Concat", "window", false, noRuleInProposal("Concat"), buildConcat, {}, {}, true});
    registry.add(
        {"", "Split", "window", false, noRuleInProposal("Split"), buildSplit, {}, {}, true});
    registry.add(
        {"", "Expand", "window", false, noRuleInProposal("Expand"), buildExpand, {}, {}, true});
    registry.add({"", "Tile", "window", false, noRuleInProposal("Tile"), buildTile, {}, {}, true});
    registry.add({"", "Pad", "window", false, noRuleInProposal("Pad"), buildPad, {1, 3}, {}, true});
    registry.describe("", "Concat", joinedElements);
    registry.describe("", "Split", splitElements);
    for (const char* op : {"Expand", "Tile", "Pad"})
        registry.describe("", op, carries({0}));
}

}  // namespace shardwright
