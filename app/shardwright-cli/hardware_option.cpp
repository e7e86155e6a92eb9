// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include <filesystem>

namespace shardwright::cli {

Result<std::optional<HardwareProfile>> hardwareProfile(const Common& common) {
    if (common.hardware.empty())
        return std::optional<HardwareProfile>();
    std::filesystem::path path = common.hardware;
    std::error_code error;
    if (!std::filesystem::exists(path, error) && !path.has_parent_path()) {
        const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
        const auto folder =
            program.parent_path().parent_path() / "share/shardwright/hardware-profiles";
        const auto installed = folder / (common.hardware + ".json");
        if (std::filesystem::exists(installed, error)) {
            path = installed;
        } else {
            std::string names;
            for (const auto& entry : std::filesystem::directory_iterator(folder, error))
                if (entry.path().extension() == ".json")
                    names += (names.empty() ? "" : ", ") + entry.path().stem().string();
            return Error{"there is no such file, and no installed profile of that name (" +
                             (names.empty() ? "none is installed" : names) + ")",
                         "--hardware " + common.hardware};
        }
    }
    auto profile = HardwareProfile::load(path);
    if (!profile)
        return profile.error();
    return std::optional<HardwareProfile>(std::move(*profile));
}

}  // namespace shardwright::cli
