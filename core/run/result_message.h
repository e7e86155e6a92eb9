// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/executor.h"

#include <string>
#include <string_view>

namespace shardwright {

/// What one process of several has of a run's result, as bytes for process 0: the data of pieces as
/// they lie, since protobuf has no messages above 2 GB. Both sides are the same program on the same
/// kind of machine.
std::string encodeResult(const RunResult& part);

/// Adds another process's part of the same plan. Error: it is not a part of the same plan.
Result<void> addResult(RunResult& whole, std::string_view part);

/// The median of all passes, each of which is as long as its slowest process.
void finishResult(RunResult& whole);

}  // namespace shardwright
