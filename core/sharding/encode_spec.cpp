// SPDX-License-Identifier: Apache-2.0
#include "sharding/codec.h"

#include <onnx/onnx_pb.h>

#include <map>

namespace shardwright {

namespace {

/// `device` and the group map: a device id for a shard on one device, else a key of -1, -2, ...
/// that shards on the same devices share.
void writeDevices(const Layout& layout, onnx::ShardingSpecProto& spec) {
    std::map<DeviceGroup, std::int64_t> keys;
    for (const DeviceGroup& group : layout.groups()) {
        if (group.size() == 1) {
            spec.add_device(group.front());
            continue;
        }
        const auto [entry, added] =
            keys.try_emplace(group, -static_cast<std::int64_t>(keys.size()) - 1);
        spec.add_device(entry->second);
        if (!added)
            continue;
        auto* proto = spec.add_index_to_device_group_map();
        proto->set_key(entry->second);
        for (const DeviceId device : group)
            proto->add_value(device);
    }
}

void writeDimension(const Layout& layout, std::size_t d, const TensorInfo& info,
                    onnx::ShardingSpecProto& spec) {
    auto* dim = spec.add_sharded_dim();
    dim->set_axis(
        static_cast<std::int64_t>(d));  // Also 0: an axis that is not written is not read by all.
    const std::vector<Component>& components = layout.dims()[d];
    for (const Component& component : components) {
        auto* simple = dim->add_simple_sharding();
        simple->set_num_shards(component.shards);
        const bool symbolic =
            components.size() == 1 && d < info.symbolic.size() && info.symbolic[d].size < 0;
        if (!symbolic)
            simple->set_dim_value(component.size);
        else if (!info.symbolic[d].symbol.empty() && !isGeneratedSymbol(info.symbolic[d].symbol))
            simple->set_dim_param(info.symbolic[d].symbol);
        // A size without a name in the file stays unset: the number of today's bindings would be
        // wrong with others, and no other reader knows a symbol that was made up here.
    }
}

}  // namespace

onnx::ShardingSpecProto encodeSpec(const Layout& layout, const std::string& tensor,
                                   const TensorInfo& info) {
    onnx::ShardingSpecProto spec;
    spec.set_tensor_name(tensor);
    writeDevices(layout, spec);
    for (std::size_t d = 0; d < layout.dims().size(); ++d) {
        if (layout.isSplit(d))
            writeDimension(layout, d, info, spec);
    }
    return spec;
}

}  // namespace shardwright
