// SPDX-License-Identifier: Apache-2.0
#include "run/collective_timings.h"

#include "comm/cost.h"
#include "comm/moved_bits.h"
#include "model/shapes.h"
#include "run/run_reports.h"

#include <algorithm>
#include <map>

namespace shardwright {

namespace {

/// When the last device came, and when the last one was done.
struct Moments {
    double arrived = 0, done = 0, waited = 0;
    bool any = false;
};

}  // namespace

std::vector<RunCollective> collectiveTimings(const Plan& plan, const GraphIndex& graph,
                                             const Mesh& mesh, const std::vector<Span>& spans,
                                             const HardwareProfile* hardware) {
    std::map<std::pair<int, int>, Moments> operations;
    for (const Span& span : spans) {
        if (span.kind != Span::Kind::Exchange)
            continue;
        Moments& moments = operations[{span.phase, span.index}];
        moments.arrived = moments.any ? std::max(moments.arrived, span.begin) : span.begin;
        moments.done = std::max(moments.done, span.begin + span.duration);
        moments.waited = std::max(moments.waited, span.waiting);
        moments.any = true;
    }
    std::vector<RunCollective> collectives;
    for (const auto& [key, moments] : operations) {
        const auto& [phase, index] = key;
        const Exchange& exchange =
            plan.exchanges[static_cast<std::size_t>(phase)][static_cast<std::size_t>(index)];
        const GroupOperation& operation = exchange.operation;
        RunCollective collective;
        collective.kind = collectiveName(operation.kind);
        if (exchange.value)
            collective.tensor = graph.value(exchange.value).name;
        collective.node = runPlaceOf(graph, exchange.node);
        collective.devices = operation.devices;
        collective.bytes = operation.bytes;
        collective.phase = phase;
        collective.measuredUs = std::max(0.0, moments.done - moments.arrived);
        collective.waitingUs = moments.waited;
        const int bits = movedBits(exchange.elementType);
        // The bytes of the ring formula, so that it compares with a link's bandwidth.
        const HardwareProfile none;
        const double moved =
            costOf(hardware ? *hardware : none, mesh, operation, bits).formula.bytes;
        if (collective.measuredUs > 0)
            collective.bytesPerSecond = moved / collective.measuredUs * 1e6;
        if (hardware) {
            const CollectiveCost cost = costOf(*hardware, mesh, operation, bits);
            collective.predictedUs = cost.seconds * 1e6;
            collective.cost = cost.text();
        }
        collectives.push_back(std::move(collective));
    }
    return collectives;
}

}  // namespace shardwright
