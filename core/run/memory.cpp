// SPDX-License-Identifier: Apache-2.0
#include "run/memory.h"

#include "model/shapes.h"
#include "run/life_times.h"
#include "run/weight_store.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

namespace shardwright {

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// Sizes come from files: a sum stays at the largest number.
std::int64_t plus(std::int64_t a, std::int64_t b) {
    return a > kMost - b ? kMost : a + b;
}

std::int64_t bytesOf(const LocalTensor& tensor) {
    return std::max<std::int64_t>(0, storageBytes(tensor.elementType, tensor.box.count()));
}

/// ONNX Runtime's optimiser lays the weights of two-dimensional convolutions out anew, in blocks of
/// channels: that is a further tensor, first of the graph, then of the session.
bool isLaidOut(const Weight& weight) {
    return weight.dims.size() == 4;
}

/// Copies that are there only while a session is made, beside what stays: what was read from the
/// file (of shared weights it stays), and what the graph has of it.
std::int64_t whileLoading(const Weight& weight, bool shared) {
    const int copies = !isLaidOut(weight) ? 1 : shared ? 2 : 3;
    std::int64_t bytes = 0;
    for (int i = 0; i < copies; ++i)
        bytes = plus(bytes, weight.bytes);
    return bytes;
}

std::int64_t workOf(const DeviceProgram& program, int step) {
    for (const Segment& segment : program.segments)
        if (stepOf(segment.phase,
                   segment.besideExchanges ? StepKind::Exchange : StepKind::Segment) == step)
            return segment.workBytes;
    return 0;
}

/// Tensors of a device that are alive at once.
std::int64_t mostAlive(const Plan& plan, const DeviceProgram& program) {
    const LifeTimes times = lifeTimes(plan, program);
    std::vector<std::vector<std::size_t>> begin(static_cast<std::size_t>(times.steps) + 1),
        end(static_cast<std::size_t>(times.steps) + 1);
    std::int64_t alive = 0;
    for (std::size_t i = 0; i < program.tensors.size(); ++i) {
        if (times.isInput[i]) {
            alive = plus(alive, bytesOf(program.tensors[i]));
            continue;
        }
        if (times.first[i] < 0)
            continue;
        begin[static_cast<std::size_t>(times.first[i])].push_back(i);
        if (!times.isKept[i])
            end[static_cast<std::size_t>(times.last[i])].push_back(i);
    }
    std::int64_t most = alive;
    for (int step = 0; step < times.steps; ++step) {
        for (const std::size_t i : begin[static_cast<std::size_t>(step)])
            alive = plus(alive, bytesOf(program.tensors[i]));
        most = std::max(most, plus(alive, workOf(program, step)));
        for (const std::size_t i : end[static_cast<std::size_t>(step)])
            alive -= alive == kMost ? 0 : bytesOf(program.tensors[i]);
    }
    return most;
}

/// Room to pack and to receive all exchanges of a phase.
std::int64_t messages(const Plan& plan, const DeviceProgram& program) {
    std::int64_t most = 0;
    for (const auto& exchanges : plan.exchanges) {
        std::int64_t bytes = 0;
        for (const Exchange& exchange : exchanges) {
            const DeviceGroup& devices = exchange.operation.devices;
            const auto found = std::lower_bound(devices.begin(), devices.end(), program.device);
            if (found == devices.end() || *found != program.device)
                continue;
            const auto rank = static_cast<std::size_t>(found - devices.begin());
            for (const auto& tensors : {exchange.sources[rank], exchange.targets[rank]})
                for (const int index : tensors)
                    bytes = plus(bytes, bytesOf(program.tensors[static_cast<std::size_t>(index)]));
        }
        most = std::max(most, bytes);
    }
    return most;
}

/// A number of bytes or kilobytes behind a word of a file of the system.
std::optional<std::int64_t> numberIn(const char* file, const std::string& word, std::int64_t unit) {
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
        if (line.rfind(word, 0) != 0)
            continue;
        std::istringstream rest(line.substr(word.size()));
        std::int64_t number = 0;
        if (rest >> number)
            return number > kMost / unit ? kMost : number * unit;
    }
    return std::nullopt;
}

/// What is left of a control group's limit; its cached files can go.
std::optional<std::int64_t> leftInGroup(const char* limit, const char* current, const char* stat,
                                        const char* cached) {
    const auto most = numberIn(limit, "", 1), used = numberIn(current, "", 1);
    if (!most || !used)
        return std::nullopt;
    return std::max<std::int64_t>(0, *most - *used + numberIn(stat, cached, 1).value_or(0));
}

}  // namespace

std::int64_t MemoryNeed::total() const {
    std::int64_t sum = plus(plus(shared, inputs), loading);
    for (const std::int64_t device : devices)
        sum = plus(sum, device);
    return sum;
}

std::int64_t MemoryNeed::ofDevice(DeviceId device) const {
    return plus(plus(shared, inputs), plus(loading, devices[static_cast<std::size_t>(device)]));
}

MemoryNeed predictMemory(const Plan& plan, bool sharing) {
    MemoryNeed need;
    const auto shares = [&](const Weight& weight) { return sharing && weight.uses > 1; };
    // What is shared is there once as it is and once as kernels want it, packed; of convolutions
    // each session has what its optimiser made.
    for (const Weight& weight : plan.weights)
        if (shares(weight))
            need.shared = plus(need.shared,
                               isLaidOut(weight) ? weight.bytes : plus(weight.bytes, weight.bytes));
    for (const Plan::Port& port : plan.inputs)
        need.inputs = plus(need.inputs,
                           std::max<std::int64_t>(
                               0, storageBytes(port.elementType, Box::whole(port.shape).count())));
    std::int64_t largestLoading = 0, largestBeside = 0, allBeside = 0;
    for (const DeviceProgram& program : plan.devices) {
        std::int64_t own = plus(mostAlive(plan, program), messages(plan, program));
        std::int64_t loading = 0;
        for (const Segment& segment : program.segments) {
            own = plus(own, static_cast<std::int64_t>(segment.modelBytes.size()));
            std::int64_t loaded = 0, largest = 0;
            for (const Segment::WeightUse& use : segment.weights) {
                const Weight& weight = plan.weights[static_cast<std::size_t>(use.weight)];
                loaded = plus(loaded, whileLoading(weight, shares(weight)));
                if (!shares(weight) || isLaidOut(weight))
                    own = plus(own, weight.bytes);
                if (!shares(weight))  // One at a time is packed before it is let go.
                    largest = std::max(largest, weight.bytes);
            }
            loading = std::max(loading, plus(loaded, largest));
        }
        // Large sessions are made one at a time, little ones by all devices at once.
        const std::int64_t beside = std::min(loading, 2 * kLargeSession);
        largestBeside = std::max(largestBeside, beside);
        largestLoading = std::max(largestLoading, loading);
        allBeside = plus(allBeside, beside);
        need.devices.push_back(own);
    }
    need.loading = plus(largestLoading, allBeside - largestBeside);
    return need;
}

std::optional<std::int64_t> availableMemory() {
    std::optional<std::int64_t> available = numberIn("/proc/meminfo", "MemAvailable:", 1024);
    const std::optional<std::int64_t> groups[] = {
        leftInGroup("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current",
                    "/sys/fs/cgroup/memory.stat", "inactive_file "),
        leftInGroup("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                    "/sys/fs/cgroup/memory/memory.usage_in_bytes",
                    "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file ")};
    for (const auto& group : groups)
        if (group && (!available || *group < *available))
            available = group;
    return available;
}

int processesOnThisHost() {
    const char* said = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    return said ? std::max(1, std::atoi(said)) : 1;
}

std::int64_t residentMemory() {
    return numberIn("/proc/self/status", "VmRSS:", 1024).value_or(0);
}
std::int64_t peakResidentMemory() {
    return numberIn("/proc/self/status", "VmHWM:", 1024).value_or(0);
}

}  // namespace shardwright
