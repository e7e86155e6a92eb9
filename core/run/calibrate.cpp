// SPDX-License-Identifier: Apache-2.0
#include "run/calibrate.h"

#include <onnx/onnx_pb.h>

#include <unistd.h>

#include <fstream>
#include <thread>

namespace shardwright {

namespace {

std::string processorName() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name"))
            if (const auto colon = line.find(": "); colon != std::string::npos)
                return line.substr(colon + 2);
    return "unknown processor";
}

std::string residualText(const LinearFit& fit, std::size_t samples) {
    if (!fit.hasResidual)
        return "least squares of " + std::to_string(samples) + " measurements";
    char text[96];
    std::snprintf(text, sizeof text, "least squares of %zu measurements, residual %.0f %%", samples,
                  fit.residual * 100);
    return text;
}

/// Numbers that say nothing are not written as if they were measured.
HardwareProfile profileOf(Calibration& found) {
    HardwareProfile profile;
    const unsigned cores = std::thread::hardware_concurrency();
    profile.name = "this machine, " + std::to_string(cores) + (cores == 1 ? " core" : " cores");
    profile.source = "shardwright-cli calibrate, transport threads";
    HardwareDevice& device = profile.device;
    device.name = "one thread of " + processorName();
    for (const KernelFit& kernel : found.kernels) {
        if (const std::string why = uselessness(kernel.fit); !why.empty()) {
            found.leftOut.push_back(kernel.name + ": " + why);
            continue;
        }
        if (kernel.name == "MatMul, float")
            device.flops[onnx::TensorProto::FLOAT] = kernel.perSecond;
        else if (kernel.name == "MatMul, double")
            device.flops[onnx::TensorProto::DOUBLE] = kernel.perSecond;
        else
            device.memoryBandwidth = kernel.perSecond;
        device.source += (device.source.empty() ? "" : "; ") + kernel.name + ": " +
                         residualText(kernel.fit, kernel.samples.size());
    }
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0)
        device.memoryBytes = static_cast<std::int64_t>(pages) * page;
    for (std::size_t i = 0; i < found.links.size(); ++i) {
        const LinkFit& fit = found.links[i];
        HardwareLink link;
        link.name = "shared memory, " + std::to_string(fit.devices) + " threads";
        std::string why = uselessness(fit.fit);
        if (why.empty() && fit.fit.constant <= 0)
            why = "small tensors take no time";
        if (!why.empty()) {
            found.leftOut.push_back("collectives of " + std::to_string(fit.devices) +
                                    " threads: " + why);
            continue;
        }
        link.devices = fit.devices;
        link.latency = fit.latency;
        link.bandwidth = fit.bandwidth;
        link.source = residualText(fit.fit, fit.samples.size());
        profile.links.push_back(std::move(link));
    }
    if (!profile.links.empty())
        profile.links.back().devices = 0;  // The last one connects all.
    return profile;
}

}  // namespace

Result<Calibration> calibrate(const CalibrationOptions& options, const CancelToken& cancel) {
    Calibration found;
    for (const int devices : options.deviceCounts) {
        auto samples = measureCollectives(options, devices, cancel);
        if (!samples)
            return samples.error();
        found.links.push_back(fitLink(*samples));
    }
    auto kernels = measureKernels(options, cancel);
    if (!kernels)
        return kernels.error();
    found.kernels = std::move(*kernels);
    found.profile = profileOf(found);
    return found;
}

}  // namespace shardwright
