// SPDX-License-Identifier: Apache-2.0
#include "rules/contrib.h"

#include <algorithm>

namespace shardwright {

namespace {

constexpr const char* kKeys = "each row is normalised over all keys";
constexpr const char* kScore = "each score is a sum along it, before it is normalised";
constexpr const char* kPastWidth = "the kernel wants past values as wide as past keys";
constexpr const char* kSides = "query, key and value lie side by side in different widths";

/// [b, heads, t, d], or with the heads in the width: [b, t, (heads d)].
Dims arranged(std::size_t rank, int batch, std::vector<int> heads, int length, int width) {
    if (rank == 4)
        return {{batch}, std::move(heads), {length}, {width}};
    heads.push_back(width);
    return {{batch}, {length}, std::move(heads)};
}

/// Lengths [b], ends and starts [2b], masks [b, t] and [b, s, t]. What else there is needs the
/// whole batch, which the caller must know before it makes its factors.
bool knownMask(const Sizes& mask, std::int64_t batch) {
    return mask.size() > 1 || mask.empty() || mask[0] == batch || mask[0] == 2 * batch;
}

void setKeyMask(RuleMaker& maker, std::size_t slot, int b, std::int64_t batch, int s,
                std::int64_t rows) {
    if (!maker.context().hasInput(slot))
        return;
    const Sizes& mask = maker.context().input(slot).dims;
    if (mask.size() == 1 && mask[0] == batch)
        return maker.input(slot, {{b}});
    if (mask.size() == 1 && mask[0] == 2 * batch)
        return maker.input(slot, {{maker.whole("ends", 2, "ends and starts are two lists"), b}});
    Dims dims = maker.wholeDims(mask, "mask", kKeys);
    if (mask.size() > 1 && mask[0] == batch)
        dims[0] = {b};
    if (mask.size() == 3 && mask[1] == rows && s >= 0)
        dims[1] = {s};
    maker.input(slot, std::move(dims));
}

// --- Attention, QAttention: the three projections inside
// ----------------------------------------------------------------------------------------

struct FusedSlots {
    std::size_t weight = 1, bias = 2, mask = 3, past = 4, scores = 5;
    std::vector<std::size_t> perColumn{};  ///< Scales and zero points of the weights.
};

/// Queries, keys and values are one product with one weight, whose columns are three times the
/// heads. [b,s,i], [i,3*h*d], [3*h*d]:
///   b s^ i^, i^ (qkv^ h d^), (qkv^ h d^) -> b s^ (h d^) ; qkv^ b h total^ d^
class FusedAttention {
public:
    FusedAttention(const NodeContext& context, FusedSlots slots)
        : m_maker(context), m_context(context), m_slots(std::move(slots)) {}

    std::optional<Rule> run() {
        const Sizes &x = m_maker.in(0), &w = m_maker.in(m_slots.weight), &y = m_maker.out(0);
        m_heads = m_context.attribute("num_heads", 0);
        m_maker.require(x.size() == 3 && w.size() == 2 && y.size() == 3 && m_heads > 0 &&
                        x[2] == w[0]);
        if (m_maker.failed())
            return std::nullopt;
        makeFactors(x, w, y);
        m_maker.input(0, {{m_b}, {m_s}, {m_inner}});
        m_maker.input(m_slots.weight, {{m_inner}, m_columns});
        m_maker.input(m_slots.bias, {m_columns});
        for (const std::size_t slot : m_slots.perColumn)
            setLike(m_maker, slot, {m_columns});
        setKeyMask(m_maker, m_slots.mask, m_b, x[0], -1, x[1]);
        setPast(m_slots.past);
        setScores(m_slots.scores, x);
        setOthers();
        m_maker.output(0, {{m_b}, {m_s}, m_out});
        setPresent();
        if (m_h >= 0)
            m_maker.rewrite(localAttribute("num_heads", {m_h}));
        const double b = static_cast<double>(x[0]), s = static_cast<double>(x[1]);
        m_maker.flops(2 * b * s * m_maker.elements(w) + 4 * b * s * s * static_cast<double>(y[2]));
        return m_maker.finish();
    }

private:
    void makeFactors(const Sizes& x, const Sizes& w, const Sizes& y) {
        const bool lists = m_context.hasInput(m_slots.mask) &&
                           !knownMask(m_context.input(m_slots.mask).dims, x[0]);
        m_b = lists ? m_maker.whole("b", x[0], "the mask lists where all sequences begin and end")
                    : m_maker.parallel("b", x[0]);
        m_s = m_maker.whole("s", x[1], kKeys);
        m_inner = m_maker.whole("i", x[2], kScore);
        const bool equal = w[1] % 3 == 0 && w[1] / 3 == y[2] && y[2] % m_heads == 0 &&
                           !m_context.hasAttribute("qkv_hidden_sizes") &&
                           m_context.attribute("do_rotary", 0) == 0;
        if (!equal) {
            const char* reason = m_context.attribute("do_rotary", 0) != 0
                                     ? "it is rotated by position inside"
                                     : kSides;
            m_columns = {m_maker.whole("columns", w[1], reason)};
            m_out = {m_maker.whole("o", y[2], reason)};
            return;
        }
        m_h = m_maker.parallel("h", m_heads);
        const int three = m_maker.whole("qkv", 3, "query, key and value are three projections");
        const int d = m_maker.whole("d", y[2] / m_heads, kScore);
        m_columns = {three, m_h, d};
        m_out = {m_h, d};
    }

    /// [2, b, heads, length, width]
    Dims cache(const Sizes& sizes, const std::string& name) {
        Dims dims = m_maker.wholeDims(sizes, name, kKeys);
        if (sizes.size() != 5) {
            m_maker.require(false);
            return dims;
        }
        m_maker.require(sizes[2] == m_heads);
        dims[1] = {m_b};
        if (m_h >= 0)
            dims[2] = {m_h};
        return dims;
    }

    void setPast(std::size_t slot) {
        if (m_context.hasInput(slot))
            m_maker.input(slot, cache(m_context.input(slot).dims, "past"));
    }
    void setPresent() {
        if (m_context.hasOutput(1))
            m_maker.output(1, cache(m_context.output(1).dims, "present"));
    }

    void setScores(std::size_t slot, const Sizes& x) {
        if (slot == 0 || !m_context.hasInput(slot))
            return;
        const Sizes& sizes = m_context.input(slot).dims;
        Dims dims = m_maker.wholeDims(sizes, "bias", kKeys);
        m_maker.require(sizes.size() == 4);
        if (m_maker.failed())
            return;
        dims[0] = sizes[0] == x[0] ? std::vector<int>{m_b} : dims[0];
        if (m_h >= 0 && sizes[1] == m_heads)
            dims[1] = {m_h};
        m_maker.input(slot, std::move(dims));
    }

    void setOthers() {
        std::vector<std::size_t> known{0, m_slots.weight, m_slots.bias, m_slots.mask, m_slots.past};
        if (m_slots.scores != 0)
            known.push_back(m_slots.scores);
        known.insert(known.end(), m_slots.perColumn.begin(), m_slots.perColumn.end());
        for (std::size_t slot = 1; slot < m_context.node.inputs.size(); ++slot)
            if (std::find(known.begin(), known.end(), slot) == known.end())
                m_maker.wholeInput(slot, "p" + std::to_string(slot),
                                   "it is a parameter of the whole operation");
    }

    RuleMaker m_maker;
    const NodeContext& m_context;
    FusedSlots m_slots;
    std::int64_t m_heads = 0;
    int m_b = -1, m_s = -1, m_inner = -1, m_h = -1;
    std::vector<int> m_columns, m_out;
};

// --- MultiHeadAttention
// ----------------------------------------------------------------------------------------

struct MultiHeadSlots {
    std::size_t bias = 3, mask = 4, scores = 5, past = 6, lengths = 8;
};

/// Projections done before. [b,s,h*d], [b,t,h*d], [b,t,h*e]:
///   b s (h d^), b t^ (h d^), b t^ (h e) -> b s (h e)
class MultiHead {
public:
    MultiHead(const NodeContext& context, MultiHeadSlots slots)
        : m_maker(context), m_context(context), m_slots(slots) {}

    std::optional<Rule> run() {
        const Sizes &q = m_maker.in(0), &y = m_maker.out(0);
        m_heads = m_context.attribute("num_heads", 0);
        m_maker.require(m_heads > 0 && (q.size() == 3 || q.size() == 5) && y.size() == 3 &&
                        y[2] % m_heads == 0 && q[0] == y[0]);
        if (m_maker.failed())
            return std::nullopt;
        makeFactors(q, y);
        setQuery(q);
        setKeys();
        setBias();
        setKeyMask(m_maker, m_slots.mask, m_b, q[0], m_s, q[1]);
        if (m_context.hasInput(m_slots.scores))
            m_maker.input(m_slots.scores, scoreDims(m_context.input(m_slots.scores).dims, "bias"));
        for (const std::size_t i : {0, 1})
            if (m_context.hasInput(m_slots.past + i))
                m_maker.input(m_slots.past + i, cache(m_context.input(m_slots.past + i).dims,
                                                      "past", i == 0 ? m_d : m_e));
        for (std::size_t slot = m_slots.lengths; slot < m_context.node.inputs.size(); ++slot)
            if (slot != m_slots.bias)
                m_maker.wholeInput(slot, "p" + std::to_string(slot), kKeys);
        m_maker.output(0, {{m_b}, {m_s}, {m_h, m_e}});
        for (const std::size_t i : {1, 2})
            if (m_context.hasOutput(i))
                m_maker.output(i, cache(m_context.output(i).dims, "total", i == 1 ? m_d : m_e));
        if (m_context.hasOutput(3))
            m_maker.output(3, scoreDims(m_context.output(3).dims, "keys"));
        m_maker.rewrite(localAttribute("num_heads", {m_h}));
        const double keys = m_keys > 0 ? static_cast<double>(m_keys) : static_cast<double>(q[1]);
        m_maker.flops(m_maker.elements(y) * 4 * keys);
        return m_maker.finish();
    }

private:
    void makeFactors(const Sizes& q, const Sizes& y) {
        const bool lists = m_context.hasInput(m_slots.mask) &&
                           !knownMask(m_context.input(m_slots.mask).dims, q[0]);
        const bool beams = m_slots.lengths + 1 < m_context.node.inputs.size() &&
                           m_context.hasInput(m_slots.lengths + 1);
        m_b = lists   ? m_maker.whole("b", q[0], "the mask lists where all sequences begin and end")
              : beams ? m_maker.whole("b", q[0], "beams are picked among the batch")
                      : m_maker.parallel("b", q[0]);
        m_h = m_maker.parallel("h", m_heads);
        const bool causal = m_context.attribute("unidirectional", 0) != 0;
        const bool self = q.size() == 5;
        m_s = causal ? m_maker.whole("s", q[1], "the causal mask counts rows from the first")
              : self ? m_maker.whole("s", q[1], "it is the length of the keys, too")
                     : m_maker.parallel("s", q[1]);
        m_d = m_maker.whole("d", q.size() == 5 ? q[4] : q[2] / m_heads, kScore);
        // With a bias all three projections are cut alike, so that equal widths are one factor.
        const bool one = self || m_context.hasInput(m_slots.bias);
        m_e = one                                ? m_d
              : m_context.hasInput(m_slots.past) ? m_maker.whole("e", y[2] / m_heads, kPastWidth)
                                                 : m_maker.parallel("e", y[2] / m_heads);
    }

    /// [b, s, (h d)] or packed [b, s, h, 3, d].
    void setQuery(const Sizes& q) {
        if (q.size() == 3)
            m_maker.input(0, {{m_b}, {m_s}, {m_h, m_d}});
        else
            m_maker.input(
                0, {{m_b}, {m_s}, {m_h}, {m_maker.whole("qkv", 3, "query, key and value")}, {m_d}});
    }

    /// [b, t, (h d)], packed [b, t, h, 2, d], or [b, h, t, d] of another run.
    void setKeys() {
        int t = -1;
        for (const std::size_t slot : {1, 2}) {
            if (!m_context.hasInput(slot))
                continue;
            const Sizes& sizes = m_context.input(slot).dims;
            m_maker.require(sizes.size() >= 3 && sizes.size() <= 5);
            if (m_maker.failed())
                return;
            if (t < 0) {
                m_keys = sizes[sizes.size() == 4 ? 2 : 1];
                t = m_maker.whole("t", m_keys, kKeys);
            }
            if (sizes.size() == 5)
                m_e = m_d;
            if (sizes.size() == 5)
                m_maker.input(
                    slot, {{m_b}, {t}, {m_h}, {m_maker.whole("kv", 2, "key and value")}, {m_d}});
            else
                m_maker.input(slot, arranged(sizes.size(), m_b, {m_h}, t, slot == 1 ? m_d : m_e));
        }
    }

    /// Of the three projections, one after the other.
    void setBias() {
        if (!m_context.hasInput(m_slots.bias))
            return;
        const Sizes& sizes = m_context.input(m_slots.bias).dims;
        const std::int64_t width = m_context.output(0).dims[2];
        m_maker.require(sizes.size() == 1);
        if (m_maker.failed())
            return;
        const Sizes& q = m_context.input(0).dims;
        const bool equal = sizes[0] == 3 * width && (q.size() == 5 || q[2] == width);
        m_maker.require(equal);
        m_maker.input(m_slots.bias,
                      {{m_maker.whole("three", 3, "query, key and value"), m_h, m_d}});
    }

    Dims scoreDims(const Sizes& sizes, const std::string& name) {
        Dims dims = m_maker.wholeDims(sizes, name, kKeys);
        const Sizes& q = m_context.input(0).dims;
        m_maker.require(sizes.size() == 4);
        if (m_maker.failed())
            return dims;
        if (sizes[0] == q[0])
            dims[0] = {m_b};
        if (sizes[1] == m_heads)
            dims[1] = {m_h};
        if (sizes[2] == q[1])
            dims[2] = {m_s};
        return dims;
    }

    Dims cache(const Sizes& sizes, const std::string& name, int width) {
        Dims dims = m_maker.wholeDims(sizes, name, kKeys);
        m_maker.require(sizes.size() == 4 && sizes[1] == m_heads);
        if (m_maker.failed())
            return dims;
        dims[0] = {m_b};
        dims[1] = {m_h};
        dims[3] = {width};
        return dims;
    }

    RuleMaker m_maker;
    const NodeContext& m_context;
    MultiHeadSlots m_slots;
    std::int64_t m_heads = 0, m_keys = 0;
    int m_b = -1, m_h = -1, m_s = -1, m_d = -1, m_e = -1;
};

// --- GroupQueryAttention
// ----------------------------------------------------------------------------------------

/// Several heads of the query share one of key and value. [b,s,h*g*d], [b,s,h*d], [b,s,h*d]:
///   b s^ (h g d^), b s^ (h d^), b s^ (h d^) -> b s^ (h g d^)
/// Where g is split, too, each device takes from key and value the heads that it needs.
class GroupQuery {
public:
    /// `byQueryHeads`: as of Attention (attention.cpp).
    explicit GroupQuery(const NodeContext& context, bool byQueryHeads = false)
        : m_maker(context), m_context(context), m_byQueryHeads(byQueryHeads) {}

    std::optional<Rule> run() {
        const Sizes &q = m_maker.in(0), &y = m_maker.out(0);
        m_heads = m_context.attribute("num_heads", 0);
        m_kvHeads = m_context.attribute("kv_num_heads", 0);
        m_maker.require(q.size() == 3 && y.size() == 3 && m_kvHeads > 0 &&
                        m_heads % m_kvHeads == 0 && m_heads > 0 && y[2] % m_heads == 0);
        if (m_maker.failed())
            return std::nullopt;
        m_packed = !m_context.hasInput(1);
        // Keys and values that are given out are those of whole key heads.
        const bool shares = m_kvHeads > 1 && m_heads > m_kvHeads;
        if (m_byQueryHeads &&
            (!shares || m_packed || m_context.hasOutput(1) || m_context.hasOutput(2)))
            return std::nullopt;
        makeFactors(q, y);
        m_maker.input(0, {{m_b}, {m_s}, m_packed ? wide("qkv", q[2]) : m_queryWidth});
        for (const std::size_t slot : {1, 2})
            m_maker.input(slot, {{m_b}, {m_s}, {m_h, m_d}});
        for (const std::size_t slot : {3, 4})
            if (m_context.hasInput(slot))
                m_maker.input(slot, cache(m_context.input(slot).dims, "past"));
        for (std::size_t slot = 5; slot < m_context.node.inputs.size(); ++slot)
            setOption(slot, q);
        m_maker.output(0, {{m_b}, {m_s}, m_queryWidth});
        for (const std::size_t slot : {1, 2})
            if (m_context.hasOutput(slot))
                m_maker.output(slot, cache(m_context.output(slot).dims, "total"));
        if (m_context.hasOutput(3))
            m_maker.output(3, scores(m_context.output(3).dims, q, "keys"));
        if (!m_packed) {
            m_maker.rewrite(localAttribute("num_heads", m_queryHeads));
            m_maker.rewrite(localAttribute("kv_num_heads",
                                           m_byQueryHeads ? m_queryHeads : std::vector<int>{m_h}));
        }
        for (const int slot : {1, 2, 3, 4})
            if (m_byQueryHeads && m_context.hasInput(static_cast<std::size_t>(slot)))
                readKeyHeads(slot, y[2] / m_heads);
        m_maker.flops(m_maker.elements(y) * 4 * static_cast<double>(q[1]));
        return m_maker.finish();
    }

private:
    std::vector<int> wide(const char* name, std::int64_t size) {
        return {m_maker.whole(name, size, kSides)};
    }

    /// Of keys and values [b, t, (h d)], and of past ones [b, h, t, d].
    void readKeyHeads(int slot, std::int64_t width) {
        const bool past = slot >= 3;
        Rewrite rewrite{Rewrite::Kind::PickSlices};
        rewrite.slot = slot;
        rewrite.dim = past ? 1 : 2;
        rewrite.factor = m_queryHeads.front();
        rewrite.axes = {m_heads / m_kvHeads, past ? 1 : width};
        m_maker.rewrite(std::move(rewrite));
    }

    void makeFactors(const Sizes& q, const Sizes& y) {
        m_b = m_maker.parallel("b", q[0]);
        m_s = m_maker.whole("s", q[1],
                            "keys and values are of the same rows, and added to the cache");
        const std::int64_t shared = m_heads / m_kvHeads;
        if (m_byQueryHeads) {
            m_h = m_maker.whole("h", m_kvHeads, "several devices read the same key head");
            m_queryHeads = {m_maker.parallel("q", m_heads)};
        } else if (m_packed) {
            m_h = m_maker.whole("h", m_kvHeads, kSides);
            m_queryHeads = {m_h, m_maker.whole("g", shared, kSides)};
        } else {
            m_h = m_maker.parallel("h", m_kvHeads);
            m_queryHeads = {m_h, m_maker.parallel("g", shared)};
        }
        m_d = m_maker.whole("d", y[2] / m_heads, kScore);
        m_queryWidth = m_queryHeads;
        m_queryWidth.push_back(m_d);
    }

    Dims cache(const Sizes& sizes, const std::string& name) {
        Dims dims = m_maker.wholeDims(sizes, name, kKeys);
        m_maker.require(sizes.size() == 4 && sizes[1] == m_kvHeads);
        if (m_maker.failed())
            return dims;
        dims[0] = {m_b};
        dims[1] = {m_h};
        return dims;
    }

    Dims scores(const Sizes& sizes, const Sizes& q, const std::string& name) {
        Dims dims = m_maker.wholeDims(sizes, name, kKeys);
        m_maker.require(sizes.size() == 4);
        if (m_maker.failed())
            return dims;
        if (sizes[0] == q[0])
            dims[0] = {m_b};
        if (sizes[1] == m_heads)
            dims[1] = m_queryHeads;
        return dims;
    }

    void setOption(std::size_t slot, const Sizes& q) {
        if (!m_context.hasInput(slot))
            return;
        const Sizes& sizes = m_context.input(slot).dims;
        if ((slot == 5 || slot == 16) && sizes.size() == 1 && sizes[0] == q[0])
            m_maker.input(slot, {{m_b}});  // Lengths, one a sequence.
        else if (slot == 5 && sizes.size() == 2 && sizes[0] == q[0])
            m_maker.input(slot, {{m_b}, {}});
        else if (slot == 9 && sizes.size() == 2)
            m_maker.input(slot, m_maker.broadcast(sizes, {{m_b}, {m_s}}));
        else if (slot == 10)
            m_maker.input(slot, scores(sizes, q, "bias"));
        else if (slot == 11 && sizes.size() == 1 && sizes[0] == m_heads)
            m_maker.input(slot, {m_queryHeads});
        else
            m_maker.wholeInput(slot, "p" + std::to_string(slot),
                               "it is a parameter of the whole operation");
    }

    RuleMaker m_maker;
    const NodeContext& m_context;
    std::int64_t m_heads = 0, m_kvHeads = 0;
    bool m_packed = false, m_byQueryHeads;
    int m_b = -1, m_s = -1, m_h = -1, m_d = -1;
    std::vector<int> m_queryHeads, m_queryWidth;
};

std::optional<Rule> buildGroupQuery(const NodeContext& context) {
    std::optional<Rule> rule = GroupQuery(context).run();
    if (rule)
        if (auto other = GroupQuery(context, true).run())
            rule->otherwise = std::make_shared<const Rule>(std::move(*other));
    return rule;
}

/// Positions [1] (the first, the others follow) or [b, s]; caches of one row a position.
///   [b,s,h*d]      b s (h d^), b s, p^ r^, p^ r^ -> b s (h d^)
std::optional<Rule> buildRotary(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &ids = maker.in(1), &cache = maker.in(2);
    maker.require(x == maker.out(0) && cache.size() == 2 && (x.size() == 3 || x.size() == 4));
    if (maker.failed())
        return std::nullopt;
    const std::int64_t told = context.attribute("num_heads", 0);
    const bool partial = context.attribute("rotary_embedding_dim", 0) != 0;
    std::int64_t heads = x.size() == 4 ? x[1] : told;
    if (heads <= 0 && !partial && cache[1] > 0 && x.back() % (2 * cache[1]) == 0)
        heads = x.back() / (2 * cache[1]);
    maker.require(heads > 0 && x.back() % (x.size() == 4 ? 1 : heads) == 0);
    if (maker.failed())
        return std::nullopt;
    const bool ragged = context.attribute("is_packed_batching", 0) != 0;
    const std::int64_t rows = x[x.size() == 4 ? 2 : 1];
    const bool each = ids.size() == 2 && ids[0] == x[0] && ids[1] == rows && !ragged;
    const char* counted = ragged ? "sequences of different lengths follow each other"
                                 : "positions are counted from the first row";
    const int b = ragged ? maker.whole("b", x[0], counted) : maker.parallel("b", x[0]);
    const int h = maker.parallel("h", heads);
    const int s = each ? maker.parallel("s", rows) : maker.whole("s", rows, counted);
    const int d = maker.whole("d", x.size() == 4 ? x[3] : x[2] / heads,
                              "its halves are rotated against each other");
    const Dims dims = arranged(x.size(), b, {h}, s, d);
    maker.input(0, dims);
    if (each)
        maker.input(1, {{b}, {s}});
    else
        maker.wholeInput(1, "ids", counted);
    const Dims table{{maker.whole("p", cache[0], "its rows are looked up by position")},
                     {maker.whole("r", cache[1], "its halves are rotated against each other")}};
    for (const std::size_t slot : {2, 3})
        maker.input(slot, maker.broadcast(context.input(slot).dims, table, 0));
    maker.output(0, dims);
    if (told > 0)
        maker.rewrite(localAttribute("num_heads", {h}));
    maker.flops(3 * maker.elements(x));
    return maker.finish();
}

/// Positions are rows of the two tables; one position is that of the first element.
ElementUse rotatesAt(const NodeContext& context) {
    const std::int64_t rows = sizeAt(context, 2, 0), length = sizeAt(context, 0, -2);
    const bool first = context.input(1).elementCount() == 1;
    return {{{1, first && rows >= 0 && length >= 0 ? rows - length + 1 : rows}}, {}};
}

}  // namespace

void registerContribAttention(Registry& registry) {
    const char* family = "attention";
    addContrib(registry, {"Attention"}, family,
               [](const NodeContext& context) { return FusedAttention(context, {}).run(); });
    addContrib(registry, {"QAttention"}, family, [](const NodeContext& context) {
        return FusedAttention(context, {1, 2, 5, 8, 0, {4, 7}}).run();
    });
    addContrib(registry, {"MultiHeadAttention"}, family,
               [](const NodeContext& context) { return MultiHead(context, {}).run(); });
    addContrib(registry, {"DecoderMaskedMultiHeadAttention"}, family,
               [](const NodeContext& context) {
                   return MultiHead(context, {10, 3, 4, 5, 7}).run();
               });
    addContrib(registry, {"GroupQueryAttention"}, family, buildGroupQuery);
    addContrib(registry, {"RotaryEmbedding"}, family, buildRotary);
    registry.describe("com.microsoft", "RotaryEmbedding", rotatesAt);
}

}  // namespace shardwright
