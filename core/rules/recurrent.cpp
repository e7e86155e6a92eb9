// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"

namespace shardwright {

namespace {

/// RNN, GRU, LSTM: sequences are independent of each other, nothing else is.
///   LSTM [3,2,4], hidden 5
///     t^ b i^, d^ (gate^ h^) i^, d^ (gate^ h^) h^, d^ bias^, b, ... -> t^ d^ b h^, d^ b h^, ...
/// With layout 1 the batch comes first.
std::optional<Rule> buildRecurrent(const NodeContext& context, std::int64_t gates) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &w = maker.in(1), &r = maker.in(2);
    maker.require(x.size() == 3 && w.size() == 3 && r.size() == 3);
    if (maker.failed())
        return std::nullopt;
    const bool batchFirst = context.attribute("layout", 0) != 0;
    const std::int64_t hidden = r[2];
    const int t = maker.whole("t", x[batchFirst ? 1 : 0], "each step depends on the one before it");
    const int b = maker.parallel("b", x[batchFirst ? 0 : 1]);
    const int i = maker.whole("i", x[2], "each gate is a sum along it, before its activation");
    const int d = maker.whole("d", w[0], "the direction is an attribute of the operator");
    const int h = maker.whole("h", hidden, "each gate reads the whole state of the step before");
    const int gate = maker.whole("gate", gates, "each gate is one of a kind");
    const Dims state = batchFirst ? Dims{{b}, {d}, {h}} : Dims{{d}, {b}, {h}};
    maker.input(0, batchFirst ? Dims{{b}, {t}, {i}} : Dims{{t}, {b}, {i}});
    maker.input(1, {{d}, {gate, h}, {i}});
    // A factor is once in a tensor, though the state is read and written.
    maker.input(2,
                {{d},
                 {gate, h},
                 {maker.whole("s", hidden, "each gate reads the whole state of the step before")}});
    if (context.hasInput(3)) {
        maker.require(context.input(3).dims.size() == 2);
        if (maker.failed())
            return std::nullopt;
        maker.input(
            3, {{d}, {maker.whole("bias", context.input(3).dims[1], "it is one of each gate")}});
    }
    maker.input(4, {{b}});
    maker.input(5, state);
    maker.input(6, state);
    if (context.hasInput(7)) {
        maker.require(context.input(7).dims.size() == 2);
        if (maker.failed())
            return std::nullopt;
        maker.input(
            7, {{d}, {maker.whole("peep", context.input(7).dims[1], "it is one of each gate")}});
    }
    maker.output(0, batchFirst ? Dims{{b}, {t}, {d}, {h}} : Dims{{t}, {d}, {b}, {h}});
    maker.output(1, state);
    maker.output(2, state);
    const double steps = maker.elements({x[0], x[1]});
    maker.flops(2.0 * steps * (maker.elements(w) + maker.elements(r)));
    return maker.finish();
}

/// Opset 27: heads of keys and values (h), each shared by query heads (g); columns of the state
/// (e) do not mix.
///   query [2,3,8], key [2,3,4], value [2,3,4] of 2 heads for 4 queries
///     b t^ (h g d^), b t^ (h d^), b t^ (h e), ... -> b t^ (h g e), b h d^ e
std::optional<Rule> buildLinearAttention(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &q = maker.in(0), &k = maker.in(1), &v = maker.in(2);
    const std::int64_t queries = context.attribute("q_num_heads", 0),
                       heads = context.attribute("kv_num_heads", 0);
    maker.require(q.size() == 3 && k.size() == 3 && v.size() == 3);
    maker.require(heads > 0 && queries > 0 && queries % std::max<std::int64_t>(heads, 1) == 0);
    if (maker.failed() || q[2] % queries != 0 || k[2] % heads != 0 || v[2] % heads != 0)
        return std::nullopt;
    const int b = maker.parallel("b", q[0]);
    const int t = maker.whole("t", q[1], "each step depends on the one before it");
    const int h = maker.parallel("h", heads), g = maker.parallel("g", queries / heads);
    const int d = maker.whole("d", k[2] / heads, "each result is a sum along it");
    const int e = maker.parallel("e", v[2] / heads);
    maker.input(0, {{b}, {t}, {h, g, d}});
    maker.input(1, {{b}, {t}, {h, d}});
    maker.input(2, {{b}, {t}, {h, e}});
    maker.input(3, {{b}, {h}, {d}, {e}});
    if (context.hasInput(4))  // One a head, or one a key dimension.
        maker.input(
            4, maker.broadcast(context.input(4).dims,
                               {{b},
                                {t},
                                context.input(4).dims.back() == heads ? std::vector<int>{h}
                                                                      : std::vector<int>{h, d}},
                               0));
    if (context.hasInput(5))
        maker.input(5, maker.broadcast(context.input(5).dims, {{b}, {t}, {h}}, 0));
    maker.output(0, {{b}, {t}, {h, g, e}});
    maker.output(1, {{b}, {h}, {d}, {e}});
    for (const auto& [name, factors] : {std::pair{"q_num_heads", std::vector<int>{h, g}},
                                        {"kv_num_heads", std::vector<int>{h}}}) {
        Rewrite rewrite{Rewrite::Kind::LocalAttribute};
        rewrite.name = name;
        rewrite.factors = factors;
        maker.rewrite(std::move(rewrite));
    }
    maker.flops(4.0 * maker.elements(q) * static_cast<double>(v[2] / heads));
    return maker.finish();
}

}  // namespace

void registerRecurrent(Registry& registry) {
    for (const auto& [op, gates] : {std::pair{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}})
        registry.add(
            {"",
             op,
             "recurrent",
             false,
             unsupportedInProposal(op),
             [gates = gates](const NodeContext& context) { return buildRecurrent(context, gates); },
             {},
             {},
             true});
    // Lengths, up to all of the sequence.
    for (const char* op : {"RNN", "GRU", "LSTM"})
        registry.describe("", op, [](const NodeContext& context) {
            const std::int64_t length =
                sizeAt(context, 0, context.attribute("layout", 0) == 0 ? 0 : 1);
            return ElementUse{{{4, length < 0 ? -1 : length + 1}}, {}};
        });
    registry.add({"",
                  "LinearAttention",
                  "recurrent",
                  false,
                  noRuleInProposal("LinearAttention"),
                  buildLinearAttention,
                  {},
                  {},
                  true});
}

}  // namespace shardwright
