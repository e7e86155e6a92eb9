// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/hardware_profile.h"
#include "comm/reshard.h"
#include "model/cancel.h"
#include "run/communicator.h"
#include "run/kernel_engine.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shardwright {

/// seconds = intercept + slope * x, or with two coefficients: constant * a + variable * b.
struct FitSample {
    std::string name;  ///< "all-reduce of 4096 bytes"
    double constant = 1, variable = 0;
    double seconds = 0;
};
/// Least squares of the relative deviations, so that short and long times count alike. Neither
/// number is below 0.
struct LinearFit {
    double constant = 0, variable = 0;
    /// False with as many numbers as samples: these are met whatever they are.
    bool hasResidual = false;
    double residual = 0;    ///< Root mean square of the relative deviations.
    std::size_t worst = 0;  ///< The sample with the largest one.
    double seconds(const FitSample& sample) const {
        return sample.constant * constant + sample.variable * variable;
    }
};
/// Why the numbers say nothing about the machine (it had other work to do): one of them is at its
/// limit, or they are far from what was measured. Empty: they do, or nothing was measured.
std::string uselessness(const LinearFit& fit);
LinearFit fitLinear(const std::vector<FitSample>& samples);

/// One collective as it was measured.
struct CollectiveSample {
    CollectiveKind kind = CollectiveKind::AllReduce;
    int devices = 0;
    double bytes = 0;  ///< S, as in a communication entry.
    double seconds = 0;
};
/// Latency and bandwidth such that the formulas of comm/cost.h give what was measured.
struct LinkFit {
    int devices = 0;
    double latency = 0, bandwidth = 0;
    std::vector<FitSample> samples;
    LinearFit fit;
};
LinkFit fitLink(const std::vector<CollectiveSample>& samples);

struct CalibrationOptions {
    std::vector<int> deviceCounts{2, 4, 8};
    bool quick = false;  ///< Fewer sizes and repeats: about a second instead of several.
    std::function<std::vector<std::unique_ptr<Communicator>>(int devices)> makeCommunicators;
    std::function<std::unique_ptr<KernelEngine>()> makeEngine;
};

struct KernelFit {
    std::string name;      ///< "MatMul, float"
    double perSecond = 0;  ///< Operations or bytes.
    double overhead = 0;   ///< Seconds of a call that does nothing.
    std::vector<FitSample> samples;
    LinearFit fit;
};

struct Calibration {
    HardwareProfile profile;
    std::vector<LinkFit> links;  ///< One for each number of devices.
    std::vector<KernelFit> kernels;
    /// What was left out of the profile and why: "collectives of 2 threads: ...".
    std::vector<std::string> leftOut;
};

/// Measures collectives over sizes and numbers of devices, and kernels, on this machine. Errors: a
/// kernel or a collective failed, kCancelled.
Result<Calibration> calibrate(const CalibrationOptions& options, const CancelToken& cancel = {});

/// Times of collectives between `devices` devices of this machine.
Result<std::vector<CollectiveSample>> measureCollectives(const CalibrationOptions& options,
                                                         int devices, const CancelToken& cancel);
/// Times of kernels of one device.
Result<std::vector<KernelFit>> measureKernels(const CalibrationOptions& options,
                                              const CancelToken& cancel);

}  // namespace shardwright
