// SPDX-License-Identifier: Apache-2.0
#include "sharding/mesh.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace shardwright {

namespace {

constexpr int kMaxDevices = 1 << 20;

bool isAxisName(std::string_view name) {
    const auto letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    return !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
        return letter(c) || (c >= '0' && c <= '9');
    });
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    return text;
}

Result<MeshAxis> parseAxis(std::string_view part) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos)
        return Error{"'" + std::string(part) + "' is not AXIS=SIZE", "mesh"};
    const std::string_view name = trimmed(part.substr(0, equals));
    const std::string_view size = trimmed(part.substr(equals + 1));
    if (!isAxisName(name))
        return Error{"axis name '" + std::string(name) +
                         "' is not a letter or '_' followed by letters, digits or '_'",
                     "mesh"};
    MeshAxis axis{std::string(name), 0};
    const auto [end, failure] = std::from_chars(size.data(), size.data() + size.size(), axis.size);
    if (failure != std::errc() || end != size.data() + size.size() || axis.size < 1)
        return Error{"size '" + std::string(size) + "' of axis '" + axis.name +
                         "' is not a number of at least 1",
                     "mesh"};
    return axis;
}

}  // namespace

int Mesh::deviceCount() const {
    int count = 1;
    for (const MeshAxis& axis : axes)
        count *= axis.size;
    return count;
}

int Mesh::axisIndex(std::string_view name) const {
    for (std::size_t i = 0; i < axes.size(); ++i) {
        if (axes[i].name == name)
            return static_cast<int>(i);
    }
    return -1;
}

std::vector<int> Mesh::coordinates(DeviceId device) const {
    std::vector<int> result(axes.size());
    for (std::size_t i = axes.size(); i-- > 0;) {
        result[i] = device % axes[i].size;
        device /= axes[i].size;
    }
    return result;
}

DeviceId Mesh::device(const std::vector<int>& coordinates) const {
    DeviceId result = 0;
    for (std::size_t i = 0; i < axes.size(); ++i)
        result = result * axes[i].size + coordinates[i];
    return result;
}

std::string Mesh::text() const {
    std::string result;
    for (const MeshAxis& axis : axes)
        result += (result.empty() ? "" : ",") + axis.name + "=" + std::to_string(axis.size);
    return result;
}

Result<Mesh> Mesh::parse(std::string_view text) {
    if (trimmed(text).empty())
        return Error{"a mesh is written AXIS=SIZE[,AXIS=SIZE...], such as dp=2,tp=4; found nothing",
                     "mesh"};
    Mesh mesh;
    std::int64_t devices = 1;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t comma = std::min(text.find(',', begin), text.size());
        Result<MeshAxis> axis = parseAxis(text.substr(begin, comma - begin));
        if (!axis)
            return axis.error();
        if (mesh.axisIndex(axis->name) >= 0)
            return Error{"axis '" + axis->name + "' occurs twice", "mesh"};
        devices *= axis->size;
        if (devices > kMaxDevices)
            return Error{"a mesh has at most " + std::to_string(kMaxDevices) + " devices; '" +
                             std::string(text) + "' has more",
                         "mesh"};
        mesh.axes.push_back(std::move(*axis));
        begin = comma + 1;
    }
    return mesh;
}

std::optional<std::vector<int>> axesOfGroups(const Mesh& mesh,
                                             const std::vector<DeviceGroup>& groups) {
    std::optional<std::vector<int>> axes;
    for (const DeviceGroup& group : groups) {
        if (group.empty() || group.front() < 0 || group.back() >= mesh.deviceCount())
            return std::nullopt;
        const std::vector<int> first = mesh.coordinates(group.front());
        std::vector<bool> varies(mesh.axes.size(), false);
        for (const DeviceId device : group) {
            const std::vector<int> coordinates = mesh.coordinates(device);
            for (std::size_t i = 0; i < varies.size(); ++i)
                varies[i] = varies[i] || coordinates[i] != first[i];
        }
        std::vector<int> mine;
        std::size_t size = 1;
        for (std::size_t i = 0; i < varies.size(); ++i) {
            if (varies[i]) {
                mine.push_back(static_cast<int>(i));
                size *= static_cast<std::size_t>(mesh.axes[i].size);
            }
        }
        // The devices differ in these axes only, so being as many as their product makes them the
        // whole coset.
        if (size != group.size() || (axes && *axes != mine))
            return std::nullopt;
        axes = std::move(mine);
    }
    return axes;
}

}  // namespace shardwright
