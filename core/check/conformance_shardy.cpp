// SPDX-License-Identifier: Apache-2.0
//
// Cases of openxla/shardy: propagation at one operator, reshard plans, explicit reshards.

#include "check/conformance_node.h"

#include "comm/axis_reshard.h"
#include "inference/axis_assignment.h"
#include "inference/factor_propagation.h"

#include <algorithm>
#include <set>

namespace shardwright {

namespace {

AxisSpace spaceOf(const Json& mesh) {
    Mesh result;
    for (const auto& [name, size] : mesh.items())
        result.axes.push_back({name, size.get<int>()});
    return AxisSpace(std::move(result));
}

Result<AxisList> axesOf(const Json& names, const AxisSpace& space, bool* open = nullptr) {
    AxisList axes;
    for (const Json& name : names) {
        if (name == "?") {
            if (open)
                *open = true;
            continue;
        }
        const auto axis = space.parse(name.get<std::string>());
        if (!axis)
            return axis.error();
        axes.push_back(*axis);
    }
    return axes;
}

/// null: open everywhere.
Result<AxisSharding> shardingOf(const Json& dims, std::size_t rank, const AxisSpace& space) {
    AxisSharding result = AxisSharding::openOfRank(rank);
    if (dims.is_null())
        return result;
    if (dims.size() != rank)
        return Error{"`dims` has " + std::to_string(dims.size()) + " entries, the tensor " +
                         std::to_string(rank) + " dimensions",
                     {}};
    for (std::size_t d = 0; d < rank; ++d) {
        result.dims[d].open = false;
        const auto axes = axesOf(dims[d], space, &result.dims[d].open);
        if (!axes)
            return axes.error();
        if (!axes->empty())
            result.dims[d].parts = {{0, *axes}};
    }
    return result;
}

Json axesJson(const AxisList& axes, const AxisSpace& space) {
    Json list = Json::array();
    for (const AxisRef& axis : axes)
        list.push_back(space.text(axis));
    return list;
}

Json dimsJson(const AxisSharding& sharding, const AxisSpace& space, bool withOpen) {
    Json list = Json::array();
    for (const DimAxes& dim : sharding.dims) {
        Json axes = axesJson(dim.all(), space);
        if (withOpen && dim.open)
            axes.push_back("?");
        list.push_back(std::move(axes));
    }
    return list;
}

/// `null` and "open everywhere" say the same.
Json openWritten(const Json& dims, std::size_t rank) {
    return dims.is_null() ? Json(std::vector<std::vector<std::string>>(rank, {"?"})) : dims;
}

/// The node of a case. A transposed operand is given by the shape that MatMul reads, and its
/// dimensions are swapped on the way in and out.
struct CaseNode {
    NodeCase node;
    std::vector<bool> swapped;

    explicit CaseNode(const Json& json) {
        node.op = json.at("onnx_op").get<std::string>();
        node.attributes = json.value("attrs", Json::object());
        // The schema's own spelling: it writes transposed operands and the shape of a reshape in
        // other places than ONNX does. Nothing of a rule depends on the names of operators here.
        const char* flags[] = {"transA", "transB"};
        const Json& inputs = json.at("inputs");
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            auto shape = inputs[i].at("shape").get<std::vector<std::int64_t>>();
            const bool swap = node.op == "MatMul" && i < 2 && shape.size() >= 2 &&
                              node.attributes.value(flags[i], Json(false)) != Json(false) &&
                              node.attributes.value(flags[i], Json(0)) != Json(0);
            if (swap)
                std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
            swapped.push_back(swap);
            node.inputs.emplace_back(std::move(shape));
        }
        if (node.op == "MatMul")
            for (const char* flag : flags)
                node.attributes.erase(flag);
        if (node.op == "Reshape" && !node.attributes.contains("shape"))
            node.attributes["shape"] = outputOf(json).at("shape");
    }

    static const Json& outputOf(const Json& json) {
        return json.contains("output") ? json.at("output") : json.at("outputs").at(0);
    }

    void swap(AxisSharding& sharding, std::size_t slot) const {
        const std::size_t rank = sharding.dims.size();
        if (slot < swapped.size() && swapped[slot])
            std::swap(sharding.dims[rank - 1], sharding.dims[rank - 2]);
    }
};

struct Tensors {
    std::vector<AxisSharding> all;  ///< By slot of the rule, inputs first.
    std::size_t inputs = 0;         ///< Of the case; the rule may have constant ones beyond.

    std::vector<const AxisSharding*> pointers() const {
        std::vector<const AxisSharding*> result;
        for (const AxisSharding& sharding : all)
            result.push_back(&sharding);
        return result;
    }
};

Result<Tensors> tensorsOf(const Json& json, const CaseNode& node, const Rule& rule,
                          const AxisSpace& space) {
    Tensors result;
    const Json& inputs = json.at("inputs");
    result.inputs = inputs.size();
    for (std::size_t i = 0; i < rule.inputs.size(); ++i) {
        const std::size_t rank = rule.inputs[i].dims.size();
        auto sharding = i < inputs.size()
                            ? shardingOf(inputs[i].at("dims"), rank, space)
                            : Result<AxisSharding>(AxisSharding::openOfRank(rank).closed());
        if (!sharding)
            return sharding.error();
        node.swap(*sharding, i);
        result.all.push_back(std::move(*sharding));
    }
    const Json outputs =
        json.contains("outputs") ? json.at("outputs") : Json::array({json.at("output")});
    for (std::size_t o = 0; o < rule.outputs.size(); ++o) {
        auto sharding = shardingOf(o < outputs.size() ? outputs[o].at("dims") : Json(),
                                   rule.outputs[o].dims.size(), space);
        if (!sharding)
            return sharding.error();
        result.all.push_back(std::move(*sharding));
    }
    return result;
}

ConformanceCase propagate(const Json& json, const AxisSpace& space) {
    const CaseNode node(json);
    const auto built = buildCase(node.node);
    if (!built)
        return failCase({}, built.error().text());
    const Rule& rule = *built->rule;
    auto tensors = tensorsOf(json, node, rule, space);
    if (!tensors)
        return failCase({}, tensors.error().text());
    StepOptions options;
    options.policy = findPropagationPolicy("shardy-" + json.at("mode").get<std::string>());
    options.space = &space;
    if (!options.policy)
        return failCase({}, "unknown mode " + json.at("mode").dump());
    for (bool changed = true; changed;) {
        changed = false;
        auto next = propagateNode(rule, tensors->pointers(), options);
        for (std::size_t t = 0; t < next.size(); ++t)
            if (next[t]) {
                tensors->all[t] = std::move(*next[t]);
                changed = true;
            }
    }
    Json found = {{"inputs", Json::array()}, {"outputs", Json::array()}};
    Json expected = found;
    for (std::size_t i = 0; i < tensors->inputs; ++i) {
        node.swap(tensors->all[i], i);
        found["inputs"].push_back(dimsJson(tensors->all[i], space, true));
        expected["inputs"].push_back(
            openWritten(json.at("expected_inputs").at(i), tensors->all[i].dims.size()));
    }
    for (std::size_t o = 0; o < json.at("expected_outputs").size(); ++o) {
        const AxisSharding& sharding = tensors->all.at(rule.inputs.size() + o);
        found["outputs"].push_back(dimsJson(sharding, space, true));
        expected["outputs"].push_back(
            openWritten(json.at("expected_outputs").at(o), sharding.dims.size()));
    }
    return compareCase({}, std::move(expected), std::move(found));
}

ConformanceCase reshard(const Json& json, const AxisSpace& space) {
    const auto shape = json.at("shape").get<std::vector<std::int64_t>>();
    std::vector<std::vector<AxisList>> ends;
    for (const char* end : {"from", "to"}) {
        const auto sharding = shardingOf(json.at(end), shape.size(), space);
        if (!sharding)
            return failCase({}, sharding.error().text());
        auto& dims = ends.emplace_back();
        for (const DimAxes& dim : sharding->dims)
            dims.push_back(dim.all());
    }
    Json found = Json::array();
    for (const AxisCollective& c : planAxisReshard(shape, ends[0], ends[1])) {
        Json entry = Json::array({axisCollectiveName(c.kind)});
        const auto perDim = [&](const std::vector<AxisList>& lists) {
            Json dims = Json::array();
            for (const AxisList& axes : lists)
                dims.push_back(axesJson(axes, space));
            return dims;
        };
        if (c.kind == AxisCollective::Kind::AllToAll) {
            entry.push_back(axesJson(c.moved, space));
            entry.push_back(c.from);
            entry.push_back(c.to);
        } else {
            entry.push_back(perDim(c.kind == AxisCollective::Kind::Permute ? c.result : c.axes));
        }
        found.push_back(std::move(entry));
    }
    return compareCase({}, json.at("expected_collectives"), std::move(found));
}

Json sorted(std::set<std::string> axes) {
    return Json(std::vector<std::string>(axes.begin(), axes.end()));
}

/// The end layout and the reduced axes of what follows the operator.
Json endOf(const Json& after, const Json& produced) {
    std::set<std::string> reduced;
    Json end = produced;
    for (const Json& step : after) {
        const std::string kind = step.at(0).get<std::string>();
        if (kind == "all_reduce") {
            for (const Json& axis : step.at(1))
                reduced.insert(axis.get<std::string>());
        } else if (kind == "reduce_scatter") {
            for (std::size_t d = 0; d < step.at(1).size(); ++d)
                for (const Json& axis : step.at(1)[d]) {
                    reduced.insert(axis.get<std::string>());
                    end[d].push_back(axis);
                }
        } else {
            end = step.at(1);
        }
    }
    return {{"reduced", sorted(std::move(reduced))}, {"end", std::move(end)}};
}

ConformanceCase explicitReshard(const Json& json, const AxisSpace& space) {
    const CaseNode node(json);
    const auto built = buildCase(node.node);
    if (!built)
        return failCase({}, built.error().text());
    const Rule& rule = *built->rule;
    const auto tensors = tensorsOf(json, node, rule, space);
    if (!tensors)
        return failCase({}, tensors.error().text());
    std::vector<double> sizes;
    const auto elements = [&](const TensorMap& map) {
        double n = 1;
        for (const auto& dim : map.dims)
            for (const int f : dim)
                n *= static_cast<double>(rule.factors[static_cast<std::size_t>(f)].size);
        return n;
    };
    for (const auto* maps : {&rule.inputs, &rule.outputs})
        for (const TensorMap& map : *maps)
            sizes.push_back(elements(map));
    auto pointers = tensors->pointers();
    for (std::size_t i = tensors->inputs; i < rule.inputs.size(); ++i)
        pointers[i] = nullptr;
    const FactorAssignment assignment = assignAxes(rule, pointers, sizes, false);
    Json found = {{"inputs", Json::array()}};
    for (std::size_t i = 0; i < tensors->inputs; ++i) {
        AxisSharding sharding = inputOf(rule, i, assignment);
        node.swap(sharding, i);
        found["inputs"].push_back(dimsJson(sharding, space, false));
    }
    found["op_output"] = dimsJson(shardwright::outputOf(rule, 0, assignment), space, false);
    std::set<std::string> reduced;
    for (const AxisRef& axis : partialOf(rule, 0, assignment))
        reduced.insert(space.text(axis));
    found["after"] = {{"reduced", sorted(std::move(reduced))},
                      {"end", dimsJson(tensors->all.at(rule.inputs.size()), space, false)}};
    const Json expected = {
        {"inputs", json.at("expected_inputs")},
        {"op_output", json.at("expected_op_output")},
        {"after", endOf(json.at("expected_after"), json.at("expected_op_output"))}};
    return compareCase({}, expected, std::move(found));
}

}  // namespace

ConformanceCase runShardyCase(const Json& json) {
    const AxisSpace space = spaceOf(json.at("mesh"));
    const std::string kind = json.at("kind").get<std::string>();
    if (kind == "propagate")
        return propagate(json, space);
    if (kind == "reshard")
        return reshard(json, space);
    if (kind == "explicit_reshard")
        return explicitReshard(json, space);
    return failCase({}, "unknown kind " + kind);
}

}  // namespace shardwright
