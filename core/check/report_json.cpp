// SPDX-License-Identifier: Apache-2.0
#include "check/report.h"

#include "comm/cost.h"
#include "model/external_data.h"
#include "sharding/mesh.h"
#include "sharding/shard_text.h"

#include <google/protobuf/util/json_util.h>
#include <onnx/onnx_pb.h>

namespace shardwright {

namespace {

Json messageJson(const google::protobuf::Message& message) {
    google::protobuf::util::JsonPrintOptions options;
    options.preserve_proto_field_names = true;
    std::string text;
    if (!google::protobuf::util::MessageToJsonString(message, &text, options).ok())
        return nullptr;
    return Json::parse(text, nullptr, false);
}

/// Names in a model may be any bytes; JSON is UTF-8.
std::string utf8(const std::string& text) {
    const std::string dumped = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
    return Json::parse(dumped).get<std::string>();
}

Json shapeJson(const TensorInfo& info) {
    if (!info.hasRank)
        return nullptr;
    Json shape = Json::array();
    for (const Dimension& d : info.symbolic) {
        if (d.size >= 0)
            shape.push_back(d.size);
        else if (!d.symbol.empty())
            shape.push_back(utf8(d.symbol));
        else
            shape.push_back(nullptr);
    }
    return shape;
}

Json valuesJson(const GraphIndex& graph, const ShapeTable& shapes,
                const std::vector<ValueId>& values) {
    Json list = Json::array();
    for (const ValueId id : values) {
        const TensorInfo& info = shapes.of(id);
        list.push_back({{"name", utf8(graph.value(id).name)},
                        {"type", info.kind == TensorInfo::Kind::Tensor
                                     ? Json(elementTypeName(info.elementType))
                                     : Json()},
                        {"shape", shapeJson(info)}});
    }
    return list;
}

Json bindingsJson(const ShapeTable& shapes) {
    Json bindings = Json::object();
    for (const auto& [symbol, size] : shapes.usedBindings())
        bindings[utf8(symbol)] = size;
    return bindings;
}

Json groupsJson(const std::vector<DeviceGroup>& groups) {
    Json list = Json::array();
    for (const DeviceGroup& group : groups)
        list.push_back(group);
    return list;
}

Json axesJson(const std::vector<int>& axes, const Mesh& mesh) {
    Json list = Json::array();
    for (const int axis : axes)
        list.push_back(mesh.axes[static_cast<std::size_t>(axis)].name);
    return list;
}

void addHeader(Json& json, const Analysis& analysis) {
    json["configuration"] =
        analysis.hasConfiguration ? Json(utf8(analysis.configuration.name)) : Json();
    json["mesh"] = analysis.hasConfiguration ? Json(analysis.configuration.mesh.text()) : Json();
    json["bindings"] = bindingsJson(*analysis.shapes);
}

/// `predicted_us` of each collective and of all, and how they were found.
void addCosts(Json& json, Json& collectives, const Analysis& analysis,
              const HardwareProfile& hardware) {
    const CommunicationCost costs =
        costOf(hardware, analysis.configuration.mesh, analysis.communication, *analysis.shapes);
    for (std::size_t i = 0; i < costs.entries.size(); ++i) {
        const CollectiveCost& cost = costs.entries[i];
        collectives[i]["predicted_us"] = cost.seconds * 1e6;
        collectives[i]["cost"] = {{"algorithm", cost.formula.algorithm},
                                  {"formula", cost.formula.text},
                                  {"devices", cost.devices},
                                  {"latencies", cost.formula.latencies},
                                  {"bytes", cost.formula.bytes},
                                  {"latency_us", cost.link.latency * 1e6},
                                  {"bytes_per_second", cost.link.bandwidth},
                                  {"link", utf8(cost.link.name)}};
    }
    json["hardware"] = utf8(hardware.name);
    json["predicted_us"] = costs.seconds * 1e6;
}

}  // namespace

Json nodeJson(const GraphIndex& graph, NodeId node) {
    if (!node)
        return nullptr;
    const NodePlace place = graph.place(node);
    return {{"name", utf8(place.name)}, {"index", place.index}, {"scope", utf8(place.scope)}};
}

Json layoutJson(const Layout& layout, const Mesh& mesh) {
    const auto sharding = decode(mesh, layout);
    Json devices = Json::array(), groups = Json::object(), dims = Json::array();
    std::vector<DeviceGroup> keyed;
    for (const DeviceGroup& group : layout.groups()) {
        if (group.size() == 1) {
            devices.push_back(group[0]);
            continue;
        }
        auto it = std::find(keyed.begin(), keyed.end(), group);
        if (it == keyed.end())
            it = keyed.insert(keyed.end(), group);
        const auto key = -1 - static_cast<int>(it - keyed.begin());
        devices.push_back(key);
        groups[std::to_string(key)] = group;
    }
    for (std::size_t d = 0; d < layout.dims().size(); ++d) {
        Json components = Json::array();
        if (sharding && d < sharding->dims.size() && !sharding->dims[d].empty()) {
            for (const MeshComponent& c : sharding->dims[d]) {
                std::int64_t shards = 1;
                for (const int axis : c.axes)
                    shards *= mesh.axes[static_cast<std::size_t>(axis)].size;
                components.push_back(
                    {{"size", c.size}, {"shards", shards}, {"axes", axesJson(c.axes, mesh)}});
            }
        } else {
            for (const Component& c : layout.dims()[d])
                components.push_back(
                    {{"size", c.size}, {"shards", c.shards}, {"axes", Json::array()}});
        }
        dims.push_back(std::move(components));
    }
    return {
        {"devices", std::move(devices)}, {"groups", std::move(groups)}, {"dims", std::move(dims)}};
}

Json editJson(const GraphIndex& graph, const Edit& edit) {
    Json steps = Json::array();
    for (const EditStep& step : edit.steps) {
        if (const auto* s = std::get_if<SetNodeAnnotation>(&step)) {
            Json annotation = Json::array();
            if (s->annotation)
                for (const auto& configuration : *s->annotation)
                    annotation.push_back(messageJson(configuration));
            steps.push_back({{"set", "node"},
                             {"node", nodeJson(graph, s->node)},
                             {"device_configurations", annotation}});
        } else if (const auto* c = std::get_if<SetConfigurations>(&step)) {
            Json list = Json::array();
            for (const auto& configuration : *c->configurations)
                list.push_back(messageJson(configuration));
            steps.push_back({{"set", "configurations"}, {"configuration", list}});
        } else if (const auto* v = std::get_if<SetIrVersion>(&step)) {
            steps.push_back({{"set", "ir_version"}, {"value", v->version}});
        } else if (const auto* m = std::get_if<SetMetadata>(&step)) {
            steps.push_back(
                {{"set", "metadata"}, {"key", utf8(m->key)}, {"value", utf8(m->value)}});
        }
    }
    return steps;
}

Json diagnosticJson(const GraphIndex& graph, const Diagnostic& d) {
    Json fixes = Json::array();
    for (const Fix& fix : d.fixes)
        fixes.push_back({{"id", utf8(fix.id)},
                         {"title", utf8(fix.title)},
                         {"edits", editJson(graph, fix.edit)},
                         {"bytes", fix.bytes}});
    return {{"code", d.code},
            {"severity", severityName(d.severity)},
            {"node", nodeJson(graph, d.node)},
            {"tensor", d.tensor.empty() ? Json() : Json(utf8(d.tensor))},
            {"dimension", d.dimension < 0 ? Json() : Json(d.dimension)},
            {"message", utf8(d.message)},
            {"fixes", std::move(fixes)}};
}

Json infoJson(const Document& document, const ShapeTable& shapes) {
    const onnx::ModelProto& proto = document.model->proto();
    const GraphIndex& graph = document.graph();
    Json opset = Json::object(), configurations = Json::array(), external = Json::array();
    for (const auto& import : proto.opset_import())
        opset[import.domain().empty() ? "ai.onnx" : utf8(import.domain())] = import.version();
    for (const auto& c : document.annotations.configurations) {
        Json names = Json::array();
        for (const auto& name : c.device())
            names.push_back(utf8(name));
        configurations.push_back(
            {{"name", utf8(c.name())}, {"num_devices", c.num_devices()}, {"devices", names}});
    }
    for (const ExternalEntry& entry :
         checkExternalData(proto, document.model->path().parent_path()))
        external.push_back({{"tensor", utf8(entry.tensor)},
                            {"location", utf8(entry.location)},
                            {"offset", entry.offset},
                            {"length", entry.length < 0 ? Json() : Json(entry.length)},
                            {"problem", entry.reason.empty() ? Json() : Json(utf8(entry.reason))}});
    std::size_t initializers = 0;
    for (const ValueInfo& value : graph.values)
        initializers += value.initializer && value.graph == graph.main().id ? 1 : 0;
    Json histogram = Json::object();
    std::map<std::string, int> operators;
    for (const NodeInfo& node : graph.nodes)
        ++operators[std::string(graph.opType(node.id))];
    for (const auto& [op, count] : operators)
        histogram[utf8(op)] = count;
    return {
        {"inputs", valuesJson(graph, shapes, graph.main().inputs)},
        {"outputs", valuesJson(graph, shapes, graph.main().outputs)},
        {"nodes", graph.nodes.size()},
        {"edges", graph.edgeCount()},
        {"initializers", initializers},
        {"operators", std::move(histogram)},
        {"opset", std::move(opset)},
        {"ir_version", proto.ir_version()},
        {"producer", utf8(proto.producer_name() + (proto.producer_version().empty() ? "" : " ") +
                          proto.producer_version())},
        {"configurations", std::move(configurations)},
        {"external_data", std::move(external)}};
}

Json nodesJson(const Document& document, const ShapeTable& shapes, std::string_view pattern) {
    const GraphIndex& graph = document.graph();
    Json nodes = Json::array();
    for (const NodeInfo& node : graph.nodes) {
        if (!nodeMatches(pattern, graph, node.id))
            continue;
        const auto tensors = [&](const std::vector<ValueId>& slots, const char* prefix) {
            Json list = Json::array();
            for (std::size_t slot = 0; slot < slots.size(); ++slot) {
                if (!slots[slot])
                    continue;
                Json tensor = valuesJson(graph, shapes, {slots[slot]})[0];
                tensor["slot"] = prefix + std::to_string(slot);
                tensor["weight"] = graph.value(slots[slot]).initializer != nullptr;
                list.push_back(std::move(tensor));
            }
            return list;
        };
        nodes.push_back({{"node", nodeJson(graph, node.id)},
                         {"operator", utf8(std::string(graph.opType(node.id)))},
                         {"inputs", tensors(node.inputs, "#in")},
                         {"outputs", tensors(node.outputs, "#out")}});
    }
    return Json{{"nodes", std::move(nodes)}};
}

bool endsAtErrors(const Analysis& analysis) {
    return !analysis.meaning.problems.empty();
}

Json checkJson(const Analysis& analysis) {
    Json json = Json::object(), diagnostics = Json::array();
    addHeader(json, analysis);
    for (const Diagnostic& d : analysis.diagnostics)
        diagnostics.push_back(diagnosticJson(analysis.graph(), d));
    json["diagnostics"] = std::move(diagnostics);
    json["errors"] = analysis.count(Severity::Error);
    json["warnings"] = analysis.count(Severity::Warning);
    json["unsupported"] = analysis.count(Severity::Unsupported);
    json["incomplete"] = endsAtErrors(analysis);
    return json;
}

Json inferJson(const Analysis& analysis) {
    const GraphIndex& graph = analysis.graph();
    const MeaningInput input = analysis.meaningInput();
    Json json = Json::object(), nodes = Json::array();
    addHeader(json, analysis);
    const auto tensor = [&](const NodeInfo& node, bool output, std::size_t slot, ValueId value,
                            const SlotMeaning& s) {
        Json layout;
        const TensorInfo& info = analysis.shapes->of(value);
        if (s.layout)
            layout = layoutJson(*s.layout, input.configuration->mesh);
        else if (s.source == LayoutSource::Everywhere && info.concrete())
            layout = layoutJson(Layout::replicated(info.dims, input.configuration->allDevices()),
                                input.configuration->mesh);
        return Json{{"name", utf8(graph.value(value).name)},
                    {"slot", (output ? "#out" : "#in") + std::to_string(slot)},
                    {"layout", std::move(layout)},
                    {"source", layoutSourceName(s.source)},
                    {"why", utf8(explainSlot(input, analysis.meaning, node.id, output,
                                             static_cast<int>(slot)))}};
    };
    for (const NodeId id : graph.main().nodes) {
        const NodeInfo& node = graph.node(id);
        const NodeMeaning& meaning = analysis.meaning.nodes[id.index()];
        Json tensors = Json::array();
        for (std::size_t slot = 0; slot < node.inputs.size() && slot < meaning.inputs.size();
             ++slot)
            if (node.inputs[slot])
                tensors.push_back(
                    tensor(node, false, slot, node.inputs[slot], meaning.inputs[slot]));
        for (std::size_t slot = 0; slot < node.outputs.size() && slot < meaning.outputs.size();
             ++slot)
            if (node.outputs[slot])
                tensors.push_back(
                    tensor(node, true, slot, node.outputs[slot], meaning.outputs[slot]));
        nodes.push_back({{"node", nodeJson(graph, id)}, {"tensors", std::move(tensors)}});
    }
    json["nodes"] = std::move(nodes);
    return json;
}

Json commJson(const Analysis& analysis, const HardwareProfile* hardware) {
    const GraphIndex& graph = analysis.graph();
    Json json = Json::object(), collectives = Json::array();
    addHeader(json, analysis);
    for (const CommEntry& entry : analysis.communication.entries) {
        Json consumers = Json::array();
        for (const NodeId consumer : entry.consumers)
            consumers.push_back(nodeJson(graph, consumer));
        collectives.push_back(
            {{"kind", collectiveName(entry.kind)},
             {"reduce",
              entry.reduce == ReduceKind::None ? Json() : Json(reduceKindName(entry.reduce))},
             {"axes", axesJson(entry.axes, analysis.configuration.mesh)},
             {"groups", groupsJson(entry.groups)},
             {"node", nodeJson(graph, entry.node)},
             {"tensor", utf8(graph.value(entry.value).name)},
             {"type", elementTypeName(analysis.shapes->of(entry.value).elementType)},
             {"consumers", std::move(consumers)},
             {"bytes", entry.bytes},
             {"bytes_sent_max", entry.bytesSentMax},
             {"bytes_sent_total", entry.bytesSentTotal},
             {"cause", utf8(entry.cause)},
             {"phase", entry.phase == CommPhase::Input ? "input" : "output"}});
    }
    if (hardware)
        addCosts(json, collectives, analysis, *hardware);
    json["collectives"] = std::move(collectives);
    json["total_bytes"] = analysis.communication.totalBytes;
    json["errors"] = analysis.count(Severity::Error);
    json["incomplete"] = endsAtErrors(analysis);
    return json;
}

}  // namespace shardwright
