// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/cancel.h"

#include <optional>
#include <string>
#include <vector>

namespace shardwright {

/// Runs a program found in PATH with `input` as its standard input and gives its standard output.
/// For worker threads: it waits. Nullopt: not installed, failed, over the time limit or cancelled
/// (then it is killed within 50 ms).
std::optional<std::string> runProgram(const std::vector<std::string>& command,
                                      const std::string& input, int milliseconds,
                                      const CancelToken& cancel);

}  // namespace shardwright
