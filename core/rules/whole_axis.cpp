// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"

namespace shardwright {

namespace {

/// Parallel dims, except those from `first` on (up to `last`), which are whole.
Dims wholeFrom(RuleMaker& maker, const Sizes& sizes, std::size_t first, std::size_t last,
               const std::string& reason) {
    Dims dims;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
        const std::string name = "d" + std::to_string(d);
        dims.push_back({d >= first && d < last ? maker.whole(name, sizes[d], reason)
                                               : maker.parallel(name, sizes[d])});
    }
    return dims;
}

/// axis 1 of [2,8]      d0 d1^ -> d0 d1^
/// Before opset 13 the input was seen as a matrix: every dimension from the axis on is one.
std::optional<Rule> buildSoftmax(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    const bool matrix = context.opset < 13;
    maker.require(x == maker.out(0));
    const std::size_t axis = maker.axis(context.attribute("axis", matrix ? 1 : -1), x.size());
    const Dims dims =
        wholeFrom(maker, x, axis, matrix ? x.size() : axis + 1, "it is normalised along it");
    maker.input(0, dims);
    maker.output(0, dims);
    maker.flops(5 * maker.elements(x));
    return maker.finish();
}

/// axis 1 of [2,8], keepdims      d0 d1^ -> d0 1
std::optional<Rule> buildArg(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    const std::size_t axis = maker.axis(context.attribute("axis", 0), x.size());
    const Dims dims = wholeFrom(maker, x, axis, axis + 1, "positions are counted along it");
    Dims out;
    for (std::size_t d = 0; d < dims.size(); ++d) {
        if (d != axis)
            out.push_back(dims[d]);
        else if (context.attribute("keepdims", 1) != 0)
            out.emplace_back();
    }
    maker.input(0, dims);
    maker.output(0, std::move(out));
    maker.flops(maker.elements(x));
    return maker.finish();
}

/// 3 along axis 1 of [2,8]      d0 d1^, k^ -> d0 top^, d0 top^
std::optional<Rule> buildTopK(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    const std::size_t axis = maker.axis(context.attribute("axis", -1), x.size());
    const std::size_t shown = context.hasOutput(0) ? 0 : 1;
    const Sizes& y = maker.out(shown);
    maker.require(y.size() == x.size());
    if (maker.failed())
        return std::nullopt;
    const std::string reason = "the largest are searched along it";
    const Dims dims = wholeFrom(maker, x, axis, axis + 1, reason);
    Dims out = dims;
    out[axis] = {maker.whole("top", y[axis], reason)};
    maker.input(0, dims);
    maker.wholeInput(1, "k", "the number is read whole");
    maker.output(0, out);
    maker.output(1, out);
    maker.flops(maker.elements(x));
    return maker.finish();
}

/// axis 1 of [2,8]      d0 d1^, . -> d0 d1^
std::optional<Rule> buildCumulative(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    maker.require(x == maker.out(0) && context.hasInput(1));
    const auto axes = context.constantInts(1);
    Dims dims;
    if (axes && axes->size() == 1) {
        const std::size_t axis = maker.axis(axes->front(), x.size());
        dims = wholeFrom(maker, x, axis, axis + 1, "each element depends on all before it");
    } else {
        dims = wholeFrom(maker, x, 0, x.size(), "the axis is not constant");
    }
    maker.input(0, dims);
    maker.wholeInput(1, "axis", "the axis is read whole");
    maker.output(0, dims);
    return maker.finish();
}

/// [2,4,4]      d0 d1^ d2^ -> d0 d1^ d2^
std::optional<Rule> buildTrilu(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    maker.require(x == maker.out(0) && x.size() >= 2);
    if (maker.failed())
        return std::nullopt;
    const Dims dims = wholeFrom(maker, x, x.size() - 2, x.size(),
                                "the diagonal is counted from its first element");
    maker.input(0, dims);
    maker.wholeInput(1, "k", "the diagonal is read whole");
    maker.output(0, dims);
    maker.flops(0);
    return maker.finish();
}

/// Indices [4], depth 3, axis -1      i0, ., values^ -> i0 depth^
std::optional<Rule> buildOneHot(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &indices = maker.in(0), &y = maker.out(0);
    maker.require(y.size() == indices.size() + 1);
    const std::size_t axis = maker.axis(context.attribute("axis", -1), y.size());
    if (maker.failed())
        return std::nullopt;
    const Dims in = maker.parallelDims(indices, "i");
    Dims out = in;
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis), std::vector<int>{});
    out[axis] = {maker.whole("depth", y[axis], "the depth is one number for all")};
    maker.input(0, in);
    maker.wholeInput(1, "n", "the depth is read whole");
    maker.wholeInput(2, "values", "the values are read whole");
    maker.output(0, std::move(out));
    maker.flops(0);
    return maker.finish();
}

/// time axis 0, batch axis 1 of [4,2,8]      d0^ d1 d2, d1 -> d0^ d1 d2
std::optional<Rule> buildReverseSequence(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    maker.require(x == maker.out(0) && x.size() >= 2 && maker.in(1).size() == 1);
    const std::size_t time = maker.axis(context.attribute("time_axis", 0), x.size());
    const std::size_t batch = maker.axis(context.attribute("batch_axis", 1), x.size());
    maker.require(time != batch);
    if (maker.failed())
        return std::nullopt;
    const Dims dims = wholeFrom(maker, x, time, time + 1, "it is reversed along it");
    maker.input(0, dims);
    maker.input(1, {dims[batch]});
    maker.output(0, dims);
    maker.flops(0);
    return maker.finish();
}

/// [2,3,3]      d0 d1^ d2^ -> d0
std::optional<Rule> buildDet(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    maker.require(x.size() >= 2);
    if (maker.failed())
        return std::nullopt;
    const Dims dims =
        wholeFrom(maker, x, x.size() - 2, x.size(), "the determinant is of the whole matrix");
    maker.input(0, dims);
    maker.output(0, {dims.begin(), dims.end() - 2});
    maker.flops(maker.elements(x) * static_cast<double>(x.back()));
    return maker.finish();
}

}  // namespace

void registerWholeAxis(Registry& registry) {
    const std::string family = "whole-axis";
    for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"})
        registry.add({"", op, family, false, noRuleInProposal(op), buildSoftmax, {}, {}, true});
    for (const char* op : {"ArgMax", "ArgMin"})
        registry.add({"", op, family, false, noRuleInProposal(op), buildArg, {}, {}, true});
    for (const char* op : {"CumSum", "CumProd"})
        registry.add({"", op, family, false, noRuleInProposal(op), buildCumulative, {1}, {}, true});
    registry.add({"", "TopK", family, false, noRuleInProposal("TopK"), buildTopK, {}, {}, true});
    registry.add({"", "Trilu", family, false, noRuleInProposal("Trilu"), buildTrilu, {}, {}, true});
    registry.add(
        {"", "OneHot", family, false, noRuleInProposal("OneHot"), buildOneHot, {}, {}, true});
    registry.add({"",
                  "ReverseSequence",
                  family,
                  false,
                  noRuleInProposal("ReverseSequence"),
                  buildReverseSequence,
                  {},
                  {},
                  true});
    registry.describe("", "OneHot", [](const NodeContext& context) {
        const std::int64_t axis = context.attribute("axis", -1);
        const auto rank = static_cast<std::int64_t>(context.output(0).dims.size());
        const std::int64_t at = axis < 0 ? axis + rank : axis;
        const bool known = at >= 0 && at < rank;
        return ElementUse{{{0, known ? context.output(0).dims[static_cast<std::size_t>(at)] : -1}},
                          {{2}}};
    });
    // Lengths, up to all of the time axis.
    registry.describe("", "ReverseSequence", [](const NodeContext& context) {
        const std::int64_t length = sizeAt(context, 0, context.attribute("time_axis", 0));
        return ElementUse{{{1, length < 0 ? -1 : length + 1}}, {{0}}};
    });
    registry.add({"", "Det", family, false, noRuleInProposal("Det"), buildDet, {}, {}, true});
}

}  // namespace shardwright
