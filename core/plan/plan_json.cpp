// SPDX-License-Identifier: Apache-2.0
#include "check/report.h"
#include "plan/plan_files.h"

namespace shardwright {

namespace {

class PlanWriter {
public:
    PlanWriter(const Plan& plan, const Analysis& analysis) : m_plan(plan), m_analysis(analysis) {}

    Json write() const {
        Json json{{"format", "shardwright-plan"}, {"version", 1}};
        const bool configured = m_analysis.hasConfiguration;
        json["configuration"] = configured ? m_analysis.configuration.name : "";
        json["mesh"] = configured ? m_analysis.configuration.mesh.text() : "";
        json["bindings"] = Json::object();
        for (const auto& [symbol, size] : m_analysis.shapes->usedBindings())
            json["bindings"][symbol] = size;
        json["devices"] = Json::array();
        for (const DeviceProgram& program : m_plan.devices)
            json["devices"].push_back(device(program));
        json["inputs"] = ports(m_plan.inputs);
        json["outputs"] = ports(m_plan.outputs);
        json["phases"] = Json::array();
        for (int phase = 0; phase < m_plan.phases; ++phase)
            json["phases"].push_back(phaseJson(phase));
        return json;
    }

private:
    Json device(const DeviceProgram& program) const {
        Json tensors = Json::object();
        for (const LocalTensor& tensor : program.tensors) {
            Json box = Json::array();
            for (const IndexSet& set : tensor.box.dims) {
                Json intervals = Json::array();
                for (const auto& interval : set.intervals())
                    intervals.push_back({interval.begin, interval.end});
                box.push_back(std::move(intervals));
            }
            tensors[tensor.name] = {{"tensor", m_analysis.graph().value(tensor.value).name},
                                    {"type", elementTypeName(tensor.elementType)},
                                    {"shape", tensor.dims()},
                                    {"box", std::move(box)},
                                    {"term", tensor.term}};
        }
        std::int64_t weights = 0;
        for (const Segment& segment : program.segments)
            for (const Segment::WeightUse& use : segment.weights)
                weights += m_plan.weights[static_cast<std::size_t>(use.weight)].bytes;
        const auto& names = m_analysis.configuration.deviceNames;
        const auto index = static_cast<std::size_t>(program.device);
        return {{"device", program.device},
                {"name", index < names.size() ? names[index] : std::string()},
                {"weight_bytes", weights},
                {"tensors", std::move(tensors)}};
    }

    /// Names of local tensors of each device.
    Json ports(const std::vector<Plan::Port>& ports) const {
        Json list = Json::array();
        for (const Plan::Port& port : ports) {
            Json byDevice = Json::array();
            for (std::size_t device = 0; device < port.tensors.size(); ++device)
                byDevice.push_back(names(m_plan.devices[device], port.tensors[device]));
            list.push_back({{"name", port.name},
                            {"type", elementTypeName(port.elementType)},
                            {"shape", port.shape},
                            {"tensors", std::move(byDevice)}});
        }
        return list;
    }

    static Json names(const DeviceProgram& program, const std::vector<int>& tensors) {
        Json list = Json::array();
        for (const int tensor : tensors)
            list.push_back(program.tensors[static_cast<std::size_t>(tensor)].name);
        return list;
    }

    static Json reduceJson(ReduceKind reduce) {
        return reduce == ReduceKind::None ? Json() : Json(reduceKindName(reduce));
    }

    Json phaseJson(int phase) const {
        Json segments = Json::array(), copies = Json::array(), exchanges = Json::array();
        for (const DeviceProgram& program : m_plan.devices) {
            for (const Segment& segment : program.segments)
                if (segment.phase == phase && isWritten(segment))
                    segments.push_back(segmentJson(program, segment));
            for (const DeviceProgram::LocalCopy& copy : program.copies)
                if (copy.phase == phase)
                    copies.push_back({{"device", program.device},
                                      {"sources", names(program, copy.sources)},
                                      {"target", names(program, {copy.target}).front()},
                                      {"reduce", reduceJson(copy.reduce)}});
        }
        for (const Exchange& exchange : m_plan.exchanges[static_cast<std::size_t>(phase)])
            exchanges.push_back(exchangeJson(exchange));
        return {{"segments", std::move(segments)},
                {"copies", std::move(copies)},
                {"exchanges", std::move(exchanges)}};
    }

    Json segmentJson(const DeviceProgram& program, const Segment& segment) const {
        Json nodes = Json::array();
        for (const NodeId node : segment.nodes)
            nodes.push_back(nodeJson(m_analysis.graph(), node));
        return {{"device", program.device},
                {"file", segmentFile(segment)},
                {"beside_exchanges", segment.besideExchanges},
                {"inputs", names(program, segment.inputs)},
                {"outputs", names(program, segment.outputs)},
                {"nodes", std::move(nodes)}};
    }

    Json exchangeJson(const Exchange& exchange) const {
        const GroupOperation& operation = exchange.operation;
        Json sources = Json::array(), targets = Json::array();
        for (std::size_t i = 0; i < operation.devices.size(); ++i) {
            const auto& program = m_plan.devices[static_cast<std::size_t>(operation.devices[i])];
            sources.push_back(names(program, exchange.sources[i]));
            targets.push_back(names(program, exchange.targets[i]));
        }
        return {{"kind", collectiveName(operation.kind)},
                {"reduce", reduceJson(operation.reduce)},
                {"devices", operation.devices},
                {"sources", std::move(sources)},
                {"targets", std::move(targets)},
                {"bytes", operation.bytes},
                {"tensor", m_analysis.graph().value(exchange.value).name},
                {"node", nodeJson(m_analysis.graph(), exchange.node)},
                {"phase", exchange.phase == CommPhase::Input ? "input" : "output"}};
    }

    const Plan& m_plan;
    const Analysis& m_analysis;
};

}  // namespace

Json planJson(const Plan& plan, const Analysis& analysis) {
    return PlanWriter(plan, analysis).write();
}

std::string segmentFile(const Segment& segment) {
    return "device_" + std::to_string(segment.device) + "_phase_" + std::to_string(segment.phase) +
           (segment.besideExchanges ? "_beside.onnx" : ".onnx");
}

bool isWritten(const Segment& segment) {
    return !segment.outputs.empty();
}

}  // namespace shardwright
