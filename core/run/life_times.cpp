// SPDX-License-Identifier: Apache-2.0
#include "run/life_times.h"

#include <algorithm>

namespace shardwright {

LifeTimes lifeTimes(const Plan& plan, const DeviceProgram& program) {
    const std::size_t count = program.tensors.size();
    LifeTimes times{std::vector<int>(count, -1), std::vector<int>(count, -1),
                    std::vector<bool>(count), std::vector<bool>(count), plan.phases * 3};
    const auto reads = [&](const std::vector<int>& tensors, int step) {
        for (const int index : tensors)
            times.last[static_cast<std::size_t>(index)] =
                std::max(times.last[static_cast<std::size_t>(index)], step);
    };
    const auto writes = [&](const std::vector<int>& tensors, int step) {
        reads(tensors, step);
        for (const int index : tensors)
            if (int& first = times.first[static_cast<std::size_t>(index)]; first < 0)
                first = step;
    };
    for (const Segment& segment : program.segments) {
        const StepKind kind = segment.besideExchanges ? StepKind::Exchange : StepKind::Segment;
        reads(segment.inputs, stepOf(segment.phase, kind));
        writes(segment.outputs, stepOf(segment.phase, kind));
    }
    for (const DeviceProgram::LocalCopy& copy : program.copies) {
        reads(copy.sources, stepOf(copy.phase, StepKind::Copy));
        writes({copy.target}, stepOf(copy.phase, StepKind::Copy));
    }
    for (std::size_t phase = 0; phase < plan.exchanges.size(); ++phase)
        for (const Exchange& exchange : plan.exchanges[phase]) {
            const DeviceGroup& devices = exchange.operation.devices;
            const auto found = std::lower_bound(devices.begin(), devices.end(), program.device);
            if (found == devices.end() || *found != program.device)
                continue;
            const auto rank = static_cast<std::size_t>(found - devices.begin());
            const int step = stepOf(static_cast<int>(phase), StepKind::Exchange);
            reads(exchange.sources[rank], step);
            writes(exchange.targets[rank], step);
        }
    const auto device = static_cast<std::size_t>(&program - plan.devices.data());
    const auto mark = [&](const std::vector<Plan::Port>& ports, std::vector<bool>& marked) {
        for (const Plan::Port& port : ports)
            for (const int index : port.tensors[device])
                marked[static_cast<std::size_t>(index)] = true;
    };
    mark(plan.inputs, times.isInput);
    mark(plan.outputs, times.isKept);
    mark(plan.observed, times.isKept);
    return times;
}

}  // namespace shardwright
