// SPDX-License-Identifier: Apache-2.0
#include "rules/contraction.h"
#include "rules/registry.h"
#include "rules/rule_maker.h"

namespace shardwright {

namespace {

/// Factors of a matrix product of any rank. Rank 1 is a row on the left and a column on the right.
struct Product {
    Dims a, b, y;
    int m = -1, k = -1, n = -1;
};

Sizes batchOf(const Sizes& sizes) {
    return sizes.size() > 2 ? Sizes(sizes.begin(), sizes.end() - 2) : Sizes{};
}

/// Batch dimensions are broadcast; `kWhole` says why k may not be split, if so.
///   [2,4,8], [8,3] -> [2,4,3]      b0 m k+, k+ n -> b0 m n
Product multiply(RuleMaker& maker, const Sizes& a, const Sizes& b, const std::string& kWhole = {}) {
    Product p;
    if (a.empty() || b.empty()) {
        maker.require(false);
        return p;
    }
    const bool row = a.size() == 1, column = b.size() == 1;
    const Sizes batchA = batchOf(a), batchB = batchOf(b);
    const std::int64_t inner = a.back();
    maker.require(inner == b[column ? 0 : b.size() - 2]);
    Sizes batch(std::max(batchA.size(), batchB.size()), 1);
    for (const Sizes* sizes : {&batchA, &batchB})
        for (std::size_t i = 0; i < sizes->size(); ++i)
            if (std::int64_t& size = batch[batch.size() - sizes->size() + i]; size == 1)
                size = (*sizes)[i];
    const Dims batchDims = maker.parallelDims(batch, "b");
    p.m = row ? -1 : maker.parallel("m", a[a.size() - 2]);
    p.k = kWhole.empty() ? maker.reduction("k", inner, ReduceKind::Sum)
                         : maker.whole("k", inner, kWhole);
    p.n = column ? -1 : maker.parallel("n", b.back());
    p.a = maker.broadcast(batchA, batchDims);
    p.b = maker.broadcast(batchB, batchDims);
    p.y = batchDims;
    if (!row)
        p.a.push_back({p.m});
    p.a.push_back({p.k});
    p.b.push_back({p.k});
    if (!column)
        p.b.push_back({p.n});
    if (!row)
        p.y.push_back({p.m});
    if (!column)
        p.y.push_back({p.n});
    double flops = 2.0 * static_cast<double>(inner) * maker.elements(batch);
    flops *=
        static_cast<double>(row ? 1 : a[a.size() - 2]) * static_cast<double>(column ? 1 : b.back());
    maker.flops(flops);
    return p;
}

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

/// A scale or zero point of a matrix: one number; one a row or column (`line`); or of the matrix's
/// rank.
void setQuantization(RuleMaker& maker, std::size_t slot, const Dims& matrix, int line) {
    const NodeContext& context = maker.context();
    if (!context.hasInput(slot))
        return;
    const Sizes& sizes = context.input(slot).dims;
    if (context.input(slot).elementCount() == 1)
        maker.input(slot, Dims(sizes.size()));
    else if (sizes.size() == 1 && line >= 0)
        maker.input(slot, maker.broadcast(sizes, {{line}}));
    else
        maker.input(slot, maker.broadcast(sizes, matrix, 0));
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
