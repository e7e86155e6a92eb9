// SPDX-License-Identifier: Apache-2.0
#include "comm/cost.h"
#include "run/calibrate.h"

#include <algorithm>
#include <cmath>

namespace shardwright {

LinearFit fitLinear(const std::vector<FitSample>& samples) {
    // Normal equations of min sum ((c a + v b - t) / t)^2.
    double cc = 0, cv = 0, vv = 0, ct = 0, vt = 0;
    for (const FitSample& sample : samples) {
        if (sample.seconds <= 0)
            continue;
        const double c = sample.constant / sample.seconds, v = sample.variable / sample.seconds;
        cc += c * c;
        cv += c * v;
        vv += v * v;
        ct += c;
        vt += v;
    }
    LinearFit fit;
    const double determinant = cc * vv - cv * cv;
    if (determinant > 1e-12 * cc * vv) {
        fit.constant = (ct * vv - vt * cv) / determinant;
        fit.variable = (vt * cc - ct * cv) / determinant;
    }
    // On the border the other one alone is fitted.
    if (fit.constant <= 0 || fit.variable <= 0) {
        const bool variableOnly = fit.constant <= 0 && vv > 0;
        fit.constant = variableOnly || cc <= 0 ? 0 : ct / cc;
        fit.variable = variableOnly ? vt / vv : 0;
    }
    double sum = 0, most = -1;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        if (samples[i].seconds <= 0)
            continue;
        const double deviation =
            std::abs(fit.seconds(samples[i]) - samples[i].seconds) / samples[i].seconds;
        sum += deviation * deviation;
        if (deviation > most) {
            most = deviation;
            fit.worst = i;
        }
    }
    fit.hasResidual = samples.size() > 2;
    fit.residual = samples.empty() ? 0 : std::sqrt(sum / static_cast<double>(samples.size()));
    return fit;
}

std::string uselessness(const LinearFit& fit) {
    constexpr double kMostResidual = 0.6;
    if (fit.variable <= 0)
        return "times do not grow with sizes";
    if (fit.hasResidual && fit.residual > kMostResidual)
        return "what was measured is far from a straight line (residual " +
               std::to_string(std::lround(fit.residual * 100)) + " %)";
    return {};
}

LinkFit fitLink(const std::vector<CollectiveSample>& measured) {
    LinkFit link;
    // Which algorithm is the fastest depends on the link: begin with something, and repeat until
    // the choice stands.
    double latency = 1e-6, perByte = 1e-9;
    std::vector<std::string> chosen;
    for (int round = 0; round < 10; ++round) {
        std::vector<std::string> now;
        link.samples.clear();
        for (const CollectiveSample& sample : measured) {
            const auto formulas = formulasOf(sample.kind, sample.devices, sample.bytes, 1,
                                             sample.bytes / std::max(1, sample.devices));
            if (formulas.empty())
                continue;
            const CostFormula& best = *std::min_element(
                formulas.begin(), formulas.end(), [&](const auto& a, const auto& b) {
                    return a.seconds(latency, 1 / perByte) < b.seconds(latency, 1 / perByte);
                });
            now.push_back(best.algorithm);
            link.devices = sample.devices;
            link.samples.push_back({collectiveName(sample.kind) + " of " +
                                        std::to_string(static_cast<std::int64_t>(sample.bytes)) +
                                        " bytes",
                                    best.latencies, best.bytes, sample.seconds});
        }
        link.fit = fitLinear(link.samples);
        // A profile has no link without latency or without end to its bandwidth.
        latency = std::max(link.fit.constant, 1e-9);
        perByte = std::max(link.fit.variable, 1e-15);
        if (now == chosen)
            break;
        chosen = std::move(now);
    }
    link.latency = latency;
    link.bandwidth = 1 / perByte;
    return link;
}

}  // namespace shardwright
