// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"

namespace shardwright {

namespace {

constexpr const char* kWritten = "the indices say where along it is written";

/// Along 1 of [2,8] at [2,3]      d0 d1^, d0 i1^, d0 i1^ -> d0 d1^
std::optional<Rule> buildScatterElements(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &data = maker.in(0), &indices = maker.in(1);
    maker.require(data == maker.out(0) && indices == maker.in(2) && data.size() == indices.size());
    const std::size_t axis = maker.axis(context.attribute("axis", 0), data.size());
    if (maker.failed())
        return std::nullopt;
    Dims in, at;
    for (std::size_t d = 0; d < data.size(); ++d) {
        const std::string number = std::to_string(d);
        if (d != axis && data[d] == indices[d]) {
            in.push_back({maker.parallel("d" + number, data[d])});
            at.push_back(in.back());
            continue;
        }
        const char* reason = d == axis ? kWritten : "the indices are shorter than the data";
        in.push_back({maker.whole("d" + number, data[d], reason)});
        at.push_back({maker.whole("i" + number, indices[d], reason)});
    }
    maker.input(0, in);
    maker.input(1, at);
    maker.input(2, at);
    maker.output(0, in);
    maker.flops(0);
    return maker.finish();
}

/// [5,8] at rows [4,1], updates [4,8]      d0^ q0, i0^ 1, i0^ q0 -> d0^ q0
std::optional<Rule> buildScatterNd(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &data = maker.in(0), &indices = maker.in(1), &updates = maker.in(2);
    maker.require(data == maker.out(0) && !indices.empty());
    if (maker.failed())
        return std::nullopt;
    const std::int64_t tuple = indices.back();
    maker.require(tuple >= 0 && tuple <= static_cast<std::int64_t>(data.size()));
    if (maker.failed())
        return std::nullopt;
    Dims in, at, up;
    for (std::size_t d = 0; d + 1 < indices.size(); ++d) {
        at.push_back({maker.whole("i" + std::to_string(d), indices[d],
                                  "later updates overwrite earlier ones")});
        up.push_back(at.back());
    }
    at.push_back({maker.whole("t", tuple, "each index is a tuple")});
    for (std::size_t d = 0; d < data.size(); ++d) {
        const bool written = static_cast<std::int64_t>(d) < tuple;
        const std::string number =
            std::to_string(written ? d : d - static_cast<std::size_t>(tuple));
        in.push_back({written ? maker.whole("d" + number, data[d], kWritten)
                              : maker.parallel("q" + number, data[d])});
        if (!written)
            up.push_back(in.back());
    }
    maker.require(up.size() == updates.size());
    maker.input(0, in);
    maker.input(1, std::move(at));
    maker.input(2, std::move(up));
    maker.output(0, in);
    maker.flops(0);
    return maker.finish();
}

/// Opset 24, a cache [2,3,8,4] and its update [2,3,2,4], axis 2
///   b d1 d2^ d3, b d1 s^ d3, b -> b d1 d2^ d3
std::optional<Rule> buildTensorScatter(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &cache = maker.in(0), &update = maker.in(1);
    maker.require(cache == maker.out(0) && cache.size() == update.size() && cache.size() >= 2);
    const std::size_t axis = maker.axis(context.attribute("axis", -2), cache.size());
    maker.require(axis != 0);
    if (maker.failed())
        return std::nullopt;
    Dims in, at;
    for (std::size_t d = 0; d < cache.size(); ++d) {
        const std::string name = d == 0 ? "b" : "d" + std::to_string(d);
        maker.require(d == axis || cache[d] == update[d]);
        in.push_back(
            {d == axis ? maker.whole(name, cache[d], kWritten) : maker.parallel(name, cache[d])});
        at.push_back(d == axis ? std::vector<int>{maker.whole("s", update[d], kWritten)}
                               : in.back());
    }
    maker.input(0, in);
    maker.input(1, std::move(at));
    maker.input(2, {in[0]});
    maker.output(0, in);
    maker.flops(0);
    return maker.finish();
}

ElementUse writesAlongAxis(const NodeContext& context) {
    return {{{1, sizeAt(context, 0, context.attribute("axis", 0))}}, {{0}, {2}}};
}

ElementUse writesAtTuples(const NodeContext& context) {
    ElementUse use{{}, {{0}, {2}}};
    for (std::size_t d = 0; d < context.input(0).dims.size(); ++d)
        use.indices.push_back({1, context.input(0).dims[d], static_cast<int>(d)});
    return use;
}

/// The update must end within the cache.
ElementUse writesFrom(const NodeContext& context) {
    const std::int64_t axis = context.attribute("axis", -2);
    const std::int64_t cache = sizeAt(context, 0, axis), update = sizeAt(context, 1, axis);
    return {{{2, cache < 0 || update < 0 ? -1 : cache - update + 1}}, {{0}, {1}}};
}

}  // namespace

void registerScatter(Registry& registry) {
    for (const char* op : {"ScatterElements", "Scatter"})
        registry.add(
            {"", op, "indexed", false, noRuleInProposal(op), buildScatterElements, {}, {}, true});
    registry.add({"",
                  "ScatterND",
                  "indexed",
                  false,
                  noRuleInProposal("ScatterND"),
                  buildScatterNd,
                  {},
                  {},
                  true});
    registry.add({"",
                  "TensorScatter",
                  "indexed",
                  false,
                  noRuleInProposal("TensorScatter"),
                  buildTensorScatter,
                  {},
                  {},
                  true});
    registry.describe("", "ScatterElements", writesAlongAxis);
    registry.describe("", "Scatter", writesAlongAxis);
    registry.describe("", "ScatterND", writesAtTuples);
    registry.describe("", "TensorScatter", writesFrom);
}

}  // namespace shardwright
