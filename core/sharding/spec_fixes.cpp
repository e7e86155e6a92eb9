// SPDX-License-Identifier: Apache-2.0
#include "sharding/spec_fixes.h"

#include "sharding/annotation_reader.h"
#include "sharding/codes.h"
#include "sharding/mesh_metadata.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace shardwright {

namespace {

/// Lists the dimensions ascending, with the devices in the order that keeps the meaning.
void normaliseOrder(onnx::ShardingSpecProto& spec, const std::vector<int>& order,
                    std::int64_t rank) {
    const auto axisOf = [rank](const onnx::ShardedDimProto& dim) {
        return dim.axis() < 0 ? dim.axis() + rank : dim.axis();
    };
    std::stable_sort(spec.mutable_sharded_dim()->pointer_begin(),
                     spec.mutable_sharded_dim()->pointer_end(),
                     [&](const auto* a, const auto* b) { return axisOf(*a) < axisOf(*b); });
    const std::vector<std::int64_t> listed(spec.device().begin(), spec.device().end());
    for (std::size_t shard = 0; shard < order.size(); ++shard)
        spec.set_device(static_cast<int>(shard), listed[static_cast<std::size_t>(order[shard])]);
}

/// One group of all listed devices.
void useGroup(onnx::ShardingSpecProto& spec, const Layout& layout) {
    spec.clear_device();
    spec.clear_index_to_device_group_map();
    spec.add_device(-1);
    auto* entry = spec.add_index_to_device_group_map();
    entry->set_key(-1);
    for (const DeviceId device : layout.devices())
        entry->add_value(device);
}

/// Gives the groups whose keys are devices negative keys that are free.
void renameKeys(onnx::ShardingSpecProto& spec, int deviceCount) {
    std::set<std::int64_t> taken;
    for (const auto& entry : spec.index_to_device_group_map())
        taken.insert(entry.key());
    std::int64_t next = -1;
    for (auto& entry : *spec.mutable_index_to_device_group_map()) {
        if (entry.key() < 0 || entry.key() >= deviceCount)
            continue;
        while (taken.contains(next))
            --next;
        for (auto& device : *spec.mutable_device()) {
            if (device == entry.key())
                device = next;
        }
        taken.insert(next);
        entry.set_key(next);
    }
}

void removeBareDims(onnx::ShardingSpecProto& spec) {
    auto* dims = spec.mutable_sharded_dim();
    for (int i = dims->size(); i-- > 0;) {
        if (dims->Get(i).simple_sharding().empty())
            dims->DeleteSubrange(i, 1);
    }
}

bool rankAllows(const TensorInfo& info, const onnx::ShardingSpecProto& spec) {
    if (info.kind == TensorInfo::Kind::Other)
        return false;
    if (!info.hasRank)
        return true;
    const auto rank = static_cast<std::int64_t>(info.dims.size());
    return std::all_of(
        spec.sharded_dim().begin(), spec.sharded_dim().end(),
        [rank](const auto& dim) { return dim.axis() >= -rank && dim.axis() < rank; });
}

}  // namespace

void dropSilenced(const NodeAnnotation& before, NodeAnnotation& after) {
    const auto silent = [](const onnx::NodeDeviceConfigurationProto& entry) {
        return entry.sharding_spec().empty() && !entry.has_pipeline_stage() &&
               entry.unknown_fields().empty();
    };
    // An entry that said nothing in the file is nobody's to remove.
    std::erase_if(after, [&](const onnx::NodeDeviceConfigurationProto& entry) {
        return silent(entry) && std::none_of(before.begin(), before.end(), [&](const auto& old) {
                   return silent(old) && old.configuration_id() == entry.configuration_id();
               });
    });
}

Fix nodeFix(const Document& document, NodeId node, std::string id, std::string title,
            const std::function<void(NodeAnnotation&)>& change) {
    const auto& present = document.annotations.nodes[node.index()];
    const NodeAnnotation before = present ? *present : NodeAnnotation{};
    auto changed = std::make_shared<NodeAnnotation>(before);
    change(*changed);
    dropSilenced(before, *changed);
    if (changed->empty())
        changed.reset();
    Fix fix{std::move(id), std::move(title), {}, 0};
    fix.edit.title = fix.title;
    fix.edit.steps.push_back(SetNodeAnnotation{node, std::move(changed)});
    return fix;
}

Fix removeSpecFix(const Document& document, NodeId node, int configuration, int spec) {
    const auto& entry =
        (*document.annotations.nodes[node.index()])[static_cast<std::size_t>(configuration)];
    const std::string& tensor = entry.sharding_spec(spec).tensor_name();
    return nodeFix(document, node, "remove-spec",
                   "Remove the spec" +
                       (tensor.empty() ? std::string() : " of " + quoteName(tensor)),
                   [=](NodeAnnotation& annotation) {
                       annotation[static_cast<std::size_t>(configuration)]
                           .mutable_sharding_spec()
                           ->DeleteSubrange(spec, 1);
                   });
}

std::vector<Fix> fixesOfFinding(const Document& document, NodeId node, int configuration, int spec,
                                const SpecFinding& finding, const SpecReading& reading,
                                int deviceCount) {
    const std::string_view code = finding.code;
    const auto fix = [&](const char* id, std::string title,
                         const std::function<void(onnx::ShardingSpecProto&)>& change) {
        return std::vector<Fix>{
            nodeFix(document, node, id, std::move(title), [&](NodeAnnotation& annotation) {
                change(*annotation[static_cast<std::size_t>(configuration)].mutable_sharding_spec(
                    spec));
            })};
    };
    if (code == "SW123" && reading.layout && !reading.ascendingDevices.empty())
        return fix("normalise-order", "List the dimensions in ascending order", [&](auto& proto) {
            normaliseOrder(proto, reading.ascendingDevices,
                           static_cast<std::int64_t>(reading.layout->shape().size()));
        });
    if (code == "SW124")
        return fix("remove-dimension", "Remove the dimensions without simple_sharding",
                   removeBareDims);
    if (code == "SW133" && deviceCount > 0 && reading.shards == deviceCount)
        return fix("list-devices",
                   "Place the shards on devices 0 to " + std::to_string(deviceCount - 1),
                   [&](auto& proto) {
                       for (int device = 0; device < deviceCount; ++device)
                           proto.add_device(device);
                   });
    if (code == "SW134" && reading.layout)
        return fix("use-group", "Write one group",
                   [&](auto& proto) { useGroup(proto, *reading.layout); });
    if (code == "SW135")
        return fix("rename-keys", "Use negative numbers for groups",
                   [&](auto& proto) { renameKeys(proto, deviceCount); });
    if (code == "SW205")
        return {removeSpecFix(document, node, configuration, spec)};
    return {};
}

std::optional<std::string> meantTensor(const GraphIndex& graph, const ShapeTable& shapes,
                                       NodeId node,
                                       const onnx::NodeDeviceConfigurationProto& configuration,
                                       const onnx::ShardingSpecProto& spec) {
    const NodeInfo& info = graph.node(node);
    std::set<std::string_view> named;
    for (const auto& other : configuration.sharding_spec())
        named.insert(other.tensor_name());
    std::set<std::string> free, prefixed;
    const auto consider = [&](const std::string& name, ValueId value) {
        if (name.empty() || named.contains(name) || !value || !rankAllows(shapes.of(value), spec))
            return;
        free.insert(name);
        if (!spec.tensor_name().empty() && name.ends_with(spec.tensor_name()))
            prefixed.insert(name);
    };
    std::set<std::string_view> own;
    for (int i = 0; i < info.proto->input_size(); ++i) {
        own.insert(info.proto->input(i));
        consider(info.proto->input(i), info.inputs[static_cast<std::size_t>(i)]);
    }
    for (int i = 0; i < info.proto->output_size(); ++i) {
        own.insert(info.proto->output(i));
        consider(info.proto->output(i), info.outputs[static_cast<std::size_t>(i)]);
    }
    if (prefixed.size() == 1)
        return *prefixed.begin();
    // A second stale spec could have meant the same tensor.
    const auto staleSpecs =
        std::count_if(configuration.sharding_spec().begin(), configuration.sharding_spec().end(),
                      [&](const auto& other) {
                          return other.tensor_name().empty() || !own.contains(other.tensor_name());
                      });
    if (free.size() == 1 && staleSpecs == 1)
        return *free.begin();
    return std::nullopt;
}

Fix declareFix(const Document& document, const std::string& name) {
    std::int64_t last = 0;
    const auto see = [&](std::int64_t device) {
        last = std::max(last, std::min<std::int64_t>(device, kMaxDeviceCount - 1));
    };
    for (const auto& annotation : document.annotations.nodes) {
        if (!annotation)
            continue;
        for (const auto& entry : *annotation) {
            if (entry.configuration_id() != name)
                continue;
            for (const auto& spec : entry.sharding_spec()) {
                std::for_each(spec.device().begin(), spec.device().end(), see);
                for (const auto& group : spec.index_to_device_group_map())
                    std::for_each(group.value().begin(), group.value().end(), see);
            }
        }
    }
    const auto metadata = document.annotations.metadata.find(meshMetadataKey(name));
    if (metadata != document.annotations.metadata.end()) {
        const auto parsed = MeshMetadata::parse(metadata->second);
        if (parsed && parsed->mesh)
            see(parsed->mesh->deviceCount() - 1);
    }
    auto configurations = std::make_shared<std::vector<onnx::DeviceConfigurationProto>>(
        document.annotations.configurations);
    auto& declared = configurations->emplace_back();
    declared.set_name(name);
    declared.set_num_devices(static_cast<int>(last + 1));
    Fix fix{"declare",
            "Declare configuration " + quoteName(name) + " with " + std::to_string(last + 1) +
                (last == 0 ? " device" : " devices"),
            {},
            0};
    fix.edit.title = fix.title;
    fix.edit.steps.push_back(SetConfigurations{std::move(configurations)});
    return fix;
}

}  // namespace shardwright
