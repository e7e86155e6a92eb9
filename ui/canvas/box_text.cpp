// SPDX-License-Identifier: Apache-2.0
#include "ui/canvas/box_text.h"

#include "model/attributes.h"

#include <algorithm>
#include <cmath>

namespace shardwright {

namespace {

constexpr double kMinWidth = 124, kMaxWidth = 208;
constexpr double kPadding = 24;
constexpr double kChipRoom = 58;  ///< Beside the operator, for two axes.

/// Few distinct widths make few distinct layouts.
float stepped(double width) {
    return static_cast<float>(std::ceil(std::clamp(width, kMinWidth, kMaxWidth) / 12) * 12);
}

}  // namespace

BoxSize nodeBoxSize(const GraphIndex& graph, NodeId id, ScopeId drawnIn, const TextMetrics& metrics,
                    const BoxContents& contents) {
    const std::string_view op = graph.opType(id);
    if (op == "Constant")
        return {84, kConstantHeight};
    double width = metrics.titleWidth(op.substr(0, 64)) + kPadding + kChipRoom;
    int lines = 0;
    if (const std::string name = contents.names ? shownName(graph, id, drawnIn) : std::string();
        !name.empty()) {
        width = std::max(width, metrics.smallWidth(sameDigits(name)) + kPadding);
        ++lines;
    }
    if (contents.weights)
        lines += std::min(static_cast<int>(weightsOf(graph, id).size()), kWeightLines);
    if (contents.attributes) {
        for (const std::string& line : attributeLines(graph, id)) {
            width = std::max(width, metrics.smallWidth(sameDigits(line)) + kPadding);
            ++lines;
        }
    }
    return {stepped(width),
            kHeaderHeight + (lines > 0 ? 8 : 0) + kLineHeight * static_cast<float>(lines)};
}

BoxSize valueBoxSize(const std::string& name, const TextMetrics& metrics) {
    return {stepped(metrics.titleWidth(sameDigits(name)) + kPadding + 10), 30};
}

BoxSize scopeBoxSize(const std::string& name, const TextMetrics& metrics) {
    return {std::max(stepped(metrics.titleWidth(sameDigits(name)) + kPadding + 24), 184.0F), 66};
}

std::string shownName(const GraphIndex& graph, NodeId id, ScopeId drawnIn) {
    std::string name = graph.label(id);
    // Exporters name a node after its scope and operator; what the frame and the header say is not
    // said again.
    if (const auto slash = name.rfind('/'); slash != std::string::npos)
        name.erase(0, slash + 1);
    if (name == graph.opType(id))
        name.clear();
    for (ScopeId scope = graph.node(id).scope;
         scope && scope != drawnIn && graph.scope(scope).parent; scope = graph.scope(scope).parent)
        name = graph.scope(scope).name + (name.empty() ? "" : "/" + name);
    return name;
}

std::vector<std::string> attributeLines(const GraphIndex& graph, NodeId id) {
    constexpr std::size_t kLongest = 48, kMost = kAttributeLines;
    const auto attributes = attributeTexts(graph, id);
    std::vector<std::string> lines;
    for (const AttributeText& attribute : attributes) {
        if (lines.size() + 1 == kMost && attributes.size() > kMost) {
            lines.push_back("+ " + std::to_string(attributes.size() - lines.size()));
            break;
        }
        std::string line = attribute.name + "  " + attribute.value;
        if (line.size() > kLongest) {
            // Not amid a character.
            std::size_t end = kLongest;
            while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80)
                --end;
            line.resize(end);
            line += "\u2026";
        }
        lines.push_back(std::move(line));
    }
    return lines;
}

std::vector<ValueId> weightsOf(const GraphIndex& graph, NodeId id) {
    std::vector<ValueId> weights;
    for (const ValueId value : graph.node(id).inputs) {
        if (value && graph.value(value).kind == ValueKind::Initializer)
            weights.push_back(value);
    }
    return weights;
}

std::string_view shortValueName(std::string_view name) {
    constexpr std::string_view kFirstOutput = "_output_0";
    if (name.size() > kFirstOutput.size() && name.ends_with(kFirstOutput))
        name.remove_suffix(kFirstOutput.size());
    const auto cut = name.find_last_of("./:");
    return cut == std::string_view::npos || cut + 1 == name.size() ? name : name.substr(cut + 1);
}

}  // namespace shardwright
