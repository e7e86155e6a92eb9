// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"
#include "rules/spatial.h"

namespace shardwright {

namespace {

Dims joined(Dims first, const Dims& rest) {
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
}

void localCount(RuleMaker& maker, const char* attribute, int factor) {
    Rewrite rewrite{Rewrite::Kind::LocalAttribute};
    rewrite.name = attribute;
    rewrite.factors = {factor};
    maker.rewrite(std::move(rewrite));
}

/// Factors of a convolution. Channels are groups of channels; each group is a convolution of its
/// own, so that a depthwise one is parallel over its channels.
///   2 groups     n (g c+) h~ w~, (g o) c+ kh^ kw^, (g o) -> n (g o) h~ w~
class ConvMaker {
public:
    /// `kWhole` says why the channels may not be summed in parts, if so.
    ConvMaker(const NodeContext& context, std::size_t x, std::size_t w, std::string kWhole = {})
        : m_maker(context), m_context(context), m_xSlot(x), m_wSlot(w),
          m_kWhole(std::move(kWhole)) {}

    /// W is [o, c, ...], transposed [c, o, ...], each with the groups in the first dimension.
    bool run(bool transposed) {
        const Sizes &x = m_maker.in(m_xSlot), &w = m_maker.in(m_wSlot), &y = m_maker.out(0);
        const std::int64_t groups = m_context.attribute("group", 1);
        m_maker.require(x.size() >= 3 && x.size() == w.size() && x.size() == y.size());
        m_maker.require(groups >= 1);
        if (m_maker.failed())
            return false;
        const std::int64_t c = transposed ? w[0] / groups : w[1];
        const std::int64_t o = transposed ? w[1] : w[0] / groups;
        std::int64_t in = 0, out = 0;
        m_maker.require(!__builtin_mul_overflow(c, groups, &in) && in == x[1]);
        m_maker.require(!__builtin_mul_overflow(o, groups, &out) && out == y[1]);
        m_maker.require(w[0] == (transposed ? in : out) && x[0] == y[0]);
        const Sizes kernel = spatialSizes(w);
        const Sizes given = m_context.attributeInts("kernel_shape");
        m_maker.require(given.empty() || given == kernel);
        const Sizes& wide = transposed ? y : x;
        const Sizes& narrow = transposed ? x : y;
        auto windows = windowsOf(m_maker, kernel, spatialSizes(wide));
        if (transposed)
            noteGivenSizes(windows);
        m_spatial = spatialDims(m_maker, windows, spatialSizes(wide), spatialSizes(narrow),
                                transposed ? -1 : static_cast<int>(m_xSlot));
        if (m_maker.failed())
            return false;
        m_n = m_maker.parallel("n", x[0]);
        m_g = m_maker.parallel("g", groups);
        m_c = m_kWhole.empty() ? m_maker.reduction("c", c, ReduceKind::Sum)
                               : m_maker.whole("c", c, m_kWhole);
        m_o = m_maker.parallel("o", o);
        m_maker.input(m_xSlot,
                      joined({{m_n}, {m_g, m_c}}, transposed ? m_spatial.narrow : m_spatial.wide));
        m_maker.input(m_wSlot,
                      joined(transposed ? Dims{{m_g, m_c}, {m_o}} : Dims{{m_g, m_o}, {m_c}},
                             m_spatial.kernel));
        m_maker.output(0,
                       joined({{m_n}, {m_g, m_o}}, transposed ? m_spatial.wide : m_spatial.narrow));
        localCount(m_maker, "group", m_g);
        m_maker.flops(2.0 * static_cast<double>(c) * m_maker.elements(kernel) *
                      (transposed
                           ? m_maker.elements(x) / static_cast<double>(c) * static_cast<double>(o)
                           : m_maker.elements(y)));
        return !m_maker.failed();
    }

    /// One number, or one an output channel.
    void perChannel(std::size_t slot) {
        if (!m_context.hasInput(slot))
            return;
        const Sizes& sizes = m_context.input(slot).dims;
        m_maker.require(sizes.size() <= 1);
        m_maker.input(slot, m_maker.broadcast(sizes, {{m_g, m_o}}));
    }

    void bias(std::size_t slot) {
        perChannel(slot);
        m_maker.addedOnce(slot);
    }

    /// One number for all.
    void one(std::size_t slot) { m_maker.input(slot, Dims(m_context.input(slot).dims.size())); }

    std::optional<Rule> finish() { return m_maker.finish(); }

private:
    void noteGivenSizes(std::vector<Window>& windows) {
        const Sizes padding = m_context.attributeInts("output_padding");
        m_maker.require(padding.empty() || padding.size() == windows.size());
        for (std::size_t d = 0; d < windows.size() && !m_maker.failed(); ++d)
            windows[d].sizeGiven =
                m_context.hasAttribute("output_shape") || (!padding.empty() && padding[d] != 0);
    }

    RuleMaker m_maker;
    const NodeContext& m_context;
    std::size_t m_xSlot, m_wSlot;
    std::string m_kWhole;
    SpatialDims m_spatial;
    int m_n = -1, m_g = -1, m_c = -1, m_o = -1;
};

std::optional<Rule> buildConv(const NodeContext& context) {
    ConvMaker maker(context, 0, 1);
    if (!maker.run(false))
        return std::nullopt;
    maker.bias(2);
    return maker.finish();
}

std::optional<Rule> buildConvTranspose(const NodeContext& context) {
    ConvMaker maker(context, 0, 1);
    if (!maker.run(true))
        return std::nullopt;
    maker.bias(2);
    return maker.finish();
}

/// Products of integers less their zero points add up over channels.
std::optional<Rule> buildConvInteger(const NodeContext& context) {
    ConvMaker maker(context, 0, 1);
    if (!maker.run(false))
        return std::nullopt;
    maker.one(2);
    maker.perChannel(3);
    return maker.finish();
}

std::optional<Rule> buildQLinearConv(const NodeContext& context) {
    ConvMaker maker(context, 0, 3, "the sum is rounded to the scale of the output");
    if (!maker.run(false))
        return std::nullopt;
    for (const std::size_t slot : {1, 2, 6, 7})
        maker.one(slot);
    for (const std::size_t slot : {4, 5, 8})
        maker.perChannel(slot);
    return maker.finish();
}

/// Channels are in groups of the weights (g) and in groups that share offsets (q). Both can be
/// split where one of them is all there is, or both are the same.
///   [2,4,8,8], [6,4,3,3], offsets of 2 groups [2,36,6,6]
///     n (q+ c+) h^ w^, o (q+ c+) kh^ kw^, n (q+ k^) oh^ ow^ -> n o oh^ ow^
class DeformableMaker {
public:
    explicit DeformableMaker(const NodeContext& context) : m_maker(context), m_context(context) {}

    std::optional<Rule> run() {
        const Sizes &x = m_maker.in(0), &w = m_maker.in(1), &offset = m_maker.in(2),
                    &y = m_maker.out(0);
        const std::int64_t groups = m_context.attribute("group", 1),
                           sharing = m_context.attribute("offset_group", 1);
        m_maker.require(x.size() == 4 && w.size() == 4 && offset.size() == 4 && y.size() == 4);
        m_maker.require(groups >= 1 && sharing >= 1);
        if (m_maker.failed() || x[1] % groups != 0 || x[1] % sharing != 0 || w[0] % groups != 0)
            return std::nullopt;
        setChannels(groups, sharing, x[1]);
        const int n = m_maker.parallel("n", x[0]), o = m_maker.parallel("o", w[0] / groups);
        const Dims pixels = m_maker.wholeDims({x[2], x[3]}, "x", "offsets may point anywhere");
        const Dims kernel =
            m_maker.wholeDims({w[2], w[3]}, "k", "the kernel slides over all of it");
        const Dims places =
            m_maker.wholeDims({y[2], y[3]}, "y", "places are counted from the first");
        m_maker.input(0, {{n}, m_x, pixels[0], pixels[1]});
        m_maker.input(1, {{m_g, o}, m_w, kernel[0], kernel[1]});
        m_maker.input(2, {{n}, offsets(offset[1], sharing), places[0], places[1]});
        m_maker.input(3, {{m_g, o}});
        m_maker.addedOnce(3);
        if (m_context.hasInput(4))
            m_maker.input(4, {{n}, offsets(m_maker.in(4).at(1), sharing), places[0], places[1]});
        m_maker.output(0, {{n}, {m_g, o}, places[0], places[1]});
        m_maker.flops(2.0 * m_maker.elements(y) * m_maker.elements(spatialSizes(w, 1)));
        return m_maker.finish();
    }

private:
    void setChannels(std::int64_t groups, std::int64_t sharing, std::int64_t channels) {
        const std::int64_t most = std::max(groups, sharing);
        m_g = m_maker.parallel("g", groups);
        if (groups == 1 || sharing == 1 || groups == sharing) {
            const int c = m_maker.reduction("c", channels / most, ReduceKind::Sum);
            m_q = groups == 1 ? m_maker.reduction("q", sharing, ReduceKind::Sum) : m_g;
            m_x = {groups == 1 ? m_q : m_g, c};
            m_w = groups == 1 ? std::vector<int>{m_q, c} : std::vector<int>{c};
            if (sharing == 1)
                m_q = -1;
            localCount(m_maker, "group", m_g);
            if (m_q >= 0)
                localCount(m_maker, "offset_group", m_q);
            return;
        }
        const char* reason = "groups of weights and groups of offsets cut the channels differently";
        m_g = m_maker.whole("g", groups, reason);
        m_q = m_maker.whole("q", sharing, reason);
        m_x = {m_maker.whole("c", channels, reason)};
        m_w = {m_maker.whole("wc", channels / groups, reason)};
    }

    std::vector<int> offsets(std::int64_t size, std::int64_t sharing) {
        const int each = m_maker.whole("k", size / sharing, "one offset each of the kernel");
        m_maker.require(size % sharing == 0);
        return m_q >= 0 ? std::vector<int>{m_q, each} : std::vector<int>{each};
    }

    RuleMaker m_maker;
    const NodeContext& m_context;
    int m_g = -1, m_q = -1;
    std::vector<int> m_x, m_w;
};

/// [2,4,6], [4,1,3], [4], [2,4,2]      b c t^, c 1 k^, c, b c s^ -> b c t^, b c s^
std::optional<Rule> buildCausalConv(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &w = maker.in(1);
    maker.require(x == maker.out(0) && x.size() == 3 && w.size() == 3);
    if (maker.failed())
        return std::nullopt;
    const char* reason = "each position reads those before it";
    const int b = maker.parallel("b", x[0]), c = maker.parallel("c", x[1]);
    const int t = maker.whole("t", x[2], reason), k = maker.whole("k", w[2], reason);
    const int s = maker.whole("s", w[2] - 1, reason);
    maker.input(0, {{b}, {c}, {t}});
    maker.input(1, {{c}, {}, {k}});
    maker.input(2, {{c}});
    maker.input(3, {{b}, {c}, {s}});
    maker.output(0, {{b}, {c}, {t}});
    maker.output(1, {{b}, {c}, {s}});
    maker.flops(2.0 * maker.elements(x) * static_cast<double>(w[2]));
    return maker.finish();
}

}  // namespace

void registerConvolution(Registry& registry) {
    const std::string family = "convolution";
    for (const auto& [op, build] : {std::pair{"Conv", &buildConv},
                                    {"ConvTranspose", buildConvTranspose},
                                    {"ConvInteger", buildConvInteger}})
        registry.add({"", op, family, false, unsupportedInProposal(op), build, {}, {}, true, {}});
    registry.add({"",
                  "DeformConv",
                  family,
                  false,
                  unsupportedInProposal("DeformConv"),
                  [](const NodeContext& context) { return DeformableMaker(context).run(); },
                  {},
                  {},
                  true});
    for (const auto& [op, build] :
         {std::pair{"QLinearConv", &buildQLinearConv}, {"CausalConvWithState", buildCausalConv}})
        registry.add({"", op, family, false, noRuleInProposal(op), build, {}, {}, true, {}});
}

}  // namespace shardwright
