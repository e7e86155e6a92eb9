// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/result.h"
#include "sharding/mesh.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace shardwright {

/// What our metadata entry of one configuration says. The text is a small JSON object,
/// {"mesh":"dp=2,tp=4","stages":{"0":"0-3","1":"4-7"}}; both members may be missing.
struct MeshMetadata {
    std::optional<Mesh> mesh;
    std::map<int, DeviceGroup> stages;

    /// Errors: not such an object, a bad mesh, a bad stage number or device list.
    static Result<MeshMetadata> parse(std::string_view text);
    /// The text with these values; members of `previous` that this program does not know stay.
    std::string text(std::string_view previous = {}) const;
};

/// `shardwright.mesh.<configuration>`
std::string meshMetadataKey(std::string_view configuration);

/// "0-3,5"; errors: syntax, negative or huge numbers, a range that runs backwards.
Result<DeviceGroup> parseDevices(std::string_view text);
std::string devicesText(const DeviceGroup& devices);

}  // namespace shardwright
