// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardwright {

/// What a run of a plan needs in this process beside what is there already, in bytes.
struct MemoryNeed {
    /// By device: its own weights, the tensors between and within its segments that are alive at
    /// once, and its messages. What kernels take for themselves is not known.
    std::vector<std::int64_t> devices;
    std::int64_t shared = 0;   ///< Weights that several segments read, and what is packed of them.
    std::int64_t inputs = 0;   ///< Whole graph inputs, before they are cut.
    std::int64_t loading = 0;  ///< Second copies of what sessions load while they are made.
    std::int64_t total() const;
    /// Of a process that runs this device and no other.
    std::int64_t ofDevice(DeviceId device) const;
};
/// With `sharing` weights that several sessions read are there once.
MemoryNeed predictMemory(const Plan& plan, bool sharing);

/// Bytes that this process can still get: of the machine, or of its control group where that is
/// less. Nothing where the system does not say.
std::optional<std::int64_t> availableMemory();
/// Of a run by several processes, as the launcher says; 1 where it does not.
int processesOnThisHost();
/// Bytes of this process in memory: now, and at most so far.
std::int64_t residentMemory();
std::int64_t peakResidentMemory();

}  // namespace shardwright
