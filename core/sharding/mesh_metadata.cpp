// SPDX-License-Identifier: Apache-2.0
#include "sharding/mesh_metadata.h"

#include "model/document.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace shardwright {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxDevice = (1 << 20) - 1;
constexpr std::size_t kMaxText = std::size_t{1}
                                 << 20;  // Far above any real entry; bounds hostile ones.

std::optional<int> parseNumber(std::string_view text) {
    int number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || end != text.data() + text.size() || number < 0)
        return std::nullopt;
    return number;
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    return text;
}

Result<std::map<int, DeviceGroup>> parseStages(const Json& stages) {
    if (!stages.is_object())
        return Error{"\"stages\" is not an object", {}};
    std::map<int, DeviceGroup> result;
    std::size_t total = 0;
    for (const auto& [key, value] : stages.items()) {
        const std::optional<int> stage = parseNumber(key);
        if (!stage)
            return Error{"'" + key + "' is not a stage number", {}};
        if (!value.is_string())
            return Error{"the devices of stage " + key + " are not a text such as \"0-3\"", {}};
        Result<DeviceGroup> devices = parseDevices(value.get_ref<const std::string&>());
        if (!devices)
            return Error{"stage " + key + ": " + devices.error().message, {}};
        total += devices->size();
        if (total > std::size_t{kMaxDevice} * 4)
            return Error{"the stages list too many devices", {}};
        result[*stage] = std::move(*devices);
    }
    return result;
}

}  // namespace

std::string meshMetadataKey(std::string_view configuration) {
    return std::string(kMetadataPrefix) + "mesh." + std::string(configuration);
}

Result<MeshMetadata> MeshMetadata::parse(std::string_view text) {
    const Json json =
        text.size() > kMaxText ? Json(Json::value_t::discarded) : Json::parse(text, nullptr, false);
    if (json.is_discarded())
        return Error{"not JSON", {}};
    if (!json.is_object())
        return Error{"not a JSON object", {}};
    MeshMetadata result;
    if (const auto found = json.find("mesh"); found != json.end()) {
        if (!found->is_string())
            return Error{"\"mesh\" is not a text such as \"dp=2,tp=4\"", {}};
        Result<Mesh> mesh = Mesh::parse(found->get_ref<const std::string&>());
        if (!mesh)
            return mesh.error();
        result.mesh = std::move(*mesh);
    }
    if (const auto found = json.find("stages"); found != json.end()) {
        auto stages = parseStages(*found);
        if (!stages)
            return stages.error();
        result.stages = std::move(*stages);
    }
    return result;
}

std::string MeshMetadata::text(std::string_view previous) const {
    Json json = previous.size() > kMaxText ? Json() : Json::parse(previous, nullptr, false);
    if (!json.is_object())
        json = Json::object();
    json.erase("mesh");
    json.erase("stages");
    if (mesh)
        json["mesh"] = mesh->text();
    for (const auto& [stage, devices] : stages)
        json["stages"][std::to_string(stage)] = devicesText(devices);
    // Replaces bytes that are not UTF-8 rather than throwing on what a file brought along.
    return json.empty() ? std::string() : json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<DeviceGroup> parseDevices(std::string_view text) {
    DeviceGroup devices;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t comma = std::min(text.find(',', begin), text.size());
        const std::string_view part = trimmed(text.substr(begin, comma - begin));
        begin = comma + 1;
        const std::size_t dash = part.find('-');
        const std::optional<int> first = parseNumber(part.substr(0, dash));
        const std::optional<int> last =
            dash == std::string_view::npos ? first : parseNumber(part.substr(dash + 1));
        if (!first || !last)
            return Error{"'" + std::string(part) + "' is not a device or a range such as 0-3", {}};
        if (*last < *first)
            return Error{"the range " + std::string(part) + " runs backwards", {}};
        if (*last > kMaxDevice)
            return Error{
                "device " + std::to_string(*last) + " is above " + std::to_string(kMaxDevice), {}};
        // Ranges are joined below; a text of many wide ranges must not grow without bound before
        // that.
        if (devices.size() > std::size_t{kMaxDevice} * 2)
            return Error{"too many devices are listed", {}};
        for (int device = *first; device <= *last; ++device)
            devices.push_back(device);
    }
    std::sort(devices.begin(), devices.end());
    devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
    return devices;
}

std::string devicesText(const DeviceGroup& devices) {
    std::string text;
    for (std::size_t i = 0; i < devices.size();) {
        std::size_t last = i;
        while (last + 1 < devices.size() && devices[last + 1] == devices[last] + 1)
            ++last;
        text += (text.empty() ? "" : ",") + std::to_string(devices[i]);
        if (last > i)
            text += (last > i + 1 ? "-" : ",") + std::to_string(devices[last]);
        i = last + 1;
    }
    return text;
}

}  // namespace shardwright
