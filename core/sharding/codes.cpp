// SPDX-License-Identifier: Apache-2.0
#include "sharding/codes.h"

#include <algorithm>
#include <iterator>

namespace shardwright {

namespace {

using enum Severity;

// Sorted by code. A row of the table in docs/annotations.md, "Decisions", is one or two codes here.
constexpr CodeInfo kCodes[] = {
    // Device configurations and our metadata.
    {"SW101", Error, "Device configuration without a name",
     "Nodes refer to a configuration by its name, so one without a name can never be used.",
     "configuration { num_devices: 4 }", "Give it a name."},
    {"SW102", Error, "Two device configurations with one name",
     "A node's configuration_id does not tell which of them is meant. The first one is used.",
     "configuration { name: \"a\" num_devices: 4 } configuration { name: \"a\" num_devices: 8 }",
     "Rename or remove one of them."},
    {"SW103", Error, "Device configuration without devices",
     "num_devices is the number of devices 0 to num_devices - 1 and must be at least 1.",
     "configuration { name: \"a\" num_devices: 0 }", "Set num_devices."},
    {"SW104", Error, "Wrong number of device names",
     "The names are optional, but where there are any there is one for each device.",
     "configuration { name: \"a\" num_devices: 4 device: \"gpu0\" device: \"gpu1\" }",
     "Name every device or none."},
    {"SW105", Warning, "Two devices with one name",
     "A reader that binds devices by name cannot tell them apart.",
     "configuration { name: \"a\" num_devices: 2 device: \"gpu\" device: \"gpu\" }",
     "Give them different names."},
    {"SW106", Warning, "Mesh entry cannot be read",
     "The metadata entry shardwright.mesh.<configuration> holds the mesh and the devices of the "
     "stages as JSON. It is "
     "ignored, and kept as it is.",
     "shardwright.mesh.a = {\"mesh\":\"dp=two\"}", "Set the mesh again, or remove the entry."},
    {"SW107", Warning, "Mesh does not fit the configuration",
     "The sizes of the axes multiply to another number than num_devices, so that coordinates name "
     "other devices than "
     "were meant. The mesh is ignored.",
     "num_devices: 4 with {\"mesh\":\"dp=2,tp=4\"}", "Set a mesh of as many devices."},
    {"SW108", Unsupported, "More devices than supported",
     "Configurations of up to 1048576 devices are worked with; further devices are left out.",
     "configuration { name: \"a\" num_devices: 2000000000 }", "Declare fewer devices."},
    // A node's configuration, the tensors of its specs.
    {"SW110", Error, "Unknown device configuration",
     "The node's configuration_id is the name of no configuration of the model, so its annotation "
     "means nothing. Tools "
     "that copy nodes into a new model leave such names behind. Nothing else is reported for it.",
     "device_configurations { configuration_id: \"b\" } where the model has \"a\"",
     "Declare the configuration (offered), or correct the name."},
    {"SW111", Error, "Annotation without a device configuration",
     "configuration_id is missing, so it is not known which devices are meant.",
     "device_configurations { sharding_spec { ... } }",
     "Name the configuration (offered where there is only one)."},
    {"SW112", Warning, "Two annotations of one configuration on a node",
     "Both count together, but other readers may look at one of them only.",
     "device_configurations { configuration_id: \"a\" } device_configurations { configuration_id: "
     "\"a\" }",
     "Merge them (offered)."},
    {"SW113", Error, "Spec without a tensor", "tensor_name is missing.",
     "sharding_spec { device: 0 }",
     "Name the tensor (offered where only one can be meant), or remove the spec."},
    {"SW114", Error, "Spec of a tensor that the node does not have",
     "tensor_name must be an input or output of the node; empty optional slots are not tensors. "
     "Tools that rename "
     "tensors or inline functions leave old names behind.",
     "sharding_spec { tensor_name: \"w\" } at a node with inputs \"m/x\", \"m/w\"",
     "Take the present name (offered where only one can be meant), or remove the spec."},
    {"SW115", Error, "Two different specs of one tensor",
     "A node has one spec for a tensor in a configuration, also where it uses the tensor twice. "
     "The first one is used.",
     "sharding_spec { tensor_name: \"x\" device: 0 } sharding_spec { tensor_name: \"x\" device: 1 "
     "}",
     "Remove one of them (offered)."},
    // Sharded dimensions.
    {"SW120", Error, "Axis out of range", "The axis of a tensor of rank r is from -r to r - 1.",
     "axis: 2 of a tensor of shape [4, 8]", "Correct the axis."},
    {"SW121", Error, "Dimension sharded twice",
     "Two entries of sharded_dim name the same dimension, perhaps once as a negative number.",
     "axis: 0 and axis: -2 of a tensor of shape [4, 8]",
     "Write one entry, with several simple_sharding where parts of the dimension are split."},
    {"SW122", Warning, "Dimension perhaps sharded twice",
     "The rank is not known, so that a positive and a negative axis may be the same dimension.",
     "axis: 0 and axis: -1 of a tensor of unknown rank", "Write all axes as positive numbers."},
    {"SW123", Warning, "Dimensions not in ascending order",
     "Shards are numbered in the order in which the dimensions are listed, first outermost. That "
     "is taken as it is "
     "here, but a reader that sorts them places the shards elsewhere.",
     "sharded_dim { axis: 1 } sharded_dim { axis: 0 }",
     "List them ascending, with the devices reordered to mean the same (offered)."},
    {"SW124", Warning, "Sharded dimension without simple_sharding",
     "It does not say into how many shards the dimension is split, and is taken as not split.",
     "sharded_dim { axis: 0 }", "Add num_shards, or remove the entry (offered)."},
    {"SW125", Error, "Number of shards below 1", "num_shards is missing or not positive.",
     "simple_sharding { num_shards: 0 }", "Set num_shards."},
    {"SW126", Info, "Dimension split into one shard",
     "That is the same as no entry for the dimension.",
     "sharded_dim { axis: 0 simple_sharding { num_shards: 1 } }", "None is needed."},
    {"SW127", Error, "Size differs from the tensor's",
     "The dim_value entries of a dimension multiply to another size than the tensor's dimension "
     "has.",
     "dim_value: 12 for dimension 1 of a tensor of shape [4, 8]",
     "Correct dim_value, or leave it out."},
    {"SW128", Warning, "Symbolic size differs from the tensor's",
     "The spec and the tensor give the dimension different symbols, or one a symbol and the other "
     "a number. The "
     "tensor's counts.",
     "dim_param: \"n\" for a dimension named \"batch\"", "Use the same symbol."},
    {"SW129", Warning, "Size below 1", "dim_value is not positive and is taken as unset.",
     "dim_value: 0", "Leave it out, or set the size."},
    {"SW130", Warning, "Part of a dimension without a size",
     "Where a dimension is given in several parts, their sizes say where the parts lie. One "
     "missing size is computed "
     "from the others; with two the layout is unknown.",
     "simple_sharding { num_shards: 1 } simple_sharding { dim_value: 8 num_shards: 2 }",
     "Set all sizes."},
    // Devices and groups.
    {"SW131", Error, "Fewer devices than shards",
     "Every shard needs an entry in `device`: a device or a group.",
     "num_shards: 4 with device: [0, 1]", "List one entry for each shard."},
    {"SW132", Error, "More devices than shards", "Every entry in `device` is one shard.",
     "num_shards: 2 with device: [0, 1, 2]",
     "List one entry for each shard; copies of a shard are a group."},
    {"SW133", Warning, "Placement unspecified",
     "`device` is empty: the spec says how to cut, not where to.", "num_shards: 4 without device",
     "List the devices 0 to n - 1 (offered where there are as many as shards)."},
    {"SW134", Info, "Whole tensor on listed devices",
     "Without sharded_dim the tensor is whole, and each device listed has a copy. The usual form "
     "for that is one group.",
     "device: [0, 1] without sharded_dim", "Write a group (offered)."},
    {"SW135", Warning, "Group key is also a device",
     "An entry of `device` that is a key of the map means the group, also where a device has that "
     "number.",
     "device: [0] with { key: 0 value: [2, 3] }", "Use negative numbers for groups (offered)."},
    {"SW136", Error, "Two groups with one key",
     "It is not known which of them an entry of `device` means.",
     "{ key: -1 value: [0] } { key: -1 value: [1] }", "Use different keys."},
    {"SW137", Error, "Empty group", "A shard in an empty group would be on no device.",
     "device: [-1] with { key: -1 value: [] }", "List the devices of the group."},
    {"SW138", Error, "Group inside a group", "The members of a group are devices.",
     "{ key: -1 value: [-2] } { key: -2 value: [0] }", "List the devices themselves."},
    {"SW139", Error, "Negative device without a group",
     "Devices are numbered from 0; -1 and below name groups.", "device: [-1] without a map",
     "Add the group, or correct the device."},
    {"SW140", Error, "Device out of range", "Devices are numbered from 0 to num_devices - 1.",
     "device: [4] with num_devices: 4", "Correct the device, or declare more devices."},
    {"SW141", Info, "Group that no shard uses",
     "The map has a key that no entry of `device` names.",
     "device: [0, 1] with { key: -1 value: [0, 1] }", "None is needed."},
    // Layouts.
    {"SW201", Warning, "More shards than elements",
     "Blocks have ceil(size / shards) elements, so that the last shards are empty. Their devices "
     "take part with "
     "nothing to do.",
     "a dimension of size 2 in 4 shards", "Use fewer shards."},
    {"SW202", Warning, "Blocks of different sizes",
     "The number of shards does not divide the size. The proposal leaves the cut to the backend; "
     "here all blocks have "
     "ceil(size / shards) elements but the last ones.",
     "a dimension of size 10 in 4 shards: 3, 3, 3, 1",
     "Use a number of shards that divides the size."},
    {"SW203", Unsupported, "Layout too fine",
     "Each shard consists of very many separate pieces. Such a layout is kept, but not worked "
     "with.",
     "a dimension of 2^40 elements of which every second lies on device 1", "Split a larger part."},
    {"SW204", Info, "Layout not known because the shape is not",
     "The tensor's rank or a size could not be inferred, so that the spec cannot be checked "
     "against it.",
     "a spec of the output of an operator of an unknown domain",
     "Add the shape to the model, or bind its symbols."},
    {"SW205", Unsupported, "Not a tensor",
     "Sequences, optionals and maps have no dimensions to split.",
     "a spec of the output of SequenceConstruct", "Remove the spec (offered)."},
    // Stages.
    {"SW401", Warning, "Negative pipeline stage",
     "Stages are numbered from 0. It is taken as no stage.", "pipeline_stage: -1",
     "Remove the stage (offered)."},
    {"SW402", Warning, "Stage decreases along an edge",
     "A node reads what a later stage writes, so that the stages cannot run one after the other.",
     "stage 1 -> stage 0", "Move the node to the later stage (offered)."},
    {"SW403", Info, "No node in stage 0",
     "Other nodes have later stages. Writers of proto3 leave out a stage of 0, so that it may have "
     "been lost.",
     "stages 1, 2, 3 and annotated nodes without a stage",
     "Put the annotated nodes without a stage into stage 0 (offered)."},
    {"SW404", Error, "Spec outside the devices of the stage",
     "The stage is bound to devices, and the node runs there and nowhere else.",
     "stage 1 on devices 4-7, a spec on devices 0-3",
     "Move the layout to the devices of the stage (offered)."},
    // Version.
    {"SW601", Warning, "IR version below 11",
     "Annotations belong to version 11 and later of the IR; tools drop them from older models when "
     "they save.",
     "ir_version: 10 with a device configuration",
     "Raise the version to 11 when saving (offered)."},
};

}  // namespace

std::span<const CodeInfo> shardingCodes() {
    return kCodes;
}

const CodeInfo* findShardingCode(std::string_view code) {
    const auto found = std::lower_bound(
        std::begin(kCodes), std::end(kCodes), code,
        [](const CodeInfo& info, std::string_view key) { return info.code < key; });
    return found != std::end(kCodes) && found->code == code ? found : nullptr;
}

std::string quoteName(std::string_view name) {
    std::string text;
    constexpr std::size_t kHead = kMaxQuoted * 3 / 4;
    // Cuts between characters, not inside of one.
    const auto boundary = [&](std::size_t i) {
        while (i < name.size() && (static_cast<unsigned char>(name[i]) & 0xC0U) == 0x80U)
            ++i;
        return i;
    };
    if (name.size() > kMaxQuoted + 10) {
        text = std::string(name.substr(0, boundary(kHead))) + "...";
        text += name.substr(boundary(name.size() - (kMaxQuoted - kHead)));
    } else {
        text = name;
    }
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
    return "'" + text + "'";
}

std::string severityName(Severity severity) {
    switch (severity) {
        case Severity::Error: return "error";
        case Severity::Warning: return "warning";
        case Severity::Unsupported: return "unsupported";
        case Severity::Communication: return "communication";
        case Severity::Info: return "info";
    }
    return {};
}

}  // namespace shardwright
