// SPDX-License-Identifier: Apache-2.0
// The alpha-beta model: a message of S bytes takes a + S/B. See docs/hardware-profiles.md for the
// formulas and where they are from.
#include "comm/cost.h"

#include "comm/moved_bits.h"
#include "model/saturating.h"
#include "model/shapes.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

namespace shardwright {

namespace {

std::string formatted(const char* format, double value) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

/// Messages and bytes of the device that sends, or receives, most.
struct Busiest {
    double messages = 0, bytes = 0;
};
Busiest busiestOf(const GroupOperation& operation, int elementBits) {
    std::map<DeviceId, std::set<DeviceId>> receivers, senders;
    std::map<DeviceId, std::int64_t> sent, received;
    for (const Part& part : operation.parts) {
        if (part.from == part.to)
            continue;
        const std::int64_t bytes = saturatingBytes(part.box.count(), elementBits);
        sent[part.from] = saturatingSum(sent[part.from], bytes);
        received[part.to] = saturatingSum(received[part.to], bytes);
        receivers[part.from].insert(part.to);
        senders[part.to].insert(part.from);
    }
    Busiest busiest;
    for (const auto* peers : {&receivers, &senders})
        for (const auto& [device, others] : *peers)
            busiest.messages = std::max(busiest.messages, static_cast<double>(others.size()));
    for (const auto* bytes : {&sent, &received})
        for (const auto& [device, count] : *bytes)
            busiest.bytes = std::max(busiest.bytes, static_cast<double>(count));
    return busiest;
}

bool pointToPoint(CollectiveKind kind) {
    return kind == CollectiveKind::Permute || kind == CollectiveKind::Send ||
           kind == CollectiveKind::Region || kind == CollectiveKind::Scatter;
}

}  // namespace

std::vector<CostFormula> formulasOf(CollectiveKind kind, int n, double bytes, double messages,
                                    double moved) {
    if (n < 2)
        return {};
    const double others = n - 1, share = others / n;
    const double rounds = std::ceil(std::log2(static_cast<double>(n)));
    switch (kind) {
        case CollectiveKind::AllReduce:
            return {{"ring", "2(n-1)a + 2(n-1)/n S/B", 2 * others, 2 * share * bytes},
                    {"tree", "2 log2(n) a + 2 S/B", 2 * rounds, 2 * bytes}};
        case CollectiveKind::AllGather:
        case CollectiveKind::ReduceScatter:
            return {{"ring", "(n-1)a + (n-1)/n S/B", others, share * bytes}};
        case CollectiveKind::AllToAll:
            return {{"pairwise", "(n-1)a + (n-1)/n (S/n)/B", others, share * bytes / n}};
        case CollectiveKind::Reduce:
        case CollectiveKind::Broadcast: return {{"tree", "log2(n) a + S/B", rounds, bytes}};
        case CollectiveKind::Slice: return {};
        default: return {{"messages", "m a + V/B", messages, moved}};
    }
}

CollectiveCost costOf(const HardwareProfile& profile, const Mesh& mesh,
                      const GroupOperation& operation, int elementBits) {
    CollectiveCost cost;
    cost.devices = static_cast<int>(operation.devices.size());
    cost.bytes = static_cast<double>(operation.bytes);
    cost.link = spannedLink(profile, mesh, operation.devices);
    Busiest busiest;
    if (pointToPoint(operation.kind))
        busiest = busiestOf(operation, elementBits);
    bool first = true;
    for (CostFormula& formula :
         formulasOf(operation.kind, cost.devices, cost.bytes, busiest.messages, busiest.bytes)) {
        const double seconds = formula.seconds(cost.link.latency, cost.link.bandwidth);
        if (!first && seconds >= cost.seconds)
            continue;
        cost.seconds = seconds;
        cost.formula = std::move(formula);
        first = false;
    }
    return cost;
}

CollectiveCost costOf(const HardwareProfile& profile, const Mesh& mesh, const ReshardPlan& plan,
                      int elementBits) {
    CollectiveCost slowest;
    for (const GroupOperation& group : plan.groups)
        if (CollectiveCost cost = costOf(profile, mesh, group, elementBits);
            cost.seconds >= slowest.seconds)
            slowest = std::move(cost);
    return slowest;
}

CollectiveCost costOf(const HardwareProfile& profile, const Mesh& mesh, const CommEntry& entry,
                      int elementBits) {
    CollectiveCost slowest;
    if (!entry.plan)
        return slowest;
    for (const GroupOperation& group : entry.plan->groups) {
        if (group.bytes != entry.bytes)
            continue;
        if (CollectiveCost cost = costOf(profile, mesh, group, elementBits);
            cost.seconds >= slowest.seconds)
            slowest = std::move(cost);
    }
    return slowest;
}

CommunicationCost costOf(const HardwareProfile& profile, const Mesh& mesh,
                         const Communication& communication, const ShapeTable& shapes) {
    CommunicationCost total;
    const CommEntry* before = nullptr;
    double counted = 0;  // Of the reshard that `before` is of.
    for (const CommEntry& entry : communication.entries) {
        const int bits = movedBits(shapes.of(entry.value).elementType);
        total.entries.push_back(costOf(profile, mesh, entry, bits));
        const double seconds = total.entries.back().seconds;
        const bool same = before && before->plan == entry.plan && before->node == entry.node &&
                          before->value == entry.value && before->phase == entry.phase;
        if (!same)
            counted = 0;
        total.seconds += std::max(0.0, seconds - counted);
        counted = std::max(counted, seconds);
        before = &entry;
    }
    return total;
}

std::string CollectiveCost::text() const {
    if (formula.text.empty())
        return "nothing moves";
    std::string text =
        formula.algorithm + ": " + formula.text + " = " + formatted("%g", formula.latencies) +
        " x " + formatted("%.4g us + ", link.latency * 1e6) +
        formatted("%.0f B / ", formula.bytes) + formatted("%.4g GB/s", link.bandwidth / 1e9) +
        ", n = " + std::to_string(devices);
    if (formula.algorithm != "messages")
        text += formatted(", S = %.0f B", bytes);
    return link.name.empty() ? text : text + ", " + link.name;
}

}  // namespace shardwright
