// SPDX-License-Identifier: Apache-2.0
// Chrome's trace events, which Perfetto reads: a process a device, with a track each for compute,
// communication and waiting, and an arrow (flow) from each sender to each receiver.
#include "run/trace.h"

#include "run/exchange_program.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

namespace shardwright {

namespace {

using Json = nlohmann::ordered_json;

enum Track { kCompute = 1, kCommunication = 2, kWaiting = 3 };
/// More arrows than these in one group operation hide everything else.
constexpr std::size_t kMostArrows = 64;

class TraceWriter {
public:
    TraceWriter(const Plan& plan, const GraphIndex& graph) : m_plan(plan), m_graph(graph) {}

    std::string write(const RunResult& result) {
        for (const DeviceTiming& device : result.devices)
            nameTracks(device.device);
        std::map<std::pair<int, int>, std::vector<const Span*>> operations;
        for (const Span& span : result.spans) {
            m_events.push_back(slice(span));
            if (span.waiting > 0)
                m_events.push_back({{"ph", "X"},
                                    {"name", "wait"},
                                    {"cat", "wait"},
                                    {"pid", span.device},
                                    {"tid", kWaiting},
                                    {"ts", span.begin},
                                    {"dur", std::min(span.waiting, span.duration)}});
            if (span.kind == Span::Kind::Exchange)
                operations[{span.phase, span.index}].push_back(&span);
        }
        for (const auto& [key, spans] : operations)
            addArrows(exchange(key.first, key.second), spans);
        const Json trace{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(m_events)}};
        // Names of a hostile model need not be UTF-8.
        return trace.dump(-1, ' ', false, Json::error_handler_t::replace);
    }

private:
    void nameTracks(DeviceId device) {
        const auto name = [&](const char* what, int track, const std::string& text) {
            m_events.push_back({{"ph", "M"},
                                {"name", what},
                                {"pid", device},
                                {"tid", track},
                                {"args", {{"name", text}}}});
        };
        name("process_name", 0, "device " + std::to_string(device));
        name("thread_name", kCompute, "compute");
        name("thread_name", kCommunication, "communication");
        name("thread_name", kWaiting, "waiting");
    }

    Json slice(const Span& span) const {
        Json event{{"ph", "X"},
                   {"pid", span.device},
                   {"tid", span.kind == Span::Kind::Exchange ? kCommunication : kCompute},
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
                const Exchange& e = exchange(span.phase, span.index);
                event["name"] = collectiveName(e.operation.kind) +
                                (e.value ? " " + m_graph.value(e.value).name : "");
                event["cat"] = "exchange";
                if (e.node)
                    args["node"] = m_graph.label(e.node);
                args["devices"] = e.operation.devices;
                args["bytes"] = e.operation.bytes;
                args["waiting_us"] = span.waiting;
                break;
            }
        }
        event["args"] = std::move(args);
        return event;
    }

    /// From the begin of the sender's slice to the end of the receiver's.
    void addArrows(const Exchange& e, const std::vector<const Span*>& spans) {
        std::set<std::pair<DeviceId, DeviceId>> pairs;
        for (const Part& part : e.operation.parts)
            if (part.from != part.to)
                pairs.emplace(part.from, part.to);
        if (pairs.size() > kMostArrows) {
            // Round in a circle: all take part.
            pairs.clear();
            const DeviceGroup& devices = e.operation.devices;
            for (std::size_t i = 0; i < devices.size(); ++i)
                pairs.emplace(devices[i], devices[(i + 1) % devices.size()]);
        }
        const auto of = [&](DeviceId device) -> const Span* {
            for (const Span* span : spans)
                if (span->device == device)
                    return span;
            return nullptr;
        };
        for (const auto& [from, to] : pairs) {
            const Span *sender = of(from), *receiver = of(to);
            if (!sender || !receiver)
                continue;
            const double end = receiver->begin + receiver->duration;
            const int id = ++m_lastArrow;
            const auto arrow = [&](const char* ph, DeviceId device, double ts) {
                return Json{{"ph", ph},      {"name", "transfer"},    {"cat", "flow"}, {"id", id},
                            {"pid", device}, {"tid", kCommunication}, {"ts", ts}};
            };
            m_events.push_back(arrow("s", from, sender->begin));
            Json arrived = arrow("f", to, end);
            arrived["bp"] = "e";  // Binds to the slice around it, not to the next one.
            m_events.push_back(std::move(arrived));
        }
    }

    const Exchange& exchange(int phase, int index) const {
        return m_plan.exchanges[static_cast<std::size_t>(phase)][static_cast<std::size_t>(index)];
    }
    const DeviceProgram& programOf(DeviceId device) const {
        for (const DeviceProgram& program : m_plan.devices)
            if (program.device == device)
                return program;
        return m_plan.devices.front();
    }

    const Plan& m_plan;
    const GraphIndex& m_graph;
    Json m_events = Json::array();
    int m_lastArrow = 0;
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
