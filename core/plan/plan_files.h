// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/cancel.h"
#include "plan/plan.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace shardwright {

struct PlanFilesOptions {
    bool replace = false;  ///< An existing plan; anything else is never replaced.
    /// With more bytes of weights than this they are not in the models but in files beside them.
    std::int64_t mostInside = std::int64_t{64} << 20;
};

/// What is to be done with the models of a plan (docs/plans.md has the schema).
nlohmann::ordered_json planJson(const Plan& plan, const Analysis& analysis);
/// The file of a segment's model: "device_0_phase_3.onnx", "device_0_phase_3_beside.onnx".
std::string segmentFile(const Segment& segment);
/// Whether there is something in the segment for anybody: its file is written.
bool isWritten(const Segment& segment);

/// Writes a plan into a new folder: plan.json, a model for each segment, files of weights. The
/// folder is there with everything in it or not at all. Errors: it exists (and is no plan that may
/// be replaced), a weight cannot be read, the disk is full, cancelled.
Result<void> writePlan(const Plan& plan, const Analysis& analysis,
                       const std::filesystem::path& folder, const PlanFilesOptions& options = {},
                       const CancelToken& cancel = {});

}  // namespace shardwright
