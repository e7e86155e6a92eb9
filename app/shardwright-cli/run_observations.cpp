// SPDX-License-Identifier: Apache-2.0
#include "run_observations.h"

#include "model/plain_text.h"

#include <algorithm>
#include <cstdio>

namespace shardwright::cli {

namespace {

/// Rows of a list in the text; JSON has all.
constexpr std::size_t kMostRows = 20;

Json placeJson(const RunPlace& place) {
    if (place.index < 0)
        return nullptr;
    return {{"name", place.name}, {"index", place.index}, {"scope", place.scope}};
}

std::string devicesText(const std::vector<int>& devices) {
    std::string text;
    for (const int device : devices)
        text += (text.empty() ? "" : ",") + std::to_string(device);
    return text;
}

std::string nodeText(const RunOperator& one) {
    return one.node.index < 0      ? "kernel `" + oneLine(one.kernel) + "`"
           : one.node.name.empty() ? "node " + std::to_string(one.node.index)
                                   : "`" + oneLine(one.node.name) + "`";
}

template <class T>
std::vector<const T*> largest(const std::vector<T>& all, double (*weight)(const T&)) {
    std::vector<const T*> sorted;
    for (const T& one : all)
        sorted.push_back(&one);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](const T* a, const T* b) { return weight(*a) > weight(*b); });
    sorted.resize(std::min(sorted.size(), kMostRows));
    return sorted;
}

}  // namespace

void addObservations(Json& json, const RunReport& report) {
    const bool predicted = !report.hardware.empty();
    Json collectives = Json::array();
    for (const RunCollective& collective : report.collectives) {
        Json one{{"kind", collective.kind},
                 {"node", placeJson(collective.node)},
                 {"tensor", collective.tensor},
                 {"devices", collective.devices},
                 {"bytes", collective.bytes},
                 {"phase", collective.phase},
                 {"measured_us", collective.measuredUs},
                 {"waiting_us", collective.waitingUs},
                 {"bytes_per_second", collective.bytesPerSecond}};
        if (collective.predictedUs >= 0) {
            one["predicted_us"] = collective.predictedUs;
            one["cost"] = collective.cost;
        }
        collectives.push_back(std::move(one));
    }
    json["collectives"] = std::move(collectives);
    if (predicted) {
        const CollectiveTotals totals = collectiveTotals(report);
        json["hardware"] = report.hardware;
        json["predicted_us"] = totals.predictedUs;
        json["measured_us"] = totals.measuredUs;
    }
    if (report.operators.empty())
        return;
    Json operators = Json::array();
    for (const RunOperator& one : report.operators)
        operators.push_back({{"device", one.device},
                             {"phase", one.phase},
                             {"node", placeJson(one.node)},
                             {"operator", one.op},
                             {"kernel", one.kernel},
                             {"calls", one.calls},
                             {"median_us", one.medianUs}});
    json["operators"] = std::move(operators);
}

void printObservations(const RunReport& report) {
    if (!report.hardware.empty()) {
        std::printf("collectives, predicted for %s beside measured:\n",
                    oneLine(report.hardware).c_str());
        for (const RunCollective* c :
             largest<RunCollective>(report.collectives, [](const RunCollective& one) {
                 return std::max(one.measuredUs, one.predictedUs);
             }))
            std::printf("  %s of %lld bytes at `%s` between %s: predicted %.3f us, measured %.3f "
                        "us, %.2f GB/s\n    %s\n",
                        c->kind.c_str(), static_cast<long long>(c->bytes),
                        oneLine(c->node.name).c_str(), devicesText(c->devices).c_str(),
                        c->predictedUs, c->measuredUs, c->bytesPerSecond / 1e9,
                        oneLine(c->cost).c_str());
        const CollectiveTotals totals = collectiveTotals(report);
        std::printf("  %zu in all, one after the other: predicted %.3f us, measured %.3f us\n",
                    report.collectives.size(), totals.predictedUs, totals.measuredUs);
    }
    if (report.operators.empty())
        return;
    std::printf("operators, median of a call:\n");
    for (const RunOperator* one : largest<RunOperator>(
             report.operators, [](const RunOperator& each) { return each.medianUs; }))
        std::printf("  device %d, %s %s: %.0f us, %d %s\n", one->device, oneLine(one->op).c_str(),
                    nodeText(*one).c_str(), one->medianUs, one->calls,
                    one->calls == 1 ? "call" : "calls");
    std::printf("  %zu in all\n", report.operators.size());
}

}  // namespace shardwright::cli
