// SPDX-License-Identifier: Apache-2.0
#include "run/trace.h"

#include "run/exchange_program.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <set>

namespace shardwright {

namespace {

using Json = nlohmann::ordered_json;

class TraceWriter {
public:
    TraceWriter(const Plan& plan, const GraphIndex& graph) : m_plan(plan), m_graph(graph) {}

    std::string write(const RunResult& result) {
        Json events = Json::array();
        events.push_back({{"ph", "M"},
                          {"name", "process_name"},
                          {"pid", 1},
                          {"args", {{"name", "shardwright run"}}}});
        for (const DeviceTiming& device : result.devices)
            events.push_back({{"ph", "M"},
                              {"name", "thread_name"},
                              {"pid", 1},
                              {"tid", device.device},
                              {"args", {{"name", "device " + std::to_string(device.device)}}}});
        for (const Span& span : result.spans) {
            events.push_back(slice(span));
            if (span.waiting > 0)
                events.push_back({{"ph", "X"},
                                  {"name", "wait"},
                                  {"cat", "wait"},
                                  {"pid", 1},
                                  {"tid", span.device},
                                  {"ts", span.begin},
                                  {"dur", std::min(span.waiting, span.duration)}});
        }
        const Json trace{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
        // Names of a hostile model need not be UTF-8.
        return trace.dump(-1, ' ', false, Json::error_handler_t::replace);
    }

private:
    Json slice(const Span& span) const {
        Json event{{"ph", "X"},
                   {"pid", 1},
                   {"tid", span.device},
                   {"ts", span.begin},
                   {"dur", span.duration}};
        Json args{{"phase", span.phase}};
        switch (span.kind) {
            case Span::Kind::Segment: {
                const Segment& segment =
                    programOf(span.device).segments[static_cast<std::size_t>(span.index)];
                event["name"] = segmentLabel(segment, m_graph);
                event["cat"] = "segment";
                args["nodes"] = segment.nodes.size();
                break;
            }
            case Span::Kind::Copy:
                event["name"] = "local copies";
                event["cat"] = "copy";
                break;
            case Span::Kind::Exchange: {
                const Exchange& exchange = m_plan.exchanges[static_cast<std::size_t>(span.phase)]
                                                           [static_cast<std::size_t>(span.index)];
                event["name"] = collectiveName(exchange.operation.kind) +
                                (exchange.value ? " " + m_graph.value(exchange.value).name : "");
                event["cat"] = "exchange";
                if (exchange.node)
                    args["node"] = m_graph.label(exchange.node);
                args["devices"] = exchange.operation.devices;
                args["bytes"] = exchange.operation.bytes;
                args["waiting_us"] = span.waiting;
                break;
            }
        }
        event["args"] = std::move(args);
        return event;
    }

    const DeviceProgram& programOf(DeviceId device) const {
        for (const DeviceProgram& program : m_plan.devices)
            if (program.device == device)
                return program;
        return m_plan.devices.front();
    }

    const Plan& m_plan;
    const GraphIndex& m_graph;
};

}  // namespace

std::string segmentLabel(const Segment& segment, const GraphIndex& graph) {
    if (segment.nodes.empty())
        return "segment " + std::to_string(segment.phase);
    std::string label = graph.label(segment.nodes.front());
    if (segment.nodes.size() > 1)
        label += " ... " + graph.label(segment.nodes.back());
    return label;
}

std::string traceJson(const Plan& plan, const GraphIndex& graph, const RunResult& result) {
    return TraceWriter(plan, graph).write(result);
}

Result<void> writeTrace(const std::filesystem::path& path, const Plan& plan,
                        const GraphIndex& graph, const RunResult& result) {
    std::ofstream file(path, std::ios::binary);
    file << traceJson(plan, graph, result);
    file.close();
    return file ? Result<void>{}
                : Result<void>(Error{"the trace cannot be written", path.string()});
}

}  // namespace shardwright
