// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/report.h"
#include "model/result.h"

#include <string>
#include <vector>

namespace shardwright {

/// What one case of a conformance file came to.
struct ConformanceCase {
    enum class Status { Passed, Failed, Skipped };
    std::string id;
    Status status = Status::Passed;
    Json expected, found;  ///< What differs (Failed only).
    std::string note;      ///< Why it failed without a comparison, or why it was skipped.
};

struct ConformanceReport {
    std::string format;  ///< "paddle-spmd", "shardy", "ort-distributed".
    std::vector<ConformanceCase> cases;

    int count(ConformanceCase::Status status) const;
    Json json() const;
    std::string text() const;  ///< Failing ids with expected and found; then "N passed, M failed".
};

/// Runs every case of a file in one of the three schemas (docs/conformance.md). Each is built as a
/// one-node model and goes through the engine that models go through. Errors: not such a file.
Result<ConformanceReport> runConformance(const Json& file);

}  // namespace shardwright
