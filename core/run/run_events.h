// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// What goes between shardwright-worker and who started it, as plain values: no protobuf, nothing of
// the model. On the wire it is events.proto; each message is preceded by its length as a varint.

namespace shardwright {

enum class VerifyMode { None, Outputs, All };
/// What connects the devices: memory of one process with a thread a device, MPI with a process a
/// device, NCCL with a GPU a device.
enum class Transport { Threads, Mpi, Nccl };
enum class Backend { Cpu, Cuda };  ///< Whose kernels, and whose memory.

struct RunRequest {
    std::string modelPath;  ///< Also the folder of external data where the model is given as bytes.
    std::string modelBytes;  ///< An annotated ModelProto; empty: modelPath is read.
    std::string configuration;
    bool strictProfile = false;
    std::map<std::string, std::int64_t> bindings;
    std::int64_t bindingFallback = 8;
    std::uint64_t seed = 1;
    std::string inputsPath;  ///< .npz or a folder of input_K.pb; empty: random.
    VerifyMode verify = VerifyMode::None;
    double tolerance = -1;  ///< Relative to the largest value; below 0: by type and length of sums.
    int warmups = 1, repeats = 1;
    std::string tracePath;
    std::string saveShardsFolder;
    std::vector<std::string>
        observe;  ///< Tensors whose shards are wanted as events, beside the outputs.
    std::int64_t maxShardValues = 4096;
    double timeLimitSeconds = 0;
    /// A process that gives no sign of life for so long counts as hung, whatever it does; 0: never.
    double silenceLimitSeconds = 20;
    bool optimise = true;  ///< False: graphs are run as they are, without ONNX Runtime's rewriting.
    int intraOpThreads = 1;
    std::string rules;      ///< Rules of the user's own, as text (docs/user-rules.md).
    std::string rulesName;  ///< Where they are from, for messages.
    Transport transport = Transport::Threads;
    Backend backend = Backend::Cpu;
    bool ignoreMemory = false;  ///< Run what does not fit into the machine's memory, too.
    bool profile = false;       ///< Times of operators, from ONNX Runtime's profiler.
    std::string hardware;       ///< Text of a hardware profile; empty: nothing is predicted.
    std::string hardwareName;   ///< Where it is from, for messages.
};

enum class RunStage { Load, Analyse, Lower, Inputs, Run, Reference, Verify, Save };
std::string runStageName(RunStage stage);  ///< "load", ...

struct RunLog {
    std::string message;
};
struct RunProgress {
    RunStage stage = RunStage::Load;
    double share = 0;  ///< Of this stage, 0 to 1.
};
struct RunPlace {  ///< A node: {name, index, scope}.
    std::string name;
    int index = -1;
    std::string scope;
    bool operator==(const RunPlace&) const = default;
};

struct RunDeviceTiming {
    int device = -1;
    double prepareMs = 0, computeMs = 0, communicationMs = 0, waitingMs = 0;
    std::int64_t peakBytes = 0;
    std::int64_t predictedBytes = 0;  ///< Of its own weights and tensors, before the run.
    bool operator==(const RunDeviceTiming&) const = default;
};
/// One segment of one device; times in microseconds since the start of the last pass.
struct RunSegmentTiming {
    int device = -1, phase = 0;
    int nodeCount = 0;
    RunPlace firstNode;
    double beginUs = 0, durationUs = 0;
    bool operator==(const RunSegmentTiming&) const = default;
};
/// One device's part of one group operation.
struct RunExchangeTiming {
    int device = -1, phase = 0;
    std::string kind, tensor;
    RunPlace node;
    std::vector<int> devices;
    std::int64_t bytes = 0;
    double beginUs = 0, durationUs = 0, waitingUs = 0;
    bool operator==(const RunExchangeTiming&) const = default;
};

/// What a device's weights and tensors take, while it runs.
struct RunMemory {
    int device = -1;
    std::int64_t bytes = 0, peakBytes = 0;
    std::int64_t predictedBytes = 0;  ///< As in RunDeviceTiming.
    bool operator==(const RunMemory&) const = default;
};

/// One group operation of the last pass.
struct RunCollective {
    std::string kind, tensor;
    RunPlace node;
    std::vector<int> devices;
    std::int64_t bytes = 0;  ///< As in a communication entry.
    int phase = 0;
    double measuredUs = 0;  ///< From when the last device came until the last one was done.
    double waitingUs = 0;   ///< Of the device that waited longest.
    /// What one device sends by the ring formula, by measuredUs: comparable with a link's.
    double bytesPerSecond = 0;
    double predictedUs = -1;  ///< Below 0: without a hardware profile.
    std::string cost;         ///< How that was found: formula and numbers.
    bool operator==(const RunCollective&) const = default;
};

/// One kernel of one device.
struct RunOperator {
    int device = -1, phase = 0;
    RunPlace node;           ///< Of the model; without index where ONNX Runtime put it in.
    std::string op, kernel;  ///< Operator and name of the kernel's node in the optimised graph.
    int calls = 0;           ///< Without those of warm-up passes.
    double medianUs = 0;     ///< Of a call; the profiler has whole microseconds.
    double totalUs = 0;      ///< Of these calls.
    bool operator==(const RunOperator&) const = default;
};

/// What one device holds of one tensor.
struct RunShard {
    std::string tensor;
    bool output = false;  ///< Of the graph; else an observed tensor.
    int device = -1;
    std::int32_t elementType = 0;
    std::vector<std::int64_t> shape;  ///< Of the whole tensor.
    /// Per dimension of it, half-open index intervals.
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> box;
    std::vector<std::int64_t> dims;                    ///< Of the shard.
    double min = 0, max = 0, mean = 0, deviation = 0;  ///< Of the finite elements.
    std::int64_t notFinite = 0;
    std::vector<double> values;  ///< The first ones, row-major.
    bool operator==(const RunShard&) const = default;
};

struct RunTensorCheck {
    std::string name;
    double maxAbs = 0, maxRel = 0, tolerance = 0;
    bool agrees = false;
    std::string note;
    /// It differs, but its node is right: this tensor, from which it is computed, is wrong. Else
    /// empty.
    std::string becauseOf{};
    bool operator==(const RunTensorCheck&) const = default;
};
struct RunDivergence {
    RunTensorCheck check;
    RunPlace node;
    std::string op, layout;
    /// Group operations of the node, "all-reduce of `y` on devices 0, 1; ..."; empty: none.
    std::string collectives{};
    bool operator==(const RunDivergence&) const = default;
};
struct RunKindTotal {
    std::int64_t count = 0, bytes = 0;
    bool operator==(const RunKindTotal&) const = default;
};

/// Everything of a finished run that is worth a line.
struct RunReport {
    std::optional<bool> verified;         ///< Nothing: not asked for.
    std::vector<RunTensorCheck> outputs;  ///< Without verification, names only.
    std::vector<RunTensorCheck> tensors;  ///< Of --verify=all.
    std::optional<RunDivergence> firstDivergent;
    std::vector<RunDeviceTiming> devices;
    std::map<std::string, RunKindTotal> predicted, executed;
    double wallMs = 0, referenceWallMs = 0;
    double startMs = 0;  ///< From the request until the first kernel.
    std::vector<double> passesMs;
    std::map<std::string, std::int64_t> bindings;  ///< Sizes that symbolic dimensions got.
    std::string configuration, mesh, kernels;      ///< kernels: "ONNX Runtime 1.32.0, CPU".
    std::string transport;                         ///< "threads", "Open MPI v4.1.4".
    std::uint64_t seed = 0;
    bool randomInputs = true;
    /// Of the process that runs (of several, the one that had most): what it was to need at most
    /// before it ran, what it could get, and what it had in memory at most.
    std::int64_t predictedBytes = 0, availableBytes = 0, peakResidentBytes = 0;
    std::vector<RunCollective> collectives;
    std::vector<RunOperator> operators;
    std::string hardware;  ///< Name of the profile that predicted.
    bool operator==(const RunReport&) const = default;
};

/// Group operations of one device, one after the other: the largest sum of any device.
struct CollectiveTotals {
    double predictedUs = 0, measuredUs = 0;
};
CollectiveTotals collectiveTotals(const RunReport& report);

struct RunFailure {
    enum class Kind {
        Usage,       ///< An input cannot be read or does not fit.
        ModelError,  ///< The model has errors.
        Failed,      ///< Kernels, memory, time limit, a crash.
        Cancelled,
        Memory,  ///< It needs more memory than is available; nothing was started.
    };
    Kind kind = Kind::Failed;
    std::string message, place;
    std::int64_t neededBytes = 0, availableBytes = 0;  ///< Of Kind::Memory.
    bool operator==(const RunFailure&) const = default;
};

/// The last event of a run is a RunReport or a RunFailure.
using RunEvent =
    std::variant<RunLog, RunProgress, RunDeviceTiming, RunSegmentTiming, RunExchangeTiming,
                 RunShard, RunTensorCheck, RunReport, RunFailure, RunMemory>;

std::string encodeRequest(const RunRequest& request);
/// One message without its length.
Result<RunRequest> decodeRequest(std::string_view message);
std::string encodeEvent(const RunEvent& event);

/// Takes bytes as they come and gives the events that are complete.
class EventParser {
public:
    /// Errors: what came is not from a worker. Every later call fails, too.
    Result<std::vector<RunEvent>> feed(std::string_view bytes);
    /// Whether the last bytes are a part of an event only.
    bool partial() const { return !m_rest.empty(); }

private:
    std::string m_rest;
    bool m_broken = false;
};

/// Cuts a length-delimited message off the front of `bytes`. Nothing: it is not complete. Error:
/// the length is absurd.
Result<std::optional<std::string_view>> takeMessage(std::string_view& bytes);

}  // namespace shardwright
