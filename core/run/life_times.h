// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/plan.h"

#include <vector>

namespace shardwright {

/// Segment, copies and exchanges (with what runs beside them) of a phase are steps one after the
/// other.
enum class StepKind { Segment, Copy, Exchange };
inline int stepOf(int phase, StepKind kind) {
    return phase * 3 + static_cast<int>(kind);
}

/// When the local tensors of one device are in memory within a pass.
struct LifeTimes {
    std::vector<int> first, last;       ///< Steps, by local tensor; -1: nobody writes (reads) it.
    std::vector<bool> isInput, isKept;  ///< Those are there all the time; kept: for whoever reads
                                        ///< the result.
    int steps = 0;
};
LifeTimes lifeTimes(const Plan& plan, const DeviceProgram& program);

}  // namespace shardwright
