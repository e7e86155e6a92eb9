// SPDX-License-Identifier: Apache-2.0
#include "comm/installed_profiles.h"

#include <algorithm>

namespace shardwright {

std::vector<std::filesystem::path> installedProfiles() {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    const auto folder = program.parent_path().parent_path() / "share/shardwright/hardware-profiles";
    std::vector<std::filesystem::path> profiles;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error))
        if (entry.path().extension() == ".json")
            profiles.push_back(entry.path());
    std::sort(profiles.begin(), profiles.end());
    return profiles;
}

}  // namespace shardwright
