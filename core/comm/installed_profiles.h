// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

namespace shardwright {

/// The hardware profiles that are installed with the program that asks
/// (../share/shardwright/hardware-profiles of its folder), by name.
std::vector<std::filesystem::path> installedProfiles();

}  // namespace shardwright
