// SPDX-License-Identifier: Apache-2.0
#include "sharding/configuration_edit.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <functional>

namespace shardwright {
namespace {

/// Changes what every node says in configuration `name`; `change` gives false where the entry goes.
void forNodes(const Document& document, const std::string& name, Edit& edit,
              const std::function<bool(onnx::NodeDeviceConfigurationProto&)>& change) {
    const auto& nodes = document.annotations.nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!nodes[i] || std::ranges::none_of(*nodes[i], [&](const auto& entry) {
                return entry.configuration_id() == name;
            }))
            continue;
        NodeAnnotation changed;
        for (auto entry : *nodes[i])
            if (entry.configuration_id() != name || change(entry))
                changed.push_back(std::move(entry));
        edit.steps.push_back(SetNodeAnnotation{
            NodeId(i), changed.empty()
                           ? nullptr
                           : std::make_shared<const NodeAnnotation>(std::move(changed))});
    }
}

/// Our keys are `shardwright.<what>.<configuration>`; a configuration's own name may hold dots.
/// Gives the part before it.
std::string keyStem(const std::string& key, const std::string& configuration) {
    const std::string prefix = kMetadataPrefix;
    if (!key.starts_with(prefix))
        return {};
    const std::size_t dot = key.find('.', prefix.size());
    return dot != std::string::npos && key.substr(dot + 1) == configuration ? key.substr(0, dot + 1)
                                                                            : std::string();
}

}  // namespace

Edit editRemoveConfiguration(const Document& document, const std::string& name) {
    Edit edit{"Remove configuration " + name, {}};
    auto rest = document.annotations.configurations;
    std::erase_if(rest, [&](const auto& configuration) { return configuration.name() == name; });
    if (rest.size() == document.annotations.configurations.size())
        return {};
    edit.steps.push_back(SetConfigurations{
        std::make_shared<const std::vector<onnx::DeviceConfigurationProto>>(std::move(rest))});
    for (const auto& [key, value] : document.annotations.metadata)
        if (!keyStem(key, name).empty())
            edit.steps.push_back(SetMetadata{key, {}});
    forNodes(document, name, edit, [](onnx::NodeDeviceConfigurationProto&) { return false; });
    return edit;
}

Result<Edit> editRenameConfiguration(const Document& document, const std::string& from,
                                     const std::string& to) {
    if (to.empty())
        return Error{"a device configuration needs a name", {}};
    if (from == to)
        return Edit{};
    auto configurations = document.annotations.configurations;
    for (auto& configuration : configurations) {
        if (configuration.name() == to)
            return Error{"there is a device configuration '" + to + "' already", {}};
        if (configuration.name() == from)
            configuration.set_name(to);
    }
    Edit edit{"Rename configuration " + from + " to " + to, {}};
    edit.steps.push_back(
        SetConfigurations{std::make_shared<const std::vector<onnx::DeviceConfigurationProto>>(
            std::move(configurations))});
    for (const auto& [key, value] : document.annotations.metadata) {
        const std::string stem = keyStem(key, from);
        if (stem.empty())
            continue;
        edit.steps.push_back(SetMetadata{key, {}});
        edit.steps.push_back(SetMetadata{stem + to, value});
    }
    forNodes(document, from, edit, [&](onnx::NodeDeviceConfigurationProto& entry) {
        entry.set_configuration_id(to);
        return true;
    });
    return edit;
}

Edit editReplaceAll(const Document& document, const Annotations& annotations) {
    Edit edit{"Replace annotations", {}};
    const Annotations& before = document.annotations;
    edit.steps.push_back(
        SetConfigurations{std::make_shared<const std::vector<onnx::DeviceConfigurationProto>>(
            annotations.configurations)});
    for (const auto& [key, value] : before.metadata)
        if (!annotations.metadata.contains(key))
            edit.steps.push_back(SetMetadata{key, {}});
    for (const auto& [key, value] : annotations.metadata)
        edit.steps.push_back(SetMetadata{key, value, true});
    for (std::size_t i = 0; i < annotations.nodes.size(); ++i)
        if (before.nodes[i] || annotations.nodes[i])
            edit.steps.push_back(SetNodeAnnotation{NodeId(i), annotations.nodes[i]});
    return edit;
}

}  // namespace shardwright
