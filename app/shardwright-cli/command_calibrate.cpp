// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include "check/report.h"
#include "model/plain_text.h"
#include "run/calibrate.h"
#include "run/ort_engine.h"
#include "run/thread_communicator.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>

namespace shardwright::cli {

namespace {

Json fitJson(const std::vector<FitSample>& samples, const LinearFit& fit) {
    Json list = Json::array();
    for (const FitSample& sample : samples)
        list.push_back({{"name", sample.name},
                        {"measured_us", sample.seconds * 1e6},
                        {"fitted_us", fit.seconds(sample) * 1e6}});
    return list;
}

Json residualJson(const LinearFit& fit) {
    return fit.hasResidual ? Json(fit.residual) : Json();
}

Json calibrationJson(const Calibration& found) {
    Json links = Json::array(), kernels = Json::array();
    for (const LinkFit& link : found.links)
        links.push_back({{"devices", link.devices},
                         {"latency_us", link.latency * 1e6},
                         {"bytes_per_second", link.bandwidth},
                         {"residual", residualJson(link.fit)},
                         {"samples", fitJson(link.samples, link.fit)}});
    for (const KernelFit& kernel : found.kernels)
        kernels.push_back({{"kernel", kernel.name},
                           {"per_second", kernel.perSecond},
                           {"overhead_us", kernel.overhead * 1e6},
                           {"residual", residualJson(kernel.fit)},
                           {"samples", fitJson(kernel.samples, kernel.fit)}});
    return {{"profile", found.profile.links.empty() ? Json() : Json::parse(found.profile.text())},
            {"links", std::move(links)},
            {"kernels", std::move(kernels)},
            {"left_out", found.leftOut}};
}

void printResidual(const std::vector<FitSample>& samples, const LinearFit& fit) {
    if (!fit.hasResidual) {
        std::printf("    %zu measurements: too few for a residual\n", samples.size());
        return;
    }
    std::printf("    residual %.0f %% of %zu measurements", fit.residual * 100, samples.size());
    if (fit.worst < samples.size())
        std::printf(", worst: %s, measured %.3f us, fitted %.3f us",
                    samples[fit.worst].name.c_str(), samples[fit.worst].seconds * 1e6,
                    fit.seconds(samples[fit.worst]) * 1e6);
    std::printf("\n");
}

void printText(const Calibration& found) {
    std::printf("%s, %s\n", found.profile.name.c_str(), oneLine(found.profile.device.name).c_str());
    for (const LinkFit& link : found.links) {
        std::printf("collectives of %d threads: a = %.3f us, B = %.2f GB/s\n", link.devices,
                    link.latency * 1e6, link.bandwidth / 1e9);
        printResidual(link.samples, link.fit);
    }
    for (const KernelFit& kernel : found.kernels) {
        std::printf("%s: %.2f %s, %.2f us a call\n", kernel.name.c_str(), kernel.perSecond / 1e9,
                    kernel.name.starts_with("MatMul") ? "GFLOP/s" : "GB/s", kernel.overhead * 1e6);
        printResidual(kernel.samples, kernel.fit);
    }
}

}  // namespace

int calibrate(const CalibrateArguments& arguments) {
    CalibrationOptions options;
    options.quick = arguments.quick;
    if (!arguments.devices.empty())
        options.deviceCounts = arguments.devices;
    std::sort(options.deviceCounts.begin(), options.deviceCounts.end());
    options.deviceCounts.erase(
        std::unique(options.deviceCounts.begin(), options.deviceCounts.end()),
        options.deviceCounts.end());
    const auto path = OrtRuntime::find();
    if (!path)
        return fail(path.error());
    const auto runtime = OrtRuntime::load(*path);
    if (!runtime)
        return fail(runtime.error());
    options.makeEngine = [&] { return makeOrtEngine(*runtime, {}); };
    options.makeCommunicators = [](int devices) { return makeThreadCommunicators(devices); };
    const auto found = shardwright::calibrate(options);
    if (!found) {
        fail(found.error());
        return kModelErrors;
    }
    for (const std::string& what : found->leftOut)
        std::cerr << "warning: not usable, left out of the profile: " << what << "\n";
    const bool usable = !found->profile.links.empty();
    if (!usable)
        fail({"this machine was too busy to be measured; try again when it has nothing else to do" +
                  std::string(arguments.quick ? ", or without --quick" : ""),
              "calibrate"});
    if (usable && !arguments.output.empty()) {
        std::ofstream file(arguments.output, std::ios::binary);
        file << found->profile.text();
        file.close();
        if (!file)
            return fail({"the profile cannot be written", arguments.output});
    }
    if (arguments.format == Format::Json)
        std::cout << calibrationJson(*found).dump(2, ' ', false, Json::error_handler_t::replace)
                  << "\n";
    else
        printText(*found);
    return usable ? kOk : kModelErrors;
}

}  // namespace shardwright::cli
