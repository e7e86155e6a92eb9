// SPDX-License-Identifier: Apache-2.0
#include "check/report.h"

#include "comm/cost.h"
#include "model/plain_text.h"
#include "sharding/shard_text.h"

#include <cstdio>
#include <sstream>

namespace shardwright {

std::string headerText(const Analysis& analysis) {
    std::ostringstream out;
    if (analysis.hasConfiguration)
        out << "configuration " << oneLine(analysis.configuration.name) << ", mesh "
            << analysis.configuration.mesh.text() << "\n";
    else
        out << "no device configuration\n";
    const auto& used = analysis.shapes->usedBindings();
    if (!used.empty()) {
        out << "symbolic dimensions:";
        for (const auto& [symbol, size] : used)
            out << " " << oneLine(symbol) << "=" << size;
        out << "\n";
    }
    return out.str();
}

namespace {

std::string counted(std::size_t count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string microseconds(double seconds) {
    char text[64];
    std::snprintf(text, sizeof text, "%.3f", seconds * 1e6);
    return text;
}

}  // namespace

std::string diagnosticText(const GraphIndex& graph, const Diagnostic& d) {
    std::ostringstream out;
    out << d.code << " " << severityName(d.severity) << ": " << oneLine(d.message);
    if (d.node) {
        const NodePlace place = graph.place(d.node);
        out << " [node " << place.index
            << (place.scope.empty() ? "" : " in " + oneLine(place.scope)) << "]";
    }
    out << "\n";
    for (const Fix& fix : d.fixes)
        out << "    fix: " << oneLine(fix.title) << "\n";
    return out.str();
}

std::string infoText(const Document& document, const ShapeTable& shapes) {
    const Json info = infoJson(document, shapes);
    std::ostringstream out;
    for (const char* side : {"inputs", "outputs"})
        for (const Json& value : info[side])
            out << (std::string(side) == "inputs" ? "input  " : "output ")
                << oneLine(value["name"].get<std::string>()) << " " << value["type"].dump() << " "
                << oneLine(value["shape"].dump()) << "\n";
    out << counted(info["nodes"].get<std::size_t>(), "node") << ", "
        << counted(info["edges"].get<std::size_t>(), "edge") << ", "
        << counted(info["initializers"].get<std::size_t>(), "initializer") << ", opset "
        << oneLine(info["opset"].dump()) << ", IR " << info["ir_version"] << "\n";
    for (const Json& c : info["configurations"])
        out << "configuration " << oneLine(c["name"].get<std::string>()) << ": " << c["num_devices"]
            << " devices\n";
    for (const Json& e : info["external_data"])
        out << "external data " << oneLine(e["tensor"].get<std::string>()) << " in "
            << oneLine(e["location"].get<std::string>())
            << (e["problem"].is_null() ? "" : ": " + oneLine(e["problem"].get<std::string>()))
            << "\n";
    return out.str();
}

std::string nodesText(const Document& document, const ShapeTable& shapes,
                      std::string_view pattern) {
    const Json found = nodesJson(document, shapes, pattern);
    std::ostringstream out;
    for (const Json& entry : found["nodes"]) {
        const std::string scope = entry["node"]["scope"].get<std::string>();
        const std::string name = entry["node"]["name"].get<std::string>();
        // Exporters put the scope into the name, with a slash before it.
        const std::string_view bare = std::string_view(name).substr(name.starts_with('/') ? 1 : 0);
        const bool inName = scope.empty() || bare.starts_with(scope + "/");
        out << oneLine(entry["operator"].get<std::string>()) << " "
            << oneLine(inName ? name : scope + "/" + name) << "\n";
        for (const char* side : {"inputs", "outputs"})
            for (const Json& tensor : entry[side])
                out << "    " << tensor["slot"].get<std::string>() << " "
                    << oneLine(tensor["name"].get<std::string>()) << " "
                    << oneLine(tensor["shape"].dump())
                    << (tensor["weight"].get<bool>() ? " weight" : "") << "\n";
    }
    out << counted(found["nodes"].size(), "node") << "\n";
    return out.str();
}

std::string checkText(const Analysis& analysis) {
    std::ostringstream out;
    out << headerText(analysis);
    for (const Diagnostic& d : analysis.diagnostics)
        out << diagnosticText(analysis.graph(), d);
    out << counted(static_cast<std::size_t>(analysis.count(Severity::Error)), "error") << ", "
        << counted(static_cast<std::size_t>(analysis.count(Severity::Warning)), "warning");
    const auto unsupported = static_cast<std::size_t>(analysis.count(Severity::Unsupported));
    if (unsupported > 0)
        out << ", " << unsupported << " unsupported";
    out << "\n";
    if (endsAtErrors(analysis))
        out << "what follows from these nodes is not known yet: more may be found once they are "
               "mended\n";
    return out.str();
}

std::string inferText(const Analysis& analysis) {
    const GraphIndex& graph = analysis.graph();
    const MeaningInput input = analysis.meaningInput();
    std::ostringstream out;
    out << headerText(analysis);
    const auto line = [&](const NodeInfo& node, bool output, std::size_t slot, ValueId value,
                          const SlotMeaning& s) {
        out << "  " << (output ? "#out" : "#in") << slot << " " << oneLine(graph.value(value).name)
            << ": "
            << (s.layout ? shortText(*s.layout, input.configuration->mesh)
                         : layoutSourceName(s.source))
            << " (" << layoutSourceName(s.source) << ": "
            << oneLine(
                   explainSlot(input, analysis.meaning, node.id, output, static_cast<int>(slot)))
            << ")\n";
    };
    for (const NodeId id : graph.main().nodes) {
        const NodeInfo& node = graph.node(id);
        const NodeMeaning& meaning = analysis.meaning.nodes[id.index()];
        out << oneLine(graph.opType(id)) << " `" << oneLine(graph.label(id)) << "`\n";
        for (std::size_t slot = 0; slot < node.inputs.size() && slot < meaning.inputs.size();
             ++slot)
            if (node.inputs[slot])
                line(node, false, slot, node.inputs[slot], meaning.inputs[slot]);
        for (std::size_t slot = 0; slot < node.outputs.size() && slot < meaning.outputs.size();
             ++slot)
            if (node.outputs[slot])
                line(node, true, slot, node.outputs[slot], meaning.outputs[slot]);
    }
    return out.str();
}

std::string commText(const Analysis& analysis, const HardwareProfile* hardware) {
    const GraphIndex& graph = analysis.graph();
    std::ostringstream out;
    out << headerText(analysis);
    CommunicationCost costs;
    if (hardware) {
        out << "hardware " << oneLine(hardware->name) << "\n";
        costs = costOf(*hardware, analysis.configuration.mesh, analysis.communication,
                       *analysis.shapes);
    }
    for (std::size_t e = 0; e < analysis.communication.entries.size(); ++e) {
        const CommEntry& entry = analysis.communication.entries[e];
        out << collectiveName(entry.kind);
        for (std::size_t i = 0; i < entry.axes.size(); ++i)
            out << (i ? "+" : " over ")
                << analysis.configuration.mesh.axes[static_cast<std::size_t>(entry.axes[i])].name;
        out << " at `" << oneLine(graph.label(entry.node)) << "`, "
            << counted(entry.groups.size(), "group") << " of " << entry.bytes << " bytes\n    "
            << oneLine(entry.cause) << "\n";
        if (hardware)
            out << "    " << microseconds(costs.entries[e].seconds) << " us, "
                << oneLine(costs.entries[e].text()) << "\n";
    }
    std::size_t groups = 0;
    for (const CommEntry& entry : analysis.communication.entries)
        groups += entry.groups.size();
    out << counted(analysis.communication.entries.size(), "collective") << " in "
        << counted(groups, "group") << ", " << analysis.communication.totalBytes
        << " bytes in total\n";
    if (const int errors = analysis.count(Severity::Error); errors > 0)
        out << "the list ends at " << counted(static_cast<std::size_t>(errors), "error")
            << " (see check): what follows from the nodes concerned is not in it\n";
    if (hardware)
        out << "predicted: " << microseconds(costs.seconds)
            << " us, one collective after the other\n";
    return out.str();
}

}  // namespace shardwright
