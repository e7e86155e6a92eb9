// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

namespace shardwright {

namespace {

/// The dimension that indices point into. Split, every device looks up what it has and gives zeros
/// for the rest, and the sum of these is exact: each index lies on one device.
int lookedUp(RuleMaker& maker, const std::string& name, std::int64_t size, int column = -1) {
    const std::int32_t type = maker.context().input(0).elementType;
    if (type == onnx::TensorProto::STRING)
        return maker.whole(name, size, "strings cannot be summed");
    const int factor = maker.reduction(
        name, size, type == onnx::TensorProto::BOOL ? ReduceKind::Or : ReduceKind::Sum);
    Rewrite rewrite{Rewrite::Kind::MaskedLookup};
    rewrite.slot = 1;
    rewrite.factor = factor;
    rewrite.dim = column;
    maker.rewrite(std::move(rewrite));
    return factor;
}

/// Rows of [100,8] by [2,4]      v+ q0, i0 i1 -> i0 i1 q0
std::optional<Rule> buildGather(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &data = maker.in(0), &indices = maker.in(1);
    const std::size_t axis = maker.axis(context.attribute("axis", 0), data.size());
    if (maker.failed())
        return std::nullopt;
    const Dims positions = maker.parallelDims(indices, "i");
    Dims in, out;
    for (std::size_t d = 0; d < data.size(); ++d) {
        if (d == axis) {
            in.push_back({lookedUp(maker, "v", data[d])});
            out.insert(out.end(), positions.begin(), positions.end());
        } else {
            const std::string name =
                d < axis ? "p" + std::to_string(d) : "q" + std::to_string(d - axis - 1);
            in.push_back({maker.parallel(name, data[d])});
            out.push_back(in.back());
        }
    }
    maker.input(0, std::move(in));
    maker.input(1, positions);
    maker.output(0, std::move(out));
    maker.flops(0);
    return maker.finish();
}

/// Along 1 of [2,8] by [2,3]      d0 v+, d0 i -> d0 i
std::optional<Rule> buildGatherElements(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &data = maker.in(0), &indices = maker.in(1);
    maker.require(data.size() == indices.size() && indices == maker.out(0));
    const std::size_t axis = maker.axis(context.attribute("axis", 0), data.size());
    if (maker.failed())
        return std::nullopt;
    Dims in, out;
    for (std::size_t d = 0; d < data.size(); ++d) {
        const std::string name = "d" + std::to_string(d);
        if (d == axis) {
            in.push_back({lookedUp(maker, "v", data[d])});
            out.push_back({maker.parallel("i", indices[d])});
        } else if (data[d] == indices[d]) {
            in.push_back({maker.parallel(name, data[d])});
            out.push_back(in.back());
        } else {
            const char* reason = "the indices are shorter than the data";
            maker.require(indices[d] < data[d]);
            in.push_back({maker.whole(name, data[d], reason)});
            out.push_back({maker.whole("i" + std::to_string(d), indices[d], reason)});
        }
    }
    maker.input(0, std::move(in));
    maker.input(1, out);
    maker.output(0, std::move(out));
    maker.flops(0);
    return maker.finish();
}

/// [5,6,8] by pairs [4,2]      v0+ v1+ q0, i0 t^ -> i0 q0
/// With one batch dimension, [3,6,8] by [3,4,1]      b0 v0+ q0, b0 i0 1 -> b0 i0 q0
std::optional<Rule> buildGatherNd(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &data = maker.in(0), &indices = maker.in(1);
    const std::int64_t batch = context.attribute("batch_dims", 0);
    const auto rank = static_cast<std::int64_t>(data.size()),
               positions = static_cast<std::int64_t>(indices.size()) - 1;
    maker.require(batch >= 0 && batch <= positions && batch < rank);
    maker.require(!indices.empty() && indices.back() >= 1 && indices.back() <= rank - batch);
    if (maker.failed())
        return std::nullopt;
    const auto first = static_cast<std::size_t>(batch),
               tuple = static_cast<std::size_t>(indices.back());
    Dims in, at, out;
    for (std::size_t d = 0; d < first; ++d) {
        maker.require(data[d] == indices[d]);
        in.push_back({maker.parallel("b" + std::to_string(d), data[d])});
    }
    at = in;
    for (std::size_t d = first; d + 1 < indices.size(); ++d)
        at.push_back({maker.parallel("i" + std::to_string(d - first), indices[d])});
    out = at;
    at.push_back({maker.whole("t", indices.back(), "each index is a tuple")});
    for (std::size_t j = 0; j < tuple; ++j)
        in.push_back(
            {lookedUp(maker, "v" + std::to_string(j), data[first + j], static_cast<int>(j))});
    for (std::size_t d = first + tuple; d < data.size(); ++d) {
        in.push_back({maker.parallel("q" + std::to_string(d - first - tuple), data[d])});
        out.push_back(in.back());
    }
    maker.input(0, std::move(in));
    maker.input(1, std::move(at));
    maker.output(0, std::move(out));
    maker.flops(0);
    return maker.finish();
}

/// Of Gather and GatherElements.
ElementUse indexesAxis(const NodeContext& context) {
    return {{{1, sizeAt(context, 0, context.attribute("axis", 0))}}, {{0}}};
}

ElementUse indexesTuples(const NodeContext& context) {
    ElementUse use{{}, {{0}}};
    const std::int64_t batch = context.attribute("batch_dims", 0);
    const auto rank = static_cast<std::int64_t>(context.input(0).dims.size());
    for (std::int64_t d = std::max<std::int64_t>(batch, 0); d < rank; ++d)
        use.indices.push_back({1, sizeAt(context, 0, d), static_cast<int>(d - batch)});
    return use;
}

}  // namespace

void registerIndexed(Registry& registry) {
    const auto add = [&](const char* op, std::optional<Rule> (*build)(const NodeContext&)) {
        registry.add({"", op, "indexed", false, noRuleInProposal(op), build, {}, {}, true});
    };
    add("Gather", buildGather);
    add("GatherElements", buildGatherElements);
    add("GatherND", buildGatherNd);
    registry.describe("", "Gather", indexesAxis);
    registry.describe("", "GatherElements", indexesAxis);
    registry.describe("", "GatherND", indexesTuples);
}

}  // namespace shardwright
