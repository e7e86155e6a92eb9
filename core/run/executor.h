// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/cancel.h"
#include "plan/plan.h"
#include "run/communicator.h"
#include "run/kernel_engine.h"
#include "run/string_pool.h"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shardwright {

/// Values of graph inputs by name, in host memory.
using InputSet = std::map<std::string, Buffer>;

struct Span;

struct RunOptions {
    int warmups = 1;  ///< Passes before the measured ones: they make the sessions and the buffers.
    int repeats = 1;
    double timeLimitSeconds = 0;  ///< 0: none.
    /// Kernels and memory of one device.
    std::function<std::unique_ptr<KernelEngine>(DeviceId)> makeEngine;
    /// What the strings of inputs say, and those of the engines; null: plans with strings are
    /// refused.
    std::shared_ptr<StringPool> strings;
    /// The devices that this process runs; empty: all. Only what these have is in the result.
    DeviceGroup devices;
    /// Connects the devices, one end a device, null for those of other processes; empty: threads of
    /// this process.
    std::function<std::vector<std::unique_ptr<Communicator>>(int devices)> makeCommunicators;
    /// Puts something between the executor and a device's communicator: tests inject faults with
    /// it.
    std::function<std::unique_ptr<Communicator>(std::unique_ptr<Communicator>)> decorate;
    /// Called now and then with the share of the work that is done, from the thread that called
    /// execute().
    std::function<void(double)> progress;
    /// Likewise with what each device did in the last pass, soon after it was done.
    std::function<void(const Span&)> span;
    /// Likewise with the bytes that a device's weights and tensors take now, and took at most.
    std::function<void(DeviceId, std::int64_t now, std::int64_t peak)> memory;
};

/// What a device did from `begin` for `duration`, in microseconds since the start of the last pass.
struct Span {
    enum class Kind { Segment, Copy, Exchange };
    Kind kind = Kind::Segment;
    DeviceId device = -1;
    int phase = 0;
    int index = 0;  ///< Within the device's segments, or the phase's exchanges.
    double begin = 0, duration = 0;
    double waiting = 0;      ///< Of `duration`: for other devices.
    std::int64_t bytes = 0;  ///< Of an exchange, as predicted.
};

struct DeviceTiming {
    DeviceId device = -1;
    double prepareMs = 0;  ///< Making sessions, in the first pass.
    double computeMs = 0, communicationMs = 0, waitingMs = 0;  ///< Of the last pass.
    /// Weights of all segments (as serialised) and the tensors between segments that were alive at
    /// once. What kernels need inside of a segment is not seen.
    std::int64_t peakBytes = 0;
};

struct RunResult {
    struct Piece {
        DeviceId device = -1;
        Box box;
        Buffer data;
    };
    struct Output {
        ValueId value;
        std::string name;
        std::int32_t elementType = 0;  ///< Of strings, pieces have numbers (StringPool).
        std::vector<std::int64_t> shape;
        std::vector<Piece> pieces;
    };
    std::vector<Output> outputs;   ///< One for each of the plan's outputs, in host memory.
    std::vector<Output> observed;  ///< Likewise of the plan's observed values.
    std::vector<Output> inputs;    ///< Likewise of the plan's inputs, as they were cut.
    std::vector<DeviceTiming> devices;
    CollectiveCounts executed;     ///< Of one pass, from the communicators alone.
    std::vector<Span> spans;       ///< Of the last pass.
    std::vector<double> passesMs;  ///< Measured passes.
    double wallMs = 0;             ///< Median of them.
    /// Of the first device that began one.
    std::chrono::steady_clock::time_point firstKernel =
        std::chrono::steady_clock::time_point::max();
};

/// The message of the error of a cancelled run.
inline constexpr const char* kCancelled = "cancelled";

/// Runs a plan, one thread a device of this process. Errors: an input is missing or has the wrong
/// type or shape (with what was found and expected), a kernel or a collective failed (with its
/// place), no memory, the time limit, kCancelled.
Result<RunResult> execute(const Plan& plan, const RunOptions& options, const InputSet& inputs,
                          const CancelToken& = {});

}  // namespace shardwright
