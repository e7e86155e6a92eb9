// SPDX-License-Identifier: Apache-2.0
#include "sharding/edit.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <utility>

namespace shardwright {

namespace {

using Configurations = std::vector<onnx::DeviceConfigurationProto>;

/// Does one step and gives the step that takes it back.
struct Applier {
    Annotations& annotations;
    NodeAnnotations::Editor& nodes;

    EditStep operator()(const SetNodeAnnotation& step) const {
        nodes.grow(step.node.index() + 1);
        auto& present = nodes.edit(step.node.index());
        SetNodeAnnotation inverse{step.node, std::move(present)};
        present = step.annotation;
        return inverse;
    }

    EditStep operator()(const SetConfigurations& step) const {
        SetConfigurations inverse{
            std::make_shared<const Configurations>(std::move(annotations.configurations))};
        annotations.configurations = step.configurations ? *step.configurations : Configurations{};
        return inverse;
    }

    EditStep operator()(const SetMetadata& step) const {
        const auto found = annotations.metadata.find(step.key);
        const bool present = found != annotations.metadata.end();
        SetMetadata inverse{step.key, present ? found->second : std::string(), present};
        if (step.value.empty() && !step.keepEmpty)
            annotations.metadata.erase(step.key);
        else
            annotations.metadata.insert_or_assign(step.key, step.value);
        return inverse;
    }

    EditStep operator()(const SetIrVersion& step) const {
        return SetIrVersion{std::exchange(annotations.irVersion, step.version)};
    }
};

}  // namespace

Edit apply(Annotations& annotations, const Edit& edit) {
    Edit inverse{edit.title, {}};
    inverse.steps.reserve(edit.steps.size());
    NodeAnnotations::Editor nodes(std::move(annotations.nodes));
    for (const EditStep& step : edit.steps)
        inverse.steps.push_back(std::visit(Applier{annotations, nodes}, step));
    annotations.nodes = std::move(nodes).finish();
    std::reverse(inverse.steps.begin(), inverse.steps.end());
    return inverse;
}

}  // namespace shardwright
