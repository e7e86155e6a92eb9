// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"

namespace shardwright {

namespace {

/// Sizes of a query, key or value as [batch, heads, length, width], whether or not the heads are
/// fused into the width.
std::optional<Sizes> apart(const Sizes& sizes, std::int64_t heads) {
    if (sizes.size() == 4)
        return sizes;
    if (sizes.size() != 3 || heads <= 0 || sizes[2] % heads != 0)
        return std::nullopt;
    return Sizes{sizes[0], heads, sizes[1], sizes[2] / heads};
}

Rewrite localHeads(const char* name, std::vector<int> factors) {
    Rewrite rewrite{Rewrite::Kind::LocalAttribute};
    rewrite.name = name;
    rewrite.factors = std::move(factors);
    return rewrite;
}

/// [batch, heads, length, width], or with the heads fused into the width: [batch, length, (heads
/// width)].
Dims arranged(const Sizes& sizes, int batch, std::vector<int> heads, int length, int width) {
    if (sizes.size() == 4)
        return {{batch}, std::move(heads), {length}, {width}};
    heads.push_back(width);
    return {{batch}, {length}, std::move(heads)};
}

/// Opset 23. Rows of the query are independent of each other unless they are masked causally.
///   q [2,4,6,8], k and v [2,2,6,8]      b (h g) s d^, b h t^ d^, b h t^ e -> b (h g) s e
class AttentionMaker {
public:
    /// `byQueryHeads`: the heads of keys and values are whole, and those of the query are one
    /// factor, so that a block of them may begin and end within those that share a key head. Each
    /// device then reads the key head of each of its heads.
    explicit AttentionMaker(const NodeContext& context, bool byQueryHeads = false)
        : m_maker(context), m_context(context), m_byQueryHeads(byQueryHeads) {}

    std::optional<Rule> run() {
        const Sizes &q = m_maker.in(0), &k = m_maker.in(1), &v = m_maker.in(2);
        const std::int64_t qHeads = m_context.attribute("q_num_heads", 0);
        const std::int64_t kvHeads = m_context.attribute("kv_num_heads", 0);
        const auto q4 = apart(q, qHeads), k4 = apart(k, kvHeads), v4 = apart(v, kvHeads);
        if (m_maker.failed() || !q4 || !k4 || !v4 || (*k4)[1] <= 0 || (*q4)[1] % (*k4)[1] != 0)
            return std::nullopt;
        m_shared = (*q4)[1] / (*k4)[1];
        // Keys and values that are given out are those of whole key heads.
        const bool shares = m_shared > 1 && (*k4)[1] > 1;
        if (m_byQueryHeads && (!shares || m_context.hasOutput(1) || m_context.hasOutput(2)))
            return std::nullopt;
        makeFactors(*q4, *k4, *v4);
        m_maker.input(0, arranged(q, m_b, m_heads, m_s, m_d));
        m_maker.input(1, arranged(k, m_b, {m_h}, m_t, m_d));
        m_maker.input(2, arranged(v, m_b, {m_h}, m_t, m_e));
        setMask();
        m_maker.input(4, {{m_b}, {m_h}, {m_past}, {m_d}});
        m_maker.input(5, {{m_b}, {m_h}, {m_past}, {m_e}});
        m_maker.input(6, {{m_b}});  // Opset 24: lengths without padding.
        m_maker.output(0, arranged(m_maker.out(0), m_b, m_heads, m_s, m_e));
        m_maker.output(1, {{m_b}, {m_h}, {m_total}, {m_d}});
        m_maker.output(2, {{m_b}, {m_h}, {m_total}, {m_e}});
        m_maker.output(3, {{m_b}, m_heads, {m_s}, {m_total}});
        if (q.size() == 3)
            m_maker.rewrite(localHeads("q_num_heads", m_heads));
        if (k.size() == 3)
            m_maker.rewrite(localHeads("kv_num_heads", m_byQueryHeads ? m_heads : Heads{m_h}));
        if (m_byQueryHeads)
            for (const int slot : {1, 2, 4, 5})
                readKeyHeads(slot, slot % 3 == 1 ? (*k4)[3] : (*v4)[3]);
        const double rows = m_maker.elements({(*q4)[0], (*q4)[1], (*q4)[2], m_length});
        m_maker.flops(rows * (2.0 * static_cast<double>((*q4)[3]) +
                              2.0 * static_cast<double>((*v4)[3]) + 5.0));
        return m_maker.finish();
    }

private:
    using Heads = std::vector<int>;

    void readKeyHeads(int slot, std::int64_t width) {
        if (!m_context.hasInput(static_cast<std::size_t>(slot)))
            return;
        const bool fused = m_context.input(static_cast<std::size_t>(slot)).dims.size() == 3;
        Rewrite rewrite{Rewrite::Kind::PickSlices};
        rewrite.slot = slot;
        rewrite.dim = fused ? 2 : 1;
        rewrite.factor = m_heads.front();
        rewrite.axes = {m_shared, fused ? width : 1};
        m_maker.rewrite(std::move(rewrite));
    }

    void makeFactors(const Sizes& q, const Sizes& k, const Sizes& v) {
        const std::int64_t past = m_context.hasInput(4) && m_context.input(4).dims.size() == 4
                                      ? m_context.input(4).dims[2]
                                      : 0;
        m_maker.require(!__builtin_add_overflow(past, k[2], &m_length));
        const char* keys = "each row is normalised over all keys";
        m_b = m_maker.parallel("b", q[0]);
        if (m_byQueryHeads) {
            m_h = m_maker.whole("h", k[1], "several devices read the same key head");
            m_heads = {m_maker.parallel("q", q[1])};
        } else {
            m_h = m_maker.parallel("h", k[1]);
            m_heads = {m_h, m_maker.parallel("g", m_shared)};
        }
        const bool windowed = m_context.attribute("left_window_size", -1) >= 0 ||
                              m_context.attribute("right_window_size", -1) >= 0;
        if (m_context.attribute("is_causal", 0) != 0)
            m_s = m_maker.whole("s", q[2], "the causal mask counts rows from the first");
        else if (windowed)
            m_s = m_maker.whole("s", q[2], "the window counts rows from the first");
        else
            m_s = m_maker.parallel("s", q[2]);
        m_d = m_maker.whole("d", q[3], "each score is a sum along it, before it is normalised");
        m_t = m_maker.whole("t", k[2], keys);
        m_past = m_maker.whole("past", past, keys);
        m_total = m_maker.whole("total", m_length, keys);
        m_e = m_maker.parallel("e", v[3]);
    }

    /// Broadcast to [batch, heads, rows, keys]; the keys may be fewer than there are.
    void setMask() {
        if (!m_context.hasInput(3))
            return;
        const Sizes& sizes = m_context.input(3).dims;
        m_maker.require(sizes.size() >= 2 && sizes.size() <= 4);
        if (m_maker.failed())
            return;
        int keys = m_total;
        if (sizes.back() != m_length)
            keys = m_maker.whole("mask", sizes.back(), "each row is normalised over all keys");
        m_maker.input(3, m_maker.broadcast(sizes, {{m_b}, m_heads, {m_s}, {keys}}));
    }

    RuleMaker m_maker;
    const NodeContext& m_context;
    bool m_byQueryHeads;
    std::int64_t m_length = 0;  ///< Keys with those of the past.
    std::int64_t m_shared = 1;  ///< Heads of the query that share a key head.
    Heads m_heads;              ///< Of the query.
    int m_b = -1, m_h = -1, m_s = -1, m_d = -1, m_t = -1, m_past = -1, m_total = -1, m_e = -1;
};

std::optional<Rule> buildAttention(const NodeContext& context) {
    std::optional<Rule> rule = AttentionMaker(context).run();
    if (rule)
        if (auto other = AttentionMaker(context, true).run())
            rule->otherwise = std::make_shared<const Rule>(std::move(*other));
    return rule;
}

/// Heads that a fused x has: the attribute, else from the width that the cache rotates.
std::int64_t rotaryHeads(const NodeContext& context, const Sizes& x) {
    if (x.size() == 4)
        return x[1];
    const std::int64_t heads = context.attribute("num_heads", 0);
    const Sizes& cache = context.input(1).dims;
    if (heads > 0 || cache.empty() || context.attribute("rotary_embedding_dim", 0) != 0)
        return heads;
    const std::int64_t half = cache.back();
    return half > 0 && x.size() == 3 && x[2] % 2 == 0 ? x[2] / 2 / half : 0;
}

/// Opset 23. Without position ids the cache has one row a position, else it is looked up.
///   [2,4,6,8], cache [2,6,4]             b h s d^, b s r^, b s r^ -> b h s d^
///   [2,4,6,8], cache [50,4], ids [2,6]   b h s d^, p^ r^, p^ r^, b s -> b h s d^
std::optional<Rule> buildRotary(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &cache = maker.in(1);
    const auto x4 = apart(x, rotaryHeads(context, x));
    maker.require(x == maker.out(0) && cache == maker.in(2) && !cache.empty());
    if (maker.failed() || !x4)
        return std::nullopt;
    const int b = maker.parallel("b", (*x4)[0]), h = maker.parallel("h", (*x4)[1]),
              s = maker.parallel("s", (*x4)[2]);
    const int d = maker.whole("d", (*x4)[3], "its halves are rotated against each other");
    const int r = maker.whole("r", cache.back(), "its halves are rotated against each other");
    const Dims dims = arranged(x, b, {h}, s, d);
    const bool byIds = context.hasInput(3);
    maker.require(cache.size() == (byIds ? 2u : 3u));
    const Dims rows =
        byIds ? Dims{{maker.whole("p", cache.front(), "its rows are looked up by position")}, {r}}
              : Dims{{b}, {s}, {r}};
    maker.input(0, dims);
    for (const std::size_t slot : {1, 2})
        maker.input(slot, maker.broadcast(cache, rows, 0));
    if (byIds)
        maker.input(3, maker.broadcast(context.input(3).dims, {{b}, {s}}));
    maker.output(0, dims);
    if (x.size() == 3 && context.attribute("num_heads", 0) > 0)
        maker.rewrite(localHeads("num_heads", {h}));
    maker.flops(3 * maker.elements(x));
    return maker.finish();
}

}  // namespace

void registerAttention(Registry& registry) {
    registry.add({"",
                  "Attention",
                  "attention",
                  false,
                  noRuleInProposal("Attention"),
                  buildAttention,
                  {},
                  {},
                  true});
    // Without the graphs that change its scores: with them it is left whole.
    registry.add({"ai.onnx.preview",
                  "FlexAttention",
                  "attention",
                  false,
                  foreignToProposal(),
                  buildAttention,
                  {},
                  {},
                  true});
    registry.add({"",
                  "RotaryEmbedding",
                  "attention",
                  false,
                  noRuleInProposal("RotaryEmbedding"),
                  buildRotary,
                  {},
                  {},
                  true});
    // Positions are rows of the two tables.
    registry.describe("", "RotaryEmbedding", [](const NodeContext& context) {
        return ElementUse{{{3, sizeAt(context, 1, 0)}}, {}};
    });
}

}  // namespace shardwright
