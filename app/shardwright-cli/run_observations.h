// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/report.h"
#include "run/run_events.h"

namespace shardwright::cli {

// What a run tells of single collectives and operators.

/// `collectives`, and with a hardware profile `hardware`, `predicted_us` and `measured_us`; with
/// --operator-times `operators`.
void addObservations(Json& json, const RunReport& report);
void printObservations(const RunReport& report);

}  // namespace shardwright::cli
