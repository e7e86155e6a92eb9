// SPDX-License-Identifier: Apache-2.0
#include "comm/hardware_profile.h"

#include "comm/json_lines.h"
#include "model/shapes.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <optional>
#include <set>

namespace shardwright {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "shardwright-hardware";
constexpr int kVersion = 1;
constexpr std::size_t kMostBytes = 1 << 20;
constexpr int kElementTypes = 64;

/// ONNX's name in lower case: "float", "bfloat16", "float8e4m3fn".
std::string typeName(std::int32_t type) {
    std::string name = elementTypeName(type);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return name;
}
std::int32_t elementTypeOf(const std::string& name) {
    for (std::int32_t type = 1; type < kElementTypes; ++type)
        if (elementBits(type) > 0 && typeName(type) == name)
            return type;
    return 0;
}

/// Reads fields and keeps the first problem.
class Reader {
public:
    Reader(const Json& json, std::string_view text, std::string file)
        : m_json(json), m_text(text), m_file(std::move(file)) {}

    Result<HardwareProfile> read() {
        HardwareProfile profile;
        if (!m_json.is_object())
            return Error{"a hardware profile is a JSON object", m_file};
        allow(m_json, "", {"format", "version", "name", "source", "device", "links"});
        if (text(m_json, "", "format") != kFormat)
            fail("/format", std::string("must be \"") + kFormat + "\"");
        if (number(m_json, "", "version", true) != kVersion)
            fail("/version", "must be " + std::to_string(kVersion));
        profile.name = text(m_json, "", "name");
        profile.source = text(m_json, "", "source");
        readDevice(profile.device);
        readLinks(profile.links);
        if (m_problem)
            return *m_problem;
        return profile;
    }

private:
    void fail(const std::string& pointer, const std::string& what) {
        if (m_problem)
            return;
        const int line = jsonLineOf(m_text, pointer);
        std::string field = pointer.substr(std::min<std::size_t>(1, pointer.size()));
        std::replace(field.begin(), field.end(), '/', '.');
        m_problem = Error{"`" + field + "` " + what,
                          m_file + (line > 0 ? ":" + std::to_string(line) : std::string())};
    }

    void allow(const Json& object, const std::string& at, const std::set<std::string>& names) {
        for (const auto& [name, value] : object.items())
            if (!names.contains(name))
                fail(at + "/" + name, "is not a field of a hardware profile");
    }

    std::string text(const Json& object, const std::string& at, const char* name) {
        const auto it = object.find(name);
        if (it == object.end())
            return {};
        if (!it->is_string()) {
            fail(at + "/" + name, "must be a text");
            return {};
        }
        return it->get<std::string>();
    }

    /// Above 0, or 0 where the field is not there and need not be.
    double number(const Json& object, const std::string& at, const char* name, bool needed) {
        const auto it = object.find(name);
        if (it == object.end()) {
            if (needed)
                fail(at + "/" + name, "is missing");
            return 0;
        }
        const double value = it->is_number() ? it->get<double>() : 0;
        if (!(value > 0) || !std::isfinite(value) || value > 1e24) {
            fail(at + "/" + name, "must be a number above 0" +
                                      (it->is_number() ? ", found " + it->dump() : std::string()));
            return 0;
        }
        return value;
    }

    /// A count up to `most`.
    std::int64_t count(const Json& object, const std::string& at, const char* name, double most) {
        const double value = number(object, at, name, false);
        if (value != std::floor(value) || value > most) {
            fail(at + "/" + name,
                 "must be a whole number up to " + std::to_string(static_cast<std::int64_t>(most)));
            return 0;
        }
        return static_cast<std::int64_t>(value);
    }

    void readDevice(HardwareDevice& device) {
        const auto it = m_json.find("device");
        if (it == m_json.end())
            return;
        const std::string at = "/device";
        if (!it->is_object())
            return fail(at, "must be an object");
        allow(*it, at,
              {"name", "flops_per_second", "memory_bytes_per_second", "memory_bytes", "source"});
        device.name = text(*it, at, "name");
        device.source = text(*it, at, "source");
        device.memoryBandwidth = number(*it, at, "memory_bytes_per_second", false);
        device.memoryBytes = count(*it, at, "memory_bytes", 1e18);
        const auto flops = it->find("flops_per_second");
        if (flops == it->end())
            return;
        if (!flops->is_object())
            return fail(at + "/flops_per_second", "must be an object: element type to number");
        for (const auto& [name, value] : flops->items()) {
            const std::int32_t type = elementTypeOf(name);
            if (type == 0)
                fail(at + "/flops_per_second/" + name,
                     "is not an element type (float, float16, bfloat16, int8, ...)");
            device.flops[type] = number(*flops, at + "/flops_per_second", name.c_str(), true);
        }
    }

    void readLinks(std::vector<HardwareLink>& links) {
        const auto it = m_json.find("links");
        if (it == m_json.end() || !it->is_array() || it->empty())
            return fail("/links", "must be a list of at least one link");
        int block = 0;
        bool all = false;
        for (std::size_t i = 0; i < it->size(); ++i) {
            const Json& json = (*it)[i];
            const std::string at = "/links/" + std::to_string(i);
            if (!json.is_object())
                return fail(at, "must be an object");
            allow(json, at,
                  {"name", "axes", "devices", "latency_us", "bytes_per_second", "source"});
            HardwareLink& link = links.emplace_back();
            link.name = text(json, at, "name");
            link.source = text(json, at, "source");
            link.latency = number(json, at, "latency_us", true) * 1e-6;
            link.bandwidth = number(json, at, "bytes_per_second", true);
            link.devices = static_cast<int>(count(json, at, "devices", 1 << 20));
            readAxes(json, at, link);
            if (!link.axes.empty())
                continue;
            if (all || (link.devices > 0 && link.devices <= block))
                fail(at + "/devices", "must be larger than in the link before it; a link without "
                                      "it connects all devices and is the last one");
            block = link.devices;
            all = block == 0;
        }
        if (!all)
            fail("/links", "must end with a link that has neither `axes` nor `devices`: the one "
                           "that connects all devices");
    }

    void readAxes(const Json& json, const std::string& at, HardwareLink& link) {
        const auto axes = json.find("axes");
        if (axes == json.end())
            return;
        if (!axes->is_array() || axes->empty())
            return fail(at + "/axes", "must be a list of names of mesh axes");
        if (link.devices > 0)
            return fail(at + "/axes", "and `devices` exclude each other");
        for (const Json& axis : *axes) {
            if (!axis.is_string())
                return fail(at + "/axes", "must be a list of names of mesh axes");
            link.axes.push_back(axis.get<std::string>());
        }
    }

    const Json& m_json;
    const std::string_view m_text;
    const std::string m_file;
    std::optional<Error> m_problem;
};

/// Whether two devices of the group are in one block of `outer` and in different ones of `inner`.
bool spansBlocks(const DeviceGroup& devices, int inner, int outer) {
    // Ascending, so blocks lie one after the other.
    for (std::size_t i = 1; i < devices.size(); ++i) {
        const DeviceId a = devices[i - 1], b = devices[i];
        if (a / inner != b / inner && (outer == 0 || a / outer == b / outer))
            return true;
    }
    return false;
}

}  // namespace

Result<HardwareProfile> HardwareProfile::parse(std::string_view text, const std::string& place) {
    int line = 0;
    const auto json = parseJsonWithLine(text, line);
    if (!json)
        return Error{"this is not JSON", place + ":" + std::to_string(line)};
    return Reader(*json, text, place).read();
}

Result<HardwareProfile> HardwareProfile::load(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text(kMostBytes + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.gcount() == 0)
        return Error{"the hardware profile cannot be read", path.string()};
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMostBytes)
        return Error{"a hardware profile has up to 1 MiB", path.string()};
    return parse(text, path.string());
}

std::string HardwareProfile::text() const {
    Json json{{"format", kFormat}, {"version", kVersion}, {"name", name}};
    if (!source.empty())
        json["source"] = source;
    Json own = Json::object();
    if (!device.name.empty())
        own["name"] = device.name;
    for (const auto& [type, flops] : device.flops)
        own["flops_per_second"][typeName(type)] = flops;
    if (device.memoryBandwidth > 0)
        own["memory_bytes_per_second"] = device.memoryBandwidth;
    if (device.memoryBytes > 0)
        own["memory_bytes"] = device.memoryBytes;
    if (!device.source.empty())
        own["source"] = device.source;
    if (!own.empty())
        json["device"] = std::move(own);
    Json list = Json::array();
    for (const HardwareLink& link : links) {
        Json one{{"name", link.name}};
        if (!link.axes.empty())
            one["axes"] = link.axes;
        if (link.devices > 0)
            one["devices"] = link.devices;
        one["latency_us"] = link.latency * 1e6;
        one["bytes_per_second"] = link.bandwidth;
        if (!link.source.empty())
            one["source"] = link.source;
        list.push_back(std::move(one));
    }
    json["links"] = std::move(list);
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

SpannedLink spannedLink(const HardwareProfile& profile, const Mesh& mesh,
                        const DeviceGroup& devices) {
    SpannedLink spanned;
    const auto span = [&](const HardwareLink& link) {
        spanned.latency = std::max(spanned.latency, link.latency);
        if (spanned.bandwidth > 0 && spanned.bandwidth <= link.bandwidth)
            return;
        spanned.bandwidth = link.bandwidth;
        spanned.name = link.name;
    };
    std::set<std::size_t> named;  // Axes that have a link of their own.
    const bool onMesh = !devices.empty() && devices.back() < mesh.deviceCount();
    if (onMesh)
        for (const HardwareLink& link : profile.links)
            for (const std::string& axis : link.axes)
                if (const int index = mesh.axisIndex(axis); index >= 0) {
                    named.insert(static_cast<std::size_t>(index));
                    const auto first = mesh.coordinates(devices.front());
                    const auto at = static_cast<std::size_t>(index);
                    if (std::any_of(devices.begin(), devices.end(), [&](DeviceId device) {
                            return mesh.coordinates(device)[at] != first[at];
                        }))
                        span(link);
                }
    // The rest goes over the blocks: the devices that differ from the first in other axes only.
    DeviceGroup rest;
    for (const DeviceId device : devices) {
        bool other = false;
        if (!named.empty()) {
            const auto first = mesh.coordinates(devices.front()), at = mesh.coordinates(device);
            for (const std::size_t axis : named)
                other = other || at[axis] != first[axis];
        }
        if (!other)
            rest.push_back(device);
    }
    int inner = 1;
    for (const HardwareLink& link : profile.links) {
        if (!link.axes.empty())
            continue;
        if (spansBlocks(rest, inner, link.devices))
            span(link);
        inner = link.devices;
    }
    return spanned;
}

}  // namespace shardwright
