// SPDX-License-Identifier: Apache-2.0
#include "check/proposals.h"

#include "model/plain_text.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace shardwright {

namespace {

Json slotJson(const GraphIndex& graph, TensorSlot slot) {
    if (!slot.node)
        return nullptr;
    return {{"node", nodeJson(graph, slot.node)}, {"output", slot.output}, {"slot", slot.slot}};
}

Json axesJson(const AxisSharding& sharding, const AxisSpace& space) {
    Json dims = Json::array();
    for (const DimAxes& dim : sharding.dims) {
        Json parts = Json::array();
        for (const AxisPart& part : dim.parts) {
            Json axes = Json::array();
            for (const AxisRef& axis : part.axes)
                axes.push_back(space.text(axis));
            parts.push_back(
                {{"size", part.size == 0 ? Json() : Json(part.size)}, {"axes", std::move(axes)}});
        }
        dims.push_back(std::move(parts));
    }
    return dims;
}

Json sourcesJson(const GraphIndex& graph, const AxisSpace& space,
                 const std::vector<ProposalSource>& sources) {
    Json list = Json::array();
    for (const ProposalSource& source : sources) {
        Json entry = {{"dimension", source.dim}, {"axis", space.text(source.axis)}};
        entry["annotation"] = slotJson(graph, source.annotation);
        entry["words"] = source.words;
        list.push_back(std::move(entry));
    }
    return list;
}

/// "1=tp"; "replicated"
std::string dimsText(const AxisSharding& sharding, const AxisSpace& space) {
    std::string text;
    for (std::size_t d = 0; d < sharding.dims.size(); ++d) {
        if (!sharding.dims[d].split())
            continue;
        text += (text.empty() ? "" : ",") + std::to_string(d) + "=";
        for (std::size_t p = 0; p < sharding.dims[d].parts.size(); ++p) {
            const AxisPart& part = sharding.dims[d].parts[p];
            text += p > 0 ? "*" : "";
            text += part.size > 0 ? std::to_string(part.size) : "";
            text += part.size > 0 && !part.axes.empty() ? "/" : "";
            text += space.text(part.axes);
        }
    }
    return text.empty() ? "replicated" : text;
}

std::string bytesText(std::int64_t bytes) {
    return bytes == 0 ? "no bytes" : std::to_string(bytes) + " bytes";
}

std::string secondsText(double seconds) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.4g us", seconds * 1e6);
    return text.data();
}

}  // namespace

Json proposalsJson(const Analysis& analysis, const Proposals& proposals,
                   const PropagationOptions& options) {
    const GraphIndex& graph = analysis.graph();
    const AxisSpace& space = *proposals.space;
    Json json = {{"mode", "propagate"},
                 {"policy", options.policy.name},
                 {"direction", directionName(options.direction)},
                 {"configuration", analysis.configuration.name},
                 {"mesh", analysis.configuration.mesh.text()},
                 {"proposals", Json::array()},
                 {"conflicts", Json::array()},
                 {"left", Json::array()}};
    for (const Proposal& p : proposals.proposals) {
        Json entry = {{"node", nodeJson(graph, p.slot.node)},
                      {"output", p.slot.output},
                      {"slot", p.slot.slot},
                      {"tensor", graph.value(p.value).name},
                      {"axes", axesJson(p.sharding, space)},
                      {"layout", layoutJson(*p.layout, analysis.configuration.mesh)},
                      {"reshard", p.reshard}};
        entry["sources"] = sourcesJson(graph, space, p.sources);
        json["proposals"].push_back(std::move(entry));
    }
    for (const PropagationConflict& c : proposals.conflicts) {
        Json entry = {{"node", nodeJson(graph, c.node)}, {"message", c.message}};
        entry["sources"] = sourcesJson(graph, space, c.sources);
        entry["fixes"] = Json::array();
        for (const ConflictFix& fix : c.fixes)
            entry["fixes"].push_back({{"title", fix.title},
                                      {"bytes", fix.bytes},
                                      {"seconds", fix.seconds ? Json(*fix.seconds) : Json()},
                                      {"edit", editJson(graph, fix.edit)}});
        json["conflicts"].push_back(std::move(entry));
    }
    for (const NodeId node : proposals.left)
        json["left"].push_back(nodeJson(graph, node));
    return json;
}

std::string proposalsText(const Analysis& analysis, const Proposals& proposals) {
    const GraphIndex& graph = analysis.graph();
    const AxisSpace& space = *proposals.space;
    std::string text;
    const auto line = [&](const char* indent, const std::string& words) {
        text += indent + oneLine(words) + "\n";
    };
    const auto nodeText = [&](NodeId node) {
        return std::string(graph.opType(node)) + " `" + graph.label(node) + "`";
    };
    const auto wordsOf = [&](const std::vector<ProposalSource>& sources) {
        for (const ProposalSource& source : sources)
            line("    ", source.words);
    };
    for (const Proposal& p : proposals.proposals) {
        line("", nodeText(p.slot.node) + (p.slot.output ? " output " : " input ") +
                     std::to_string(p.slot.slot) + " `" + graph.value(p.value).name +
                     "`: " + dimsText(p.sharding, space) + (p.reshard ? " (resharded here)" : ""));
        wordsOf(p.sources);
    }
    for (const PropagationConflict& c : proposals.conflicts) {
        line("", "conflict at " + nodeText(c.node) + ": " + c.message);
        wordsOf(c.sources);
        for (const ConflictFix& fix : c.fixes)
            line("    ", "fix: " + fix.title + ", " + bytesText(fix.bytes) +
                             (fix.seconds ? ", " + secondsText(*fix.seconds) : ""));
    }
    for (const NodeId node : proposals.left)
        line("", "nothing proposed for " + nodeText(node));
    const auto count = [](std::size_t n, const char* one, const char* many) {
        return std::to_string(n) + " " + (n == 1 ? one : many);
    };
    return text + count(proposals.proposals.size(), "proposal", "proposals") + ", " +
           count(proposals.conflicts.size(), "conflict", "conflicts") + "\n";
}

}  // namespace shardwright
