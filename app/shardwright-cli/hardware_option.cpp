// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include "comm/installed_profiles.h"

#include <filesystem>

namespace shardwright::cli {

Result<std::optional<HardwareProfile>> hardwareProfile(const Common& common) {
    if (common.hardware.empty())
        return std::optional<HardwareProfile>();
    std::filesystem::path path = common.hardware;
    std::error_code error;
    if (!std::filesystem::exists(path, error) && !path.has_parent_path()) {
        std::string names;
        for (const auto& installed : installedProfiles()) {
            const std::string name = installed.stem().string();
            if (name == common.hardware)
                path = installed;
            names += (names.empty() ? "" : ", ") + name;
        }
        if (!std::filesystem::exists(path, error))
            return Error{"there is no such file, and no installed profile of that name (" +
                             (names.empty() ? "none is installed" : names) + ")",
                         "--hardware " + common.hardware};
    }
    auto profile = HardwareProfile::load(path);
    if (!profile)
        return profile.error();
    return std::optional<HardwareProfile>(std::move(*profile));
}

}  // namespace shardwright::cli
