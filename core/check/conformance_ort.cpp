// SPDX-License-Identifier: Apache-2.0
//
// Cases of onnxruntime's distributed tests, as annotated one-node models: meaning under proposal
// 0007, compared as ownership (device -> elements), since several specs say the same.

#include "check/conformance_node.h"

#include "check/analysis.h"
#include "comm/reshard.h"

#include <algorithm>
#include <map>

namespace shardwright {

namespace {

constexpr const char* kConfiguration = "case";

/// Which elements each device holds, as a bit an element, row-major.
using Ownership = std::map<DeviceId, std::vector<bool>>;

template <class Visit>
void eachElement(const Box& box, const std::vector<std::int64_t>& shape, const Visit& visit) {
    if (box.empty() && !shape.empty())
        return;
    std::vector<std::int64_t> offsets{0};
    for (std::size_t d = 0; d < shape.size(); ++d) {
        std::vector<std::int64_t> next;
        for (const std::int64_t offset : offsets)
            for (const auto& interval : box.dims[d].intervals())
                for (std::int64_t i = interval.begin; i < interval.end; ++i)
                    next.push_back(offset * shape[d] + i);
        offsets = std::move(next);
    }
    std::for_each(offsets.begin(), offsets.end(), visit);
}

std::int64_t elementsOf(const std::vector<std::int64_t>& shape) {
    std::int64_t n = 1;
    for (const std::int64_t size : shape)
        n *= size;
    return n;
}

void own(Ownership& into, DeviceId device, const Box& box, const std::vector<std::int64_t>& shape) {
    auto& bits = into[device];
    bits.resize(static_cast<std::size_t>(elementsOf(shape)));
    eachElement(box, shape, [&](std::int64_t i) { bits[static_cast<std::size_t>(i)] = true; });
}

Ownership ownershipOf(const Layout& layout) {
    Ownership result;
    for (const DeviceId device : layout.devices())
        for (const Box& box : layout.holding(device))
            own(result, device, box, layout.shape());
    return result;
}

/// "0: 0-3 | 1: 4-7"
std::string textOf(const Ownership& ownership) {
    std::string text;
    for (const auto& [device, bits] : ownership) {
        text += (text.empty() ? "" : " | ") + std::to_string(device) + ":";
        for (std::size_t i = 0; i < bits.size(); ++i) {
            if (!bits[i] || (i > 0 && bits[i - 1]))
                continue;
            std::size_t end = i;
            while (end + 1 < bits.size() && bits[end + 1])
                ++end;
            text += " " + std::to_string(i) + (end > i ? "-" + std::to_string(end) : "");
        }
    }
    return text;
}

/// Whether the copies of a plan give every device what it is to have, out of what the senders have.
bool delivers(const ReshardPlan& plan, const Ownership& source, const Layout& target) {
    Ownership received;
    bool held = true;
    const auto take = [&](const Part& part) {
        own(received, part.to, part.box, target.shape());
        const auto from = source.find(part.from);
        eachElement(part.box, target.shape(), [&](std::int64_t i) {
            held = held && from != source.end() && from->second[static_cast<std::size_t>(i)];
        });
    };
    for (const GroupOperation& group : plan.groups)
        std::for_each(group.parts.begin(), group.parts.end(), take);
    std::for_each(plan.local.begin(), plan.local.end(), take);
    return held && received == ownershipOf(target);
}

void addSpec(onnx::NodeDeviceConfigurationProto& annotation, const std::string& tensor,
             const Json& json) {
    onnx::ShardingSpecProto& spec = *annotation.add_sharding_spec();
    spec.set_tensor_name(tensor);
    for (const Json& device : json.at("device"))
        spec.add_device(device.get<std::int64_t>());
    const Json groups = json.value("groups", Json::object());
    for (const auto& [key, devices] : groups.items()) {
        auto* entry = spec.add_index_to_device_group_map();
        entry->set_key(std::stoll(key));
        for (const Json& device : devices)
            entry->add_value(device.get<std::int64_t>());
    }
    for (const Json& dim : json.at("sharded_dim")) {
        auto* sharded = spec.add_sharded_dim();
        sharded->set_axis(dim.at("axis").get<std::int64_t>());
        const Json parts =
            dim.contains("simple_sharding") ? dim["simple_sharding"] : Json::array({dim});
        for (const Json& part : parts) {
            auto* simple = sharded->add_simple_sharding();
            simple->set_num_shards(part.at("num_shards").get<std::int64_t>());
            if (part.contains("dim_value"))
                simple->set_dim_value(part["dim_value"].get<std::int64_t>());
        }
    }
}

Json wholeSpec(const Json& json, int devices) {
    Json group = Json::array();
    for (int d = 0; d < devices; ++d)
        group.push_back(d);
    return {{"shape", json.at("shape")},
            {"device", {-1}},
            {"groups", {{"-1", group}}},
            {"sharded_dim", Json::array()}};
}

Result<std::shared_ptr<const Analysis>> analyse(const Json& json, bool wholeInputs) {
    NodeCase node;
    node.op = json.at("onnx_op").get<std::string>();
    node.attributes = json.value("attrs", Json::object());
    for (const Json& input : json.at("inputs"))
        node.inputs.emplace_back(input.at("shape").get<std::vector<std::int64_t>>());
    auto proto = buildCaseModel(node);
    if (!proto)
        return proto.error();
    const int devices = json.at("num_devices").get<int>();
    auto* configuration = proto->add_configuration();
    configuration->set_name(kConfiguration);
    configuration->set_num_devices(devices);
    auto& annotation = *proto->mutable_graph()->mutable_node(0)->add_device_configurations();
    annotation.set_configuration_id(kConfiguration);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const Json& input = json.at("inputs")[i];
        addSpec(annotation, caseInputName(i), wholeInputs ? wholeSpec(input, devices) : input);
    }
    addSpec(annotation, caseOutputName(0), json.at("output"));
    auto model = Model::fromBytes(proto->SerializeAsString());
    if (!model)
        return model.error();
    Document document{*model, (*model)->annotations()};
    Analyser analyser;
    return analyser.run(document, {});
}

/// The declared output must be reached from the natural one.
ConformanceCase reached(const NodeMeaning& node, const Mesh& mesh) {
    const LayoutRef &natural = node.solution->natural.at(0), &declared = node.outputs.at(0).layout;
    const auto plan = planReshard(piecesOf(*natural), ReduceKind::None, *declared, mesh, 32);
    if (!delivers(plan, ownershipOf(*natural), *declared))
        return compareCase({}, textOf(ownershipOf(*declared)), "not delivered by the reshard plan");
    return {};
}

Json problemsOf(const Analysis& analysis) {
    Json list = Json::array();
    for (const Diagnostic& diagnostic : analysis.diagnostics)
        if (diagnostic.severity == Severity::Error)
            list.push_back(diagnostic.code + ": " + diagnostic.message);
    return list;
}

bool hasMeaning(const NodeMeaning& node) {
    return node.solution && node.solution->cells && !node.outputs.empty() &&
           node.outputs.front().layout;
}

}  // namespace

ConformanceCase runOrtCase(const Json& json) {
    const std::string kind = json.at("classification").get<std::string>();
    auto analysis = analyse(json, false);
    if (!analysis)
        return failCase({}, analysis.error().text());
    const auto nodeOf = [](const Analysis& a) -> const NodeMeaning& {
        return a.meaning.nodes[a.graph().main().nodes.front().index()];
    };
    const NodeMeaning& node = nodeOf(**analysis);
    if (kind == "not-composable") {
        const auto& problems = (*analysis)->meaning.problems;
        const bool told =
            std::any_of(problems.begin(), problems.end(), [](const MeaningProblem& p) {
                return p.kind == MeaningProblem::Kind::NoDevice && p.cellsWithoutDevice > 0;
            });
        if (!told)
            return compareCase({}, "cells without a device", problemsOf(**analysis));
        analysis = analyse(json, true);
        if (!analysis)
            return failCase({}, analysis.error().text());
        const NodeMeaning& whole = nodeOf(**analysis);
        if (!hasMeaning(whole))
            return compareCase({}, "no errors with whole inputs", problemsOf(**analysis));
        return reached(whole, (*analysis)->configuration.mesh);
    }
    if (kind != "consistent" && kind != "reshard-output")
        return failCase({}, "unknown classification " + kind);
    if (!hasMeaning(node) || (*analysis)->count(Severity::Error) > 0)
        return compareCase({}, "no errors", problemsOf(**analysis));
    const Ownership natural = ownershipOf(*node.solution->natural.at(0));
    const Ownership declared = ownershipOf(*node.outputs.at(0).layout);
    if (kind == "consistent" && natural != declared)
        return compareCase({}, textOf(declared), textOf(natural));
    return reached(node, (*analysis)->configuration.mesh);
}

}  // namespace shardwright
