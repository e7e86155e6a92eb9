// SPDX-License-Identifier: Apache-2.0
#include "run/run_reports.h"

#include "sharding/shard_text.h"

namespace shardwright {

RunPlace runPlaceOf(const GraphIndex& graph, NodeId node) {
    if (!node)
        return {};
    const NodePlace place = graph.place(node);
    return {place.name, place.index, place.scope};
}

std::map<std::string, RunKindTotal> totalsOf(const CollectiveCounts& counts) {
    std::map<std::string, RunKindTotal> totals;
    for (const auto& [kind, total] : counts)
        if (total.count > 0)
            totals[collectiveName(kind)] = {total.count, total.bytes};
    return totals;
}

RunDeviceTiming timingOf(const DeviceTiming& t, std::int64_t predictedBytes) {
    return {t.device,    t.prepareMs, t.computeMs,   t.communicationMs,
            t.waitingMs, t.peakBytes, predictedBytes};
}

RunTensorCheck checkOf(const TensorCheck& check) {
    return {check.name, check.maxAbs, check.maxRel, check.tolerance, check.agrees, check.note};
}

std::optional<RunEvent> eventOf(const Span& span, const Plan& plan, const GraphIndex& graph) {
    if (span.kind == Span::Kind::Exchange) {
        const Exchange& exchange = plan.exchanges[static_cast<std::size_t>(span.phase)]
                                                 [static_cast<std::size_t>(span.index)];
        RunExchangeTiming timing{span.device,
                                 span.phase,
                                 collectiveName(exchange.operation.kind),
                                 {},
                                 runPlaceOf(graph, exchange.node),
                                 exchange.operation.devices,
                                 exchange.operation.bytes,
                                 span.begin,
                                 span.duration,
                                 span.waiting};
        if (exchange.value)
            timing.tensor = graph.value(exchange.value).name;
        return timing;
    }
    if (span.kind != Span::Kind::Segment)
        return std::nullopt;
    for (const DeviceProgram& program : plan.devices) {
        if (program.device != span.device)
            continue;
        const Segment& segment = program.segments[static_cast<std::size_t>(span.index)];
        return RunSegmentTiming{span.device,
                                span.phase,
                                static_cast<int>(segment.nodes.size()),
                                segment.nodes.empty() ? RunPlace{}
                                                      : runPlaceOf(graph, segment.nodes.front()),
                                span.begin,
                                span.duration};
    }
    return std::nullopt;
}

namespace {

std::string collectivesOf(const Plan& plan, const GraphIndex& graph, NodeId node) {
    std::string text;
    for (const auto& phase : plan.exchanges)
        for (const Exchange& exchange : phase) {
            if (exchange.node != node)
                continue;
            text += (text.empty() ? "" : "; ") + collectiveName(exchange.operation.kind) + " of `" +
                    graph.value(exchange.value).name + "` on devices ";
            for (std::size_t i = 0; i < exchange.operation.devices.size(); ++i)
                text += (i ? ", " : "") + std::to_string(exchange.operation.devices[i]);
        }
    return text;
}

}  // namespace

RunDivergence divergenceOf(const RunTensorCheck& check, ValueId value, const Analysis& analysis,
                           const Plan& plan) {
    RunDivergence divergence;
    divergence.check = check;
    const GraphIndex& graph = analysis.graph();
    if (const NodeId producer = graph.value(value).producer) {
        divergence.node = runPlaceOf(graph, producer);
        divergence.op = graph.opType(producer);
        divergence.collectives = collectivesOf(plan, graph, producer);
    }
    const ValueMeaning& meaning = analysis.meaning.values[value.index()];
    divergence.layout = meaning.layout ? shortText(*meaning.layout, analysis.configuration.mesh)
                                       : layoutSourceName(meaning.source);
    return divergence;
}

}  // namespace shardwright
