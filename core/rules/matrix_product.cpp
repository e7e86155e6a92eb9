// SPDX-License-Identifier: Apache-2.0
#include "rules/matrix_product.h"

#include <algorithm>

namespace shardwright {

namespace {

Sizes batchOf(const Sizes& sizes) {
    return sizes.size() > 2 ? Sizes(sizes.begin(), sizes.end() - 2) : Sizes{};
}

}  // namespace

Product multiply(RuleMaker& maker, const Sizes& a, const Sizes& b, const std::string& kWhole) {
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
    maker.travels({.largestWins = true});
    maker.flops(flops);
    return p;
}

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

}  // namespace shardwright
