// SPDX-License-Identifier: Apache-2.0
#include "rules/contraction.h"
#include "rules/matrix_product.h"
#include "rules/registry.h"
#include "rules/rule_maker.h"

namespace shardwright {

namespace {

void setProduct(RuleMaker& maker, const Product& p, std::size_t slotA, std::size_t slotB) {
    maker.require(maker.broadcast(maker.out(0), p.y, 0).size() == p.y.size());
    maker.input(slotA, p.a);
    maker.input(slotB, p.b);
    maker.output(0, p.y);
}

std::optional<Rule> buildMatMul(const NodeContext& context) {
    RuleMaker maker(context);
    setProduct(maker, multiply(maker, maker.in(0), maker.in(1)), 0, 1);
    return maker.finish();
}

/// Products of integers less their zero points add up over blocks of k.
std::optional<Rule> buildMatMulInteger(const NodeContext& context) {
    RuleMaker maker(context);
    const Product p = multiply(maker, maker.in(0), maker.in(1));
    setProduct(maker, p, 0, 1);
    setQuantization(maker, 2, p.a, p.m);
    setQuantization(maker, 3, p.b, p.n);
    return maker.finish();
}

/// The result is rounded to the output's scale, so that k cannot be summed in parts.
std::optional<Rule> buildQLinearMatMul(const NodeContext& context) {
    RuleMaker maker(context);
    const Product p =
        multiply(maker, maker.in(0), maker.in(3), "the sum is rounded to the scale of the output");
    setProduct(maker, p, 0, 3);
    for (const std::size_t slot : {1, 2})
        setQuantization(maker, slot, p.a, p.m);
    for (const std::size_t slot : {4, 5})
        setQuantization(maker, slot, p.b, p.n);
    for (const std::size_t slot : {6, 7})
        setQuantization(maker, slot, p.y, p.m);
    return maker.finish();
}

/// C enters once, however often k is split.
///   [4,8], [8,3], [3] -> [4,3]     m k+, k+ n, n -> m n
std::optional<Rule> buildGemm(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &a = maker.in(0), &b = maker.in(1), &y = maker.out(0);
    maker.require(a.size() == 2 && b.size() == 2 && y.size() == 2);
    if (maker.failed())
        return std::nullopt;
    const bool transA = context.attribute("transA", 0) != 0,
               transB = context.attribute("transB", 0) != 0;
    const int m = maker.parallel("m", a[transA ? 1 : 0]),
              n = maker.parallel("n", b[transB ? 0 : 1]);
    const int k = maker.reduction("k", a[transA ? 0 : 1], ReduceKind::Sum);
    maker.require(a[transA ? 0 : 1] == b[transB ? 1 : 0]);
    maker.input(0, transA ? Dims{{k}, {m}} : Dims{{m}, {k}});
    maker.input(1, transB ? Dims{{n}, {k}} : Dims{{k}, {n}});
    if (context.hasInput(2)) {
        maker.input(2, maker.broadcast(context.input(2).dims, {{m}, {n}}));
        maker.addedOnce(2);
    }
    maker.output(0, {{m}, {n}});
    maker.travels({.largestWins = true});
    maker.flops(2.0 * maker.elements(y) * static_cast<double>(a[transA ? 0 : 1]));
    return maker.finish();
}

}  // namespace

void registerContraction(Registry& registry) {
    registry.add({"", "MatMul", "contraction", true, {}, buildMatMul, {}, {}, true});
    registry.add({"", "Gemm", "contraction", true, {}, buildGemm, {}, {}, true});
    registry.add({"", "MatMulInteger", "contraction", true, {}, buildMatMulInteger, {}, {}, true});
    registry.add({"", "QLinearMatMul", "contraction", true, {}, buildQLinearMatMul, {}, {}, true});
    registry.add({"", "Einsum", "contraction", true, {}, buildEinsum, {}, {}, true});
}

}  // namespace shardwright
