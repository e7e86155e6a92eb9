// SPDX-License-Identifier: Apache-2.0
#include "rules/contrib.h"
#include "rules/matrix_product.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

namespace shardwright {

namespace {

constexpr const char* kActivated = "the activation follows the whole sum";

Sizes swapped(Sizes sizes, bool swap) {
    if (swap && sizes.size() >= 2)
        std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
    return sizes;
}

Dims swapped(Dims dims, bool swap) {
    if (swap && dims.size() >= 2)
        std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    return dims;
}

/// FusedMatMul, TransposeMatMul: a factor alpha, and matrices may be stored transposed.
///   transB, [2,4,8], [3,8]      b0 m k+, n k+ -> b0 m n
std::optional<Rule> buildFusedMatMul(const NodeContext& context) {
    RuleMaker maker(context);
    const bool transA = context.attribute("transA", 0) != 0,
               transB = context.attribute("transB", 0) != 0;
    maker.require(context.attribute("transBatchA", 0) == 0 &&
                  context.attribute("transBatchB", 0) == 0);
    const bool activated = !context.attribute("activation", "").empty();
    const Product p = multiply(maker, swapped(maker.in(0), transA), swapped(maker.in(1), transB),
                               activated ? kActivated : "");
    maker.require(maker.broadcast(maker.out(0), p.y, 0).size() == p.y.size());
    maker.input(0, swapped(p.a, transA));
    maker.input(1, swapped(p.b, transB));
    maker.output(0, p.y);
    return maker.finish();
}

std::optional<Rule> buildFusedGemm(const NodeContext& context) {
    const bool activated = !context.attribute("activation", "").empty();
    return buildAs(context, {"Gemm", 13, {0, 1, 2}, activated ? kActivated : ""});
}

std::optional<Rule> buildGemmFastGelu(const NodeContext& context) {
    RuleMaker maker(context);
    const Product p = multiply(maker, maker.in(0), maker.in(1), kActivated);
    maker.require(maker.out(0).size() == p.y.size());
    maker.input(0, p.a);
    maker.input(1, p.b);
    setLike(maker, 2, {{p.n}});
    maker.output(0, p.y);
    return maker.finish();
}

/// Windows over whole dimensions: where another input lies as the result does, no device would have
/// what the windows of its shard add to.
void dropHalos(Rule& rule) {
    for (const SliceExtra& slice : rule.slices) {
        Factor place = rule.factors[static_cast<std::size_t>(slice.factor)];
        place.name = "o" + place.name;
        place.kind = FactorKind::Whole;
        place.size = slice.count;
        rule.outputs[static_cast<std::size_t>(slice.outputSlot)]
            .dims[static_cast<std::size_t>(slice.dim)] = {static_cast<int>(rule.factors.size())};
        rule.flopsPerPoint /= static_cast<double>(slice.count);
        rule.factors.push_back(std::move(place));
    }
    rule.slices.clear();
    std::erase_if(rule.rewrites,
                  [](const Rewrite& rewrite) { return rewrite.kind == Rewrite::Kind::LocalPads; });
}

/// Z is added before the activation.
std::optional<Rule> buildFusedConv(const NodeContext& context) {
    const bool activated = !context.attribute("activation", "").empty();
    std::optional<Rule> rule =
        buildAs(context, {"Conv", 11, {0, 1, 2}, activated ? kActivated : ""});
    if (!rule || !context.hasInput(3))
        return rule;
    if (context.input(3).dims != context.output(0).dims)
        return std::nullopt;
    dropHalos(*rule);
    rule->inputs[3] = rule->outputs[0];
    rule->inputs[3].addedOnce = true;
    return rule;
}

/// Weights of N rows, each of blocks of numbers packed into bytes, with a scale a block.
///   [.., K], [N, blocks, bytes], [N, blocks]      m (k+ block^), n k+ bytes^, n k+ -> m n
class PackedWeights {
public:
    explicit PackedWeights(const NodeContext& context) : m_maker(context), m_context(context) {}

    std::optional<Rule> run() {
        const Sizes &a = m_maker.in(0), &b = m_maker.in(1), &y = m_maker.out(0);
        m_maker.require(!a.empty() && b.size() == 3 && y.size() == a.size());
        const std::int64_t block = m_context.attribute("block_size", 0);
        m_maker.require(block > 0 && m_context.attribute("weight_prepacked", 0) == 0);
        if (m_maker.failed())
            return std::nullopt;
        m_n = m_maker.parallel("n", y.back());
        makeInner(a.back(), block, b[1]);
        Dims rows = m_maker.parallelDims(Sizes(a.begin(), a.end() - 1), "m");
        Dims in = rows, out = rows;
        in.push_back(m_inner);
        out.push_back({m_n});
        m_maker.input(0, std::move(in));
        m_maker.input(1, {{m_n}, m_blocks, {m_maker.whole("bytes", b[2], kPacked)}});
        setOfBlocks(2, m_blocks);
        setZeroPoints();
        m_maker.wholeInput(4, "g", "it names the block of each column");
        if (m_context.hasInput(5)) {
            m_maker.input(5, {{m_n}});
            m_maker.addedOnce(5);
        }
        m_maker.output(0, std::move(out));
        m_maker.rewrite(localAttribute("N", {m_n}));
        if (m_split)
            m_maker.rewrite(localAttribute("K", m_inner));
        m_maker.travels({.largestWins = true});
        m_maker.flops(2.0 * m_maker.elements(y) * static_cast<double>(a.back()));
        return m_maker.finish();
    }

private:
    static constexpr const char* kPacked = "its numbers are packed into bytes";

    /// Several zero points share a byte, so that the blocks are cut in such groups only.
    void makeInner(std::int64_t k, std::int64_t block, std::int64_t blocks) {
        std::int64_t group = 1;
        if (m_context.hasInput(3) && m_context.input(3).elementType == onnx::TensorProto::UINT8)
            group = std::max<std::int64_t>(
                1, 8 / std::max<std::int64_t>(1, m_context.attribute("bits", 4)));
        m_split = k == blocks * block && blocks % group == 0 && !m_context.hasInput(4) &&
                  flat(3) == false && flat(2) == false;
        if (!m_split) {
            const char* reason = m_context.hasInput(4)
                                     ? "its columns are looked up one by one"
                                     : "the blocks of its scales and zero points do not divide it";
            m_inner = {m_maker.whole("k", k, reason)};
            m_blocks = {m_maker.whole("blocks", blocks, reason)};
            return;
        }
        m_k = m_maker.reduction("k", blocks / group, ReduceKind::Sum);
        const int inGroup = m_maker.whole("group", group, "their zero points share a byte");
        m_blocks = {m_k, inGroup};
        m_inner = {m_k, inGroup, m_maker.whole("block", block, "a block has one scale")};
    }

    bool flat(std::size_t slot) const {
        return m_context.hasInput(slot) && m_context.input(slot).dims.size() != 2;
    }

    void setOfBlocks(std::size_t slot, std::vector<int> perRow) {
        if (!m_context.hasInput(slot))
            return;
        if (!flat(slot)) {
            m_maker.input(slot, {{m_n}, std::move(perRow)});
            return;
        }
        perRow.insert(perRow.begin(), m_n);
        m_maker.input(slot, {std::move(perRow)});
    }

    void setZeroPoints() {
        if (!m_context.hasInput(3))
            return;
        const bool packed = m_context.input(3).elementType == onnx::TensorProto::UINT8;
        if (!packed)
            return setOfBlocks(3, m_blocks);
        if (m_split)
            return setOfBlocks(3, {m_k});
        const Sizes& sizes = m_context.input(3).dims;
        const std::int64_t rows = m_context.output(0).dims.back();
        const std::int64_t bytes = !flat(3) ? sizes.back() : rows > 0 ? sizes.front() / rows : 0;
        setOfBlocks(3, {m_maker.whole("zeros", bytes, kPacked)});
    }

    RuleMaker m_maker;
    const NodeContext& m_context;
    bool m_split = false;  ///< Whether blocks of k may lie on different devices.
    int m_n = -1, m_k = -1;
    std::vector<int> m_inner, m_blocks;
};

/// Rows of weights stored as one list: [.., K], [N * K / 2], [N * K / block].
std::optional<Rule> buildMatMulBnb4(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &a = maker.in(0), &b = maker.in(1), &scales = maker.in(2), &y = maker.out(0);
    maker.require(!a.empty() && y.size() == a.size() && b.size() <= 2 && scales.size() == 1 &&
                  context.attribute("transB", 1) != 0);
    if (maker.failed())
        return std::nullopt;
    const char* reason = "its numbers are packed into blocks";
    const std::int64_t bytes = maker.context().input(1).elementCount();
    const bool even = y.back() > 0 && bytes % y.back() == 0 && scales[0] % y.back() == 0;
    const int n = even ? maker.parallel("n", y.back()) : maker.whole("n", y.back(), reason);
    const std::int64_t rows = even ? y.back() : 1;
    Dims in = maker.parallelDims(Sizes(a.begin(), a.end() - 1), "m"), out = in;
    in.push_back({maker.whole("k", a.back(), reason)});
    out.push_back({n});
    std::vector<int> packed, perBlock;
    if (even)
        packed = perBlock = {n};
    packed.push_back(maker.whole("bytes", bytes / rows, reason));
    perBlock.push_back(maker.whole("blocks", scales[0] / rows, reason));
    maker.input(0, std::move(in));
    maker.input(1, b.size() == 1 ? Dims{packed} : Dims{packed, {}});
    maker.input(2, {perBlock});
    maker.output(0, std::move(out));
    if (even)
        maker.rewrite(localAttribute("N", {n}));
    maker.travels({.largestWins = true});
    maker.flops(2.0 * maker.elements(y) * static_cast<double>(a.back()));
    return maker.finish();
}

/// Mixture of experts. Each row of the input goes to some experts by itself; the width between
/// their two products is summed over.
///   x [b,s,H], probs [b*s,E], w1 [E,I,H], w2 [E,H,I]
///     b s h^, (b s) e^, e^ i+ h^, e^ i+, e^ o^ i+, e^ o^ -> b s o^
class ExpertsMaker {
public:
    ExpertsMaker(const NodeContext& context, bool quantised)
        : m_maker(context), m_context(context), m_quantised(quantised) {}

    std::optional<Rule> run() {
        const Sizes &x = m_maker.in(0), &router = m_maker.in(1);
        m_maker.require((x.size() == 2 || x.size() == 3) && router.size() == 2 &&
                        m_maker.out(0) == x);
        if (m_maker.failed())
            return std::nullopt;
        Dims rows = m_maker.parallelDims(Sizes(x.begin(), x.end() - 1), "m");
        for (const auto& row : rows)
            m_tokens.insert(m_tokens.end(), row.begin(), row.end());
        m_e = m_maker.whole("e", router[1], "each row picks among all experts");
        m_h = m_maker.whole("h", x.back(), "it is summed before the activation");
        m_o = m_maker.whole("o", x.back(), "the kernel wants the width of the input");
        Dims in = rows, out = rows;
        in.push_back({m_h});
        out.push_back({m_o});
        m_maker.input(0, std::move(in));
        m_maker.output(0, std::move(out));
        setRouter(1);
        m_quantised ? setQuantised() : setWeights();
        return m_maker.finish();
    }

private:
    void setRouter(std::size_t slot) {
        if (m_context.hasInput(slot))
            m_maker.input(slot, {m_tokens, {m_e}});
    }

    /// Two numbers of a gated activation lie side by side (fusion 1) or half a width apart (2).
    void setWeights() {
        const Sizes& second = m_maker.in(4);
        m_maker.require(second.size() == 3);
        if (m_maker.failed())
            return;
        const int i = m_maker.reduction("i", second[2], ReduceKind::Sum);
        const std::int64_t fusion = m_context.attribute("swiglu_fusion", 0);
        std::vector<int> first{i};
        if (m_maker.in(2).size() == 3 && m_maker.in(2)[1] == 2 * second[2]) {
            const int two = m_maker.whole("gate", 2, "the gate and what it gates");
            first.insert(fusion == 2 ? first.begin() : first.end(), two);
        }
        m_maker.input(2, {{m_e}, first, {m_h}});
        m_maker.input(3, {{m_e}, first});
        m_maker.input(4, {{m_e}, {m_o}, {i}});
        m_maker.input(5, {{m_e}, {m_o}});
        m_maker.addedOnce(5);
        m_maker.input(6, {{m_e}, {i}, {m_h}});
        m_maker.input(7, {{m_e}, {i}});
    }

    void setQuantised() {
        for (std::size_t slot = 2; slot < m_context.node.inputs.size(); ++slot)
            if (slot != 14)
                m_maker.wholeInput(slot, "p" + std::to_string(slot),
                                   "the experts' numbers are packed into blocks");
        setRouter(14);
    }

    RuleMaker m_maker;
    const NodeContext& m_context;
    const bool m_quantised;
    std::vector<int> m_tokens;
    int m_e = -1, m_h = -1, m_o = -1;
};

/// Distances between the rows of two matrices: m k^, n k^ -> m n.
std::optional<Rule> buildDistances(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &a = maker.in(0), &b = maker.in(1);
    maker.require(a.size() == 2 && b.size() == 2 && a[1] == b[1]);
    if (maker.failed())
        return std::nullopt;
    const int m = maker.parallel("m", a[0]), n = maker.parallel("n", b[0]);
    const int k = maker.whole("k", a[1], "the root follows the whole sum");
    maker.input(0, {{m}, {k}});
    maker.input(1, {{n}, {k}});
    maker.output(0, {{m}, {n}});
    maker.travels({.largestWins = true});
    maker.flops(3 * maker.elements(maker.out(0)) * static_cast<double>(a[1]));
    return maker.finish();
}

/// A table [v, packed] with scales [v, blocks], looked up by the first dimension like Gather's.
///   v+ d1^, i0 i1, v+ p1^ -> i0 i1 o1^
std::optional<Rule> buildGatherQuantised(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &data = maker.in(0), &indices = maker.in(1), &y = maker.out(0);
    const std::size_t axis = maker.axis(context.attribute("gather_axis", 0), data.size());
    maker.require(y.size() + 1 == data.size() + indices.size());
    if (maker.failed())
        return std::nullopt;
    const char* reason = "its numbers are packed into blocks";
    const Dims positions = maker.parallelDims(indices, "i");
    int v = -1;
    if (axis == 0) {
        v = maker.reduction("v", data[0], ReduceKind::Sum);
        Rewrite rewrite{Rewrite::Kind::MaskedLookup};
        rewrite.slot = 1;
        rewrite.factor = v;
        maker.rewrite(std::move(rewrite));
    }
    for (std::size_t slot = 0; slot < context.node.inputs.size(); ++slot) {
        if (slot == 1 || !context.hasInput(slot))
            continue;
        const Sizes& sizes = context.input(slot).dims;
        Dims dims = maker.wholeDims(sizes, "p" + std::to_string(slot), reason);
        if (v >= 0 && !sizes.empty() && sizes[0] == data[0])
            dims[0] = {v};
        maker.input(slot, std::move(dims));
    }
    maker.input(1, positions);
    Dims out;
    for (std::size_t d = 0; d < y.size(); ++d)
        out.push_back(d >= axis && d < axis + indices.size()
                          ? positions[d - axis]
                          : std::vector<int>{maker.whole("o" + std::to_string(d), y[d], reason)});
    maker.output(0, std::move(out));
    return maker.finish();
}

}  // namespace

void registerContribProducts(Registry& registry) {
    const char* family = "contraction";
    addContrib(registry, {"FusedMatMul", "TransposeMatMul", "FusedMatMulActivation"}, family,
               buildFusedMatMul);
    addContrib(registry, {"FusedGemm"}, family, buildFusedGemm);
    addContrib(registry, {"GemmFastGelu"}, family, buildGemmFastGelu);
    addContrib(registry, {"FusedConv"}, "convolution", buildFusedConv);
    addContrib(registry, {"MatMulNBits"}, family,
               [](const NodeContext& context) { return PackedWeights(context).run(); });
    addContrib(registry, {"MatMulBnb4"}, family, buildMatMulBnb4);
    addContrib(registry, {"MoE"}, "experts",
               [](const NodeContext& context) { return ExpertsMaker(context, false).run(); });
    addContrib(registry, {"QMoE"}, "experts",
               [](const NodeContext& context) { return ExpertsMaker(context, true).run(); });
    addContrib(registry, {"CDist"}, family, buildDistances);
    addContrib(registry, {"GatherBlockQuantized"}, "indexed", buildGatherQuantised);
    registry.describe("com.microsoft", "GatherBlockQuantized", [](const NodeContext& context) {
        return ElementUse{{{1, sizeAt(context, 0, context.attribute("gather_axis", 0))}}, {}};
    });
}

}  // namespace shardwright
