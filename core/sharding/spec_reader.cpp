// SPDX-License-Identifier: Apache-2.0
//
// A spec is read in three parts that find independent faults: the groups and devices, the sharded
// dimensions, and the count of the one against the other. The layout is built when none of them
// found an error.

#include "sharding/spec_reader.h"

#include "sharding/codes.h"
#include "sharding/spec_dims.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace shardwright {

namespace {

/// "4, 5, 6, 7, 8 and 12 more"
template <class Number>
std::string listText(const std::vector<Number>& values) {
    constexpr std::size_t kShown = 8;
    std::string text;
    for (std::size_t i = 0; i < values.size() && i < kShown; ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
    if (values.size() > kShown)
        text += " and " + std::to_string(values.size() - kShown) + " more";
    return text;
}

void addDistinct(std::vector<std::int64_t>& list, std::int64_t value) {
    constexpr std::size_t kEnough = 100;  // Bounds the scan; a message shows fewer.
    if (list.size() < kEnough && std::find(list.begin(), list.end(), value) == list.end())
        list.push_back(value);
}

class Reader {
public:
    Reader(const onnx::ShardingSpecProto& spec, const std::string& tensor, const TensorInfo& info,
           int deviceCount, const Bindings& bindings)
        : m_spec(spec), m_name(quoteName(tensor)), m_info(info), m_deviceCount(deviceCount),
          m_bindings(bindings) {}

    SpecReading run() {
        if (m_info.kind == TensorInfo::Kind::Other) {
            add("SW205", -1, "is not a tensor, so it has no dimensions to split");
            return std::move(m_reading);
        }
        readMap();
        readDevices();
        SpecDims dims(m_spec, m_info, m_bindings,
                      [this](const char* code, int dimension, const std::string& text) {
                          add(code, dimension, text);
                      });
        dims.read();
        m_reading.shards = dims.shards();
        compareCounts(dims);
        if (!m_failed && !dims.failed())
            build(dims);
        return std::move(m_reading);
    }

private:
    const onnx::ShardingSpecProto& m_spec;
    std::string m_name;
    const TensorInfo& m_info;
    int m_deviceCount;
    const Bindings& m_bindings;
    SpecReading m_reading;
    bool m_failed = false;
    std::unordered_map<std::int64_t, const onnx::IntIntListEntryProto*> m_map;
    std::unordered_map<std::int64_t, DeviceGroup> m_members;
    std::vector<DeviceGroup> m_groups;  ///< One an entry of `device`, in listed order.

    void add(const char* code, int dimension, const std::string& text) {
        m_reading.findings.push_back({code, dimension, m_name + ": " + text});
        const CodeInfo* info = findShardingCode(code);
        m_failed = m_failed || !info || info->severity == Severity::Error;
    }

    /// Duplicate keys, and keys that are device ids. The first entry of a key counts.
    void readMap() {
        std::vector<std::int64_t> twice, devices;
        for (const auto& entry : m_spec.index_to_device_group_map()) {
            if (!m_map.emplace(entry.key(), &entry).second)
                addDistinct(twice, entry.key());
            if (entry.key() >= 0 && entry.key() < m_deviceCount)
                addDistinct(devices, entry.key());
        }
        if (!twice.empty())
            add("SW136", -1, "the group map has more than one entry for key " + listText(twice));
        if (!devices.empty())
            add("SW135", -1,
                "the group map has key " + listText(devices) +
                    ", which is also a device; an entry of `device` means the group");
    }

    /// Every entry of `device` as a group of devices; unused keys.
    void readDevices() {
        Problems problems;
        m_groups.reserve(static_cast<std::size_t>(m_spec.device_size()));
        std::unordered_set<std::int64_t> used;
        // Many entries may name one large group: what they stand for is bounded, not only the file.
        constexpr std::size_t kMaxTotal = std::size_t{1} << 22;
        std::size_t total = 0;
        for (const std::int64_t entry : m_spec.device()) {
            const auto group = m_map.find(entry);
            if (group == m_map.end()) {
                checkDevice(entry, problems);
                m_groups.push_back({static_cast<DeviceId>(entry)});
                continue;
            }
            if (used.insert(entry).second)
                m_members[entry] = members(*group->second, problems);
            const DeviceGroup& members = m_members[entry];
            total += members.size();
            if (total > kMaxTotal)
                break;
            m_groups.push_back(members);
        }
        if (total > kMaxTotal) {
            add("SW203", -1, "the groups of all shards together have millions of devices");
            m_failed = true;
        }
        tell(problems);
        std::vector<std::int64_t> unused;
        for (const auto& entry : m_spec.index_to_device_group_map()) {
            if (!used.contains(entry.key()))
                addDistinct(unused, entry.key());
        }
        if (!unused.empty())
            add("SW141", -1, "no shard uses group " + listText(unused));
    }

    struct Problems {
        std::vector<std::int64_t> empty, nested, negative, outside;
    };

    void checkDevice(std::int64_t device, Problems& problems) const {
        if (device < 0)
            addDistinct(problems.negative, device);
        else if (device >= m_deviceCount)
            addDistinct(problems.outside, device);
    }

    DeviceGroup members(const onnx::IntIntListEntryProto& entry, Problems& problems) const {
        DeviceGroup group;
        if (entry.value().empty())
            addDistinct(problems.empty, entry.key());
        for (const std::int64_t member : entry.value()) {
            // A member that is a device as well as a key can only mean the device: {0: [0, 1]} is
            // written so.
            const bool device = member >= 0 && member < m_deviceCount;
            if (!device && m_map.contains(member))
                addDistinct(problems.nested, member);
            else
                checkDevice(member, problems);
            group.push_back(static_cast<DeviceId>(member));
        }
        return group;
    }

    void tell(const Problems& problems) {
        if (!problems.empty.empty())
            add("SW137", -1,
                "group " + listText(problems.empty) +
                    " is empty, so that its shard is on no device");
        if (!problems.nested.empty())
            add("SW138", -1, "group " + listText(problems.nested) + " is a member of a group");
        if (!problems.negative.empty())
            add("SW139", -1,
                "device " + listText(problems.negative) +
                    " is negative and no group has it as its key");
        if (!problems.outside.empty())
            add("SW140", -1,
                "device " + listText(problems.outside) +
                    (m_deviceCount < 1 ? ": the configuration has no devices"
                                       : " is not one of the " + std::to_string(m_deviceCount) +
                                             " devices 0 to " + std::to_string(m_deviceCount - 1)));
    }

    void compareCounts(const SpecDims& dims) {
        const std::int64_t shards = dims.shards();
        const auto entries = static_cast<std::int64_t>(m_spec.device_size());
        if (entries == 0) {
            add("SW133", -1, "`device` is empty: it is not said where the shards are");
            m_failed = true;
        } else if (shards < 0) {
            return;  // SW125 has said that a number of shards is not valid.
        } else if (!dims.splits() && entries > 1) {
            DeviceGroup all;
            for (const DeviceGroup& group : m_groups)
                all.insert(all.end(), group.begin(), group.end());
            std::sort(all.begin(), all.end());
            all.erase(std::unique(all.begin(), all.end()), all.end());
            add("SW134", -1,
                "whole on each of the devices " + listText(all) + "; the usual form is one group");
            m_groups.assign(1, std::move(all));
        } else if (entries != shards) {
            const std::string counts =
                std::to_string(shards) + (shards == 1 ? " shard" : " shards") + dims.text() +
                " and " + std::to_string(entries) +
                (entries == 1 ? " entry in `device`" : " entries in `device`");
            add(entries < shards ? "SW131" : "SW132", -1, counts);
        }
    }

    void build(const SpecDims& dims) {
        m_reading.ascendingDevices = dims.ascendingShards();
        std::vector<DeviceGroup> groups;
        if (m_reading.ascendingDevices.empty()) {
            groups = std::move(m_groups);
        } else {
            for (const int shard : m_reading.ascendingDevices)
                groups.push_back(m_groups[static_cast<std::size_t>(shard)]);
        }
        if (auto components = dims.components())
            m_reading.layout.emplace(m_info.dims, std::move(*components), std::move(groups));
    }
};

}  // namespace

SpecReading readSpec(const onnx::ShardingSpecProto& spec, const std::string& tensor,
                     const TensorInfo& info, int deviceCount, const Bindings& bindings) {
    return Reader(spec, tensor, info, deviceCount, bindings).run();
}

}  // namespace shardwright
