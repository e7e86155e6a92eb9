// SPDX-License-Identifier: Apache-2.0
#include "rules/contrib.h"
#include "rules/matrix_product.h"

#include <algorithm>

namespace shardwright {

namespace {

constexpr const char* kRounded = "the sum is rounded to the scale of the output";
constexpr const char* kRange = "the scale comes from the range of the whole tensor";

RuleBuilder as(StandIn standIn) {
    return [standIn = std::move(standIn)](const NodeContext& context) {
        return buildAs(context, standIn);
    };
}

/// A is quantised as it comes, by the range of all of it; B has a scale a column or one.
///   [2,4,8], [8,3], [3]      b0^ m^ k^, k^ n, n -> b0^ m^ n
std::optional<Rule> buildDynamicQuantizeMatMul(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &a = maker.in(0), &b = maker.in(1), &y = maker.out(0);
    maker.require(a.size() >= 2 && b.size() == 2 && y.size() == a.size() && a.back() == b[0]);
    if (maker.failed())
        return std::nullopt;
    Dims in = maker.wholeDims(a, "m", kRange);
    Dims out(in.begin(), in.end() - 1);
    const int k = in.back()[0], n = maker.parallel("n", b[1]);
    const Dims matrix{{k}, {n}};
    out.push_back({n});
    maker.input(0, std::move(in));
    maker.input(1, matrix);
    for (const std::size_t slot : {2, 3})
        setQuantization(maker, slot, matrix, n);
    setLike(maker, 4, {{n}});
    maker.output(0, std::move(out));
    maker.travels({.largestWins = true});
    maker.flops(2.0 * maker.elements(y) * static_cast<double>(b[0]));
    return maker.finish();
}

/// Sums of integers scaled afterwards, so that parts of k add up; the bias enters once.
std::optional<Rule> buildMatMulIntegerToFloat(const NodeContext& context) {
    RuleMaker maker(context);
    const Product p = multiply(maker, maker.in(0), maker.in(1));
    maker.require(maker.out(0).size() == p.y.size());
    maker.input(0, p.a);
    maker.input(1, p.b);
    for (const std::size_t slot : {2, 4})
        setQuantization(maker, slot, p.a, p.m);
    for (const std::size_t slot : {3, 5})
        setQuantization(maker, slot, p.b, p.n);
    setLike(maker, 6, {{p.n}});
    maker.addedOnce(6);
    maker.output(0, p.y);
    return maker.finish();
}

/// Gemm of quantised matrices; B may have a scale a column. Without a scale of the output it is of
/// real numbers, and parts of k add up.
std::optional<Rule> buildQGemm(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &a = maker.in(0), &b = maker.in(3), &y = maker.out(0);
    maker.require(a.size() == 2 && b.size() == 2 && y.size() == 2);
    if (maker.failed())
        return std::nullopt;
    const bool transA = context.attribute("transA", 0) != 0,
               transB = context.attribute("transB", 0) != 0;
    const std::int64_t inner = a[transA ? 0 : 1];
    const int m = maker.parallel("m", a[transA ? 1 : 0]),
              n = maker.parallel("n", b[transB ? 0 : 1]);
    const int k = context.hasInput(7) ? maker.whole("k", inner, kRounded)
                                      : maker.reduction("k", inner, ReduceKind::Sum);
    const Dims matrixA = transA ? Dims{{k}, {m}} : Dims{{m}, {k}},
               matrixB = transB ? Dims{{n}, {k}} : Dims{{k}, {n}};
    maker.input(0, matrixA);
    maker.input(3, matrixB);
    for (const std::size_t slot : {1, 2})
        setQuantization(maker, slot, matrixA, m);
    for (const std::size_t slot : {4, 5})
        setQuantization(maker, slot, matrixB, n);
    if (context.hasInput(6)) {
        maker.input(6, maker.broadcast(context.input(6).dims, {{m}, {n}}));
        maker.addedOnce(6);
    }
    setParameters(maker, 7, "it is the scale of the output");
    maker.output(0, {{m}, {n}});
    maker.travels({.largestWins = true});
    maker.flops(2.0 * maker.elements(y) * static_cast<double>(inner));
    return maker.finish();
}

/// Scale and zero point, then tensor, scale and zero point of each part. Parts have scales of their
/// own, and the result is of one.
std::optional<Rule> buildQLinearConcat(const NodeContext& context) {
    StandIn concat{"Concat", 13, {}};
    for (std::size_t slot = 2; slot < context.node.inputs.size(); slot += 3)
        concat.slots.push_back(slot);
    return concat.slots.empty() ? std::nullopt : buildAs(context, concat);
}

/// Pools of [n, spatial, c]: n and c are parallel.
std::optional<Rule> buildChannelsLast(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &y = maker.out(0);
    maker.require(x.size() >= 3 && y.size() == x.size() && x.front() == y.front() &&
                  x.back() == y.back());
    if (maker.failed())
        return std::nullopt;
    const int n = maker.parallel("n", x.front()), c = maker.parallel("c", x.back());
    Dims in{{n}}, out{{n}};
    for (std::size_t d = 1; d + 1 < x.size(); ++d) {
        const std::string name = "s" + std::to_string(d - 1);
        in.push_back({maker.whole(name, x[d], "windows overlap")});
        out.push_back({maker.whole("o" + std::to_string(d - 1), y[d], "windows overlap")});
    }
    in.push_back({c});
    out.push_back({c});
    maker.input(0, std::move(in));
    setParameters(maker, 1, "it is a parameter of the whole operation");
    maker.output(0, std::move(out));
    return maker.finish();
}

RuleBuilder pool(const char* op, int opset) {
    return [op, opset](const NodeContext& context) {
        return context.attribute("channels_last", 0) != 0
                   ? buildChannelsLast(context)
                   : buildAs(context, {op, opset, {0}, kRounded});
    };
}

std::optional<Rule> buildQLinearConv(const NodeContext& context) {
    if (context.attribute("channels_last", 0) != 0)
        return std::nullopt;
    return buildAs(context, {"QLinearConv", 10, {0, 1, 2, 3, 4, 5, 6, 7, 8}});
}

/// The operator set of the Softmax is an attribute.
std::optional<Rule> buildQLinearSoftmax(const NodeContext& context) {
    const std::int64_t opset = std::clamp<std::int64_t>(context.attribute("opset", 13), 1, 100);
    return buildAs(context, {"Softmax", static_cast<int>(opset), {0}});
}

}  // namespace

void registerContribQuantized(Registry& registry) {
    const char* family = "quantization";
    addContrib(registry, {"QuantizeLinear"}, family, as({"QuantizeLinear", 13, {0, 1, 2}}));
    addContrib(registry, {"DequantizeLinear"}, family, as({"DequantizeLinear", 13, {0, 1, 2}}));
    addContrib(registry, {"QLinearAdd", "QLinearMul"}, "broadcast", as({"Add", 14, {0, 3}}));
    addContrib(registry, {"QLinearWhere"}, "broadcast", as({"Where", 16, {0, 1, 4}}));
    addContrib(registry, {"QLinearSigmoid"}, "unary", as({"Sigmoid", 13, {0}}));
    addContrib(registry, {"QLinearLeakyRelu"}, "unary", as({"LeakyRelu", 16, {0}}));
    addContrib(registry, {"QLinearSoftmax"}, "whole-axis", buildQLinearSoftmax);
    addContrib(registry, {"QLinearConcat"}, "window", buildQLinearConcat);
    addContrib(registry, {"QLinearReduceMean"}, "reduction", as({"ReduceMean", 13, {0}, kRounded}));
    addContrib(registry, {"QLinearAveragePool"}, "pool", pool("AveragePool", 11));
    addContrib(registry, {"QLinearGlobalAveragePool"}, "pool", pool("GlobalAveragePool", 1));
    addContrib(registry, {"NhwcMaxPool"}, "pool", buildChannelsLast);
    addContrib(registry, {"QLinearConv"}, "convolution", buildQLinearConv);
    addContrib(registry, {"DynamicQuantizeMatMul"}, "contraction", buildDynamicQuantizeMatMul);
    addContrib(registry, {"MatMulIntegerToFloat"}, "contraction", buildMatMulIntegerToFloat);
    addContrib(registry, {"MatMulInteger16"}, "contraction", as({"MatMul", 13, {0, 1}}));
    addContrib(registry, {"QGemm"}, "contraction", buildQGemm);
}

}  // namespace shardwright
