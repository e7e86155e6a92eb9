// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/result.h"
#include "sharding/layout.h"
#include "sharding/mesh.h"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shardwright {

/// One kind of connection between devices.
struct HardwareLink {
    std::string name;
    /// Mesh axes that it is the link of. Empty: it is the link inside of a block of devices.
    std::vector<std::string> axes;
    /// Size of the blocks of consecutive devices that it connects (a machine's GPUs); 0: all.
    int devices = 0;
    double latency = 0;    ///< Seconds; `a` of the formulas.
    double bandwidth = 0;  ///< Bytes a second, one direction, of one device; `B` of the formulas.
    std::string source;    ///< Where the numbers are from.
    bool operator==(const HardwareLink&) const = default;
};

/// Speed and size of one device.
struct HardwareDevice {
    std::string name;
    /// Floating-point (or integer) operations a second by element type: a multiply-add is two.
    std::map<std::int32_t, double> flops;
    double memoryBandwidth = 0;    ///< Bytes a second; 0: not known.
    std::int64_t memoryBytes = 0;  ///< 0: not known.
    std::string source;
    bool operator==(const HardwareDevice&) const = default;
};

/// What is known of the machines that a model is to run on (docs/hardware-profiles.md).
struct HardwareProfile {
    std::string name;
    std::string source;
    HardwareDevice device;
    /// Links of blocks ascend by their size; the last one connects all.
    std::vector<HardwareLink> links;

    /// Errors: what is wrong with which field, and its line. `place` is the file, for messages.
    static Result<HardwareProfile> parse(std::string_view text, const std::string& place);
    static Result<HardwareProfile> load(const std::filesystem::path& path);
    std::string text() const;  ///< As parse() reads it.
    bool operator==(const HardwareProfile&) const = default;
};

/// The links that a group of devices spans as one: latency of the slowest, bandwidth of the
/// narrowest.
struct SpannedLink {
    double latency = 0, bandwidth = 0;
    std::string name;  ///< Of the narrowest one.
};
/// An axis that a link names goes over that link; all else over the blocks' links.
SpannedLink spannedLink(const HardwareProfile& profile, const Mesh& mesh,
                        const DeviceGroup& devices);

}  // namespace shardwright
