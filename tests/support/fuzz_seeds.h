// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <string>
#include <vector>

namespace shardwright::test {

/// Models for a fuzzer, which is the slower the larger they are: windows of `nodes` nodes with
/// what they read, without the elements of larger weights. Windows with the same operators are
/// taken once. Each has the annotations of the model; where it has none, some are made up.
std::vector<onnx::ModelProto> smallPieces(const onnx::ModelProto& model, int nodes);

/// The pieces of all shared models, of the example models and of a few that are built here: with
/// bodies, functions, external data, all kinds of annotations.
std::vector<onnx::ModelProto> seedModels(int nodes);

/// Writes those into a folder that is made anew, a few also in text format. Gives their number.
int writeSeedModels(const std::filesystem::path& folder, int nodes);
/// Writes texts into a folder that is made anew.
int writeSeeds(const std::filesystem::path& folder, const std::vector<std::string>& seeds);

}  // namespace shardwright::test
