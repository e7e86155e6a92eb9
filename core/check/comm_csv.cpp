// SPDX-License-Identifier: Apache-2.0
#include "check/report.h"
#include "comm/cost.h"

#include <cstdio>

namespace shardwright {

namespace {

std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos)
        return text;
    std::string result = "\"";
    for (const char c : text)
        result += c == '"' ? std::string("\"\"") : std::string(1, c);
    return result + "\"";
}

std::string groupsText(const std::vector<DeviceGroup>& groups) {
    std::string text;
    for (const DeviceGroup& group : groups) {
        text += text.empty() ? "" : ";";
        for (std::size_t i = 0; i < group.size(); ++i)
            text += (i ? " " : "") + std::to_string(group[i]);
    }
    return text;
}

}  // namespace

std::string commCsv(const Analysis& analysis, const HardwareProfile* hardware) {
    const GraphIndex& graph = analysis.graph();
    const Mesh& mesh = analysis.configuration.mesh;
    CommunicationCost costs;
    if (hardware)
        costs = costOf(*hardware, mesh, analysis.communication, *analysis.shapes);
    std::string out = "kind,reduce,axes,groups,node,node_index,tensor,type,bytes,bytes_sent_max,"
                      "bytes_sent_total,phase,cause";
    out += hardware ? ",predicted_us,formula\r\n" : "\r\n";
    for (std::size_t i = 0; i < analysis.communication.entries.size(); ++i) {
        const CommEntry& entry = analysis.communication.entries[i];
        std::string axes;
        for (const int axis : entry.axes)
            axes += (axes.empty() ? "" : "+") + mesh.axes[static_cast<std::size_t>(axis)].name;
        const NodePlace place = graph.place(entry.node);
        const std::string fields[] = {
            collectiveName(entry.kind),
            entry.reduce == ReduceKind::None ? "" : std::string(reduceKindName(entry.reduce)),
            axes,
            groupsText(entry.groups),
            place.name,
            std::to_string(place.index),
            graph.value(entry.value).name,
            elementTypeName(analysis.shapes->of(entry.value).elementType),
            std::to_string(entry.bytes),
            std::to_string(entry.bytesSentMax),
            std::to_string(entry.bytesSentTotal),
            entry.phase == CommPhase::Input ? "input" : "output",
            entry.cause};
        bool first = true;
        for (const std::string& field : fields) {
            out += (first ? "" : ",") + quoted(field);
            first = false;
        }
        if (hardware) {
            char predicted[64];
            std::snprintf(predicted, sizeof predicted, ",%.3f,", costs.entries[i].seconds * 1e6);
            out += predicted + quoted(costs.entries[i].text());
        }
        out += "\r\n";
    }
    return out;
}

}  // namespace shardwright
