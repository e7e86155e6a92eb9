// SPDX-License-Identifier: Apache-2.0
#include "check/assign.h"

#include "sharding/option_layout.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <functional>
#include <set>

namespace shardwright {
namespace {

/// Builds edits one after the other: each sees what those before it did, since a node's annotation
/// is replaced as a whole.
class Sequence {
public:
    explicit Sequence(const Document& document) : m_document(document) {}

    const Document& present() const { return m_document; }
    void add(Edit edit) {
        if (edit.empty())
            return;
        apply(m_document.annotations, edit);
        m_edits.push_back(std::move(edit));
    }
    LayoutPool& pool() { return m_pool; }
    Edit take(std::string title) { return joinEdits(std::move(title), std::move(m_edits)); }

private:
    Document m_document;
    LayoutPool m_pool;
    std::vector<Edit> m_edits;
};

std::shared_ptr<const NodeSpecs> specsAt(const Document& document, const Analysis& analysis,
                                         NodeId node) {
    if (!document.annotations.nodes[node.index()])
        return nullptr;
    LayoutPool pool;
    std::vector<Diagnostic> ignored;
    return decodeNode(document, node, *analysis.shapes, analysis.configuration, pool, ignored);
}

std::optional<MeshSharding> shardingOf(const Analysis& analysis, const TensorInfo& info,
                                       const NodeSpecs* specs, const std::string& name,
                                       TensorSlot slot) {
    const MeshSharding whole{std::vector<std::vector<MeshComponent>>(info.dims.size())};
    if (const DecodedSpec* spec = specs ? specs->find(name) : nullptr)
        return spec->layout ? decode(analysis.configuration.mesh, *spec->layout) : std::nullopt;
    const SlotMeaning* meaning = meaningAt(analysis, slot);
    // An explicit layout of the analysis is older than the document, where the spec is gone.
    if (!meaning || !meaning->layout || meaning->source == LayoutSource::Explicit)
        return whole;
    const auto sharding = decode(analysis.configuration.mesh, *meaning->layout);
    return sharding ? sharding : whole;
}

/// Takes axes out of the components that use them.
void removeAxes(std::vector<MeshComponent>& components, const std::vector<int>& axes) {
    for (MeshComponent& component : components)
        std::erase_if(component.axes,
                      [&](int axis) { return std::ranges::find(axes, axis) != axes.end(); });
    if (std::ranges::all_of(components, [](const MeshComponent& c) { return c.axes.empty(); }))
        components.clear();
}

Error shapeError(const Analysis& analysis, TensorSlot slot, const std::string& what) {
    const ValueId value = valueAt(analysis.graph(), slot);
    return {"tensor '" + (value ? analysis.graph().value(value).name : std::string()) + "' " + what,
            analysis.graph().label(slot.node)};
}

using Change = std::function<Result<MeshSharding>(const TensorInfo&, const NodeSpecs*, TensorSlot,
                                                  const std::string&)>;

Result<Edit> assignEach(const Document& document, const Analysis& analysis,
                        std::span<const TensorSlot> tensorSlots, const Change& change) {
    if (!analysis.hasConfiguration)
        return Error{"the model has no device configuration yet", {}};
    Sequence sequence(document);
    for (const TensorSlot slot : tensorSlots) {
        const ValueId value = valueAt(analysis.graph(), slot);
        if (!value)
            return Error{"this slot is not used", analysis.graph().label(slot.node)};
        const TensorInfo& info = analysis.shapes->of(value);
        if (!info.concrete())
            return shapeError(analysis, slot, "has no known shape");
        const std::string& name = analysis.graph().value(value).name;
        const auto specs = specsAt(sequence.present(), analysis, slot.node);
        const auto sharding = change(info, specs.get(), slot, name);
        if (!sharding)
            return sharding.error();
        const int stage = specs ? specs->stage : -1;
        const DeviceGroup within =
            stage >= 0 ? analysis.configuration.stageDevices(stage) : DeviceGroup{};
        const auto layout = encode(analysis.configuration.mesh, *sharding, info.dims, within);
        if (!layout)
            return Error{layout.error().message, analysis.graph().label(slot.node)};
        sequence.add(editSpec(sequence.present(), slot.node, analysis.configuration.name, name,
                              &*layout, info));
    }
    return sequence.take("Assign layout");
}

}  // namespace

ValueId valueAt(const GraphIndex& graph, TensorSlot slot) {
    const NodeInfo& node = graph.node(slot.node);
    const auto& values = slot.output ? node.outputs : node.inputs;
    return slot.slot >= 0 && static_cast<std::size_t>(slot.slot) < values.size() ? values[slot.slot]
                                                                                 : ValueId();
}

bool hasSpec(const Document& document, const Analysis& analysis, TensorSlot slot) {
    const ValueId value = valueAt(analysis.graph(), slot);
    if (!value || !analysis.hasConfiguration)
        return false;
    const auto specs = specsAt(document, analysis, slot.node);
    return specs && specs->find(analysis.graph().value(value).name);
}

int stageOf(const Document& document, const Analysis& analysis, NodeId node) {
    if (!analysis.hasConfiguration)
        return -1;
    const auto specs = specsAt(document, analysis, node);
    return specs ? specs->stage : -1;
}

const SlotMeaning* meaningAt(const Analysis& analysis, TensorSlot slot) {
    if (slot.node.index() >= analysis.meaning.nodes.size())
        return nullptr;
    const NodeMeaning& node = analysis.meaning.nodes[slot.node.index()];
    const auto& tensorSlots = slot.output ? node.outputs : node.inputs;
    return slot.slot >= 0 && static_cast<std::size_t>(slot.slot) < tensorSlots.size()
               ? &tensorSlots[slot.slot]
               : nullptr;
}

LayoutRef unexplainedAt(const Document& document, const Analysis& analysis, TensorSlot slot) {
    const ValueId value = valueAt(analysis.graph(), slot);
    if (!value || !analysis.hasConfiguration)
        return nullptr;
    const auto specs = specsAt(document, analysis, slot.node);
    const DecodedSpec* spec = specs ? specs->find(analysis.graph().value(value).name) : nullptr;
    const SlotMeaning* meaning = meaningAt(analysis, slot);
    LayoutRef layout;
    if (spec)
        layout = spec->layout;
    else if (meaning && meaning->source != LayoutSource::Explicit)
        layout = meaning->layout;
    return layout && !decode(analysis.configuration.mesh, *layout) ? layout : nullptr;
}

std::optional<MeshSharding> shardingAt(const Document& document, const Analysis& analysis,
                                       TensorSlot slot) {
    const ValueId value = valueAt(analysis.graph(), slot);
    if (!value || !analysis.hasConfiguration || !analysis.shapes->of(value).hasRank)
        return std::nullopt;
    const auto specs = specsAt(document, analysis, slot.node);
    return shardingOf(analysis, analysis.shapes->of(value), specs.get(),
                      analysis.graph().value(value).name, slot);
}

Result<Edit> assignAxes(const Document& document, const Analysis& analysis,
                        std::span<const TensorSlot> tensorSlots, int dim,
                        const std::vector<int>& axes) {
    if (std::set<int>(axes.begin(), axes.end()).size() != axes.size())
        return Error{"an axis can split a dimension only once", {}};
    return assignEach(
        document, analysis, tensorSlots,
        [&](const TensorInfo& info, const NodeSpecs* specs, TensorSlot slot,
            const std::string& name) -> Result<MeshSharding> {
            if (dim < 0 || static_cast<std::size_t>(dim) >= info.dims.size())
                return shapeError(analysis, slot, "has no dimension " + std::to_string(dim));
            auto sharding = shardingOf(analysis, info, specs, name, slot);
            if (!sharding || sharding->dims.size() != info.dims.size())
                sharding = MeshSharding{std::vector<std::vector<MeshComponent>>(info.dims.size())};
            for (auto& components : sharding->dims)
                removeAxes(components, axes);
            sharding->dims[dim].clear();
            if (!axes.empty())
                sharding->dims[dim] = {MeshComponent{info.dims[dim], axes}};
            return *sharding;
        });
}

Result<Edit> assignComponents(const Document& document, const Analysis& analysis,
                              std::span<const TensorSlot> tensorSlots, int dim,
                              std::string_view components) {
    const auto option =
        ShardOption::parse("t:" + std::to_string(dim) + "=" + std::string(components));
    if (!option)
        return option.error();
    if (option->dims.size() != 1)
        return Error{"only the parts of dimension " + std::to_string(dim) + " are asked for", {}};
    const Mesh& mesh = analysis.configuration.mesh;
    return assignEach(
        document, analysis, tensorSlots,
        [&](const TensorInfo& info, const NodeSpecs* specs, TensorSlot slot,
            const std::string& name) -> Result<MeshSharding> {
            // Alone first: the option's errors are about this dimension only.
            const auto layout = layoutOfOption(*option, mesh, info, {});
            if (!layout)
                return shapeError(analysis, slot, "cannot be split so: " + layout.error().message);
            const auto wanted = decode(mesh, *layout);
            if (!wanted || static_cast<std::size_t>(dim) >= wanted->dims.size())
                return shapeError(analysis, slot, "cannot be split so on this mesh");
            auto sharding = shardingOf(analysis, info, specs, name, slot);
            if (!sharding || sharding->dims.size() != info.dims.size())
                sharding = MeshSharding{std::vector<std::vector<MeshComponent>>(info.dims.size())};
            const auto& parts = wanted->dims[static_cast<std::size_t>(dim)];
            for (auto& others : sharding->dims)
                for (const MeshComponent& part : parts)
                    removeAxes(others, part.axes);
            sharding->dims[static_cast<std::size_t>(dim)] = parts;
            return *sharding;
        });
}

std::string componentsText(const Mesh& mesh, const std::vector<MeshComponent>& components) {
    std::string text;
    for (const MeshComponent& component : components) {
        std::string axes;
        for (const int axis : component.axes)
            axes += (axes.empty() ? "" : "+") + mesh.axes[static_cast<std::size_t>(axis)].name;
        const bool alone = components.size() == 1 && !axes.empty();
        const std::string size = alone ? "" : std::to_string(component.size);
        text +=
            (text.empty() ? "" : "*") + size + (axes.empty() || size.empty() ? axes : "/" + axes);
    }
    return text;
}

Result<Edit> assignReplicated(const Document& document, const Analysis& analysis,
                              std::span<const TensorSlot> tensorSlots) {
    return assignEach(document, analysis, tensorSlots,
                      [](const TensorInfo& info, const NodeSpecs*, TensorSlot,
                         const std::string&) -> Result<MeshSharding> {
                          return MeshSharding{
                              std::vector<std::vector<MeshComponent>>(info.dims.size())};
                      });
}

Edit removeSpecs(const Document& document, const Analysis& analysis,
                 std::span<const TensorSlot> tensorSlots) {
    Sequence sequence(document);
    for (const TensorSlot slot : tensorSlots) {
        const ValueId value = valueAt(analysis.graph(), slot);
        if (value && hasSpec(sequence.present(), analysis, slot))
            sequence.add(editSpec(sequence.present(), slot.node, analysis.configuration.name,
                                  analysis.graph().value(value).name, nullptr,
                                  analysis.shapes->of(value)));
    }
    return sequence.take("Remove layout");
}

Edit assignStage(const Document& document, const Analysis& analysis, std::span<const NodeId> nodes,
                 int stage) {
    Sequence sequence(document);
    if (!analysis.hasConfiguration)
        return {};
    for (const NodeId node : nodes) {
        if (stageOf(document, analysis, node) != stage)
            sequence.add(editStage(sequence.present(), node, analysis.configuration, stage,
                                   *analysis.shapes, sequence.pool()));
    }
    return sequence.take("Assign stage");
}

Edit clearNodes(const Document& document, const Analysis& analysis, std::span<const NodeId> nodes) {
    Edit edit{"Remove annotations", {}};
    for (const NodeId node : nodes) {
        const auto& present = document.annotations.nodes[node.index()];
        if (!present || !analysis.hasConfiguration)
            continue;
        NodeAnnotation rest;
        for (const auto& configuration : *present)
            if (configuration.configuration_id() != analysis.configuration.name)
                rest.push_back(configuration);
        if (rest.size() == present->size())
            continue;
        edit.steps.push_back(SetNodeAnnotation{
            node,
            rest.empty() ? nullptr : std::make_shared<const NodeAnnotation>(std::move(rest))});
    }
    return edit;
}

Result<Edit> changeMesh(const Document& document, const Analysis& analysis, const Mesh& mesh,
                        const std::vector<int>& newAxis) {
    if (!analysis.hasConfiguration)
        return Error{"the model has no device configuration yet", {}};
    const Configuration& before = analysis.configuration;
    Sequence sequence(document);
    std::vector<std::shared_ptr<const NodeSpecs>> specs(document.annotations.nodes.size());
    for (std::size_t i = 0; i < specs.size(); ++i)
        if (document.annotations.nodes[i])
            specs[i] = specsAt(document, analysis, NodeId(i));
    sequence.add(editConfiguration(document, before.name, mesh));
    const auto after =
        findConfiguration(sequence.present(), *analysis.shapes, before.name, sequence.pool());
    if (!after)
        return after.error();
    for (std::size_t i = 0; i < specs.size(); ++i) {
        if (!specs[i])
            continue;
        const DeviceGroup within =
            specs[i]->stage >= 0 ? after->stageDevices(specs[i]->stage) : DeviceGroup{};
        const NodeInfo& node = analysis.graph().node(NodeId(i));
        for (const DecodedSpec& spec : specs[i]->specs) {
            auto sharding = spec.layout ? decode(before.mesh, *spec.layout) : std::nullopt;
            const ValueId value = analysis.graph().findValue(node.graph, spec.tensor);
            if (!sharding || !value)
                continue;
            for (auto& components : sharding->dims) {
                for (MeshComponent& component : components) {
                    for (int& axis : component.axes)
                        axis = newAxis[static_cast<std::size_t>(axis)];
                    std::erase(component.axes, -1);
                }
            }
            const auto layout = encode(mesh, *sharding, spec.layout->shape(), within);
            if (layout)
                sequence.add(editSpec(sequence.present(), NodeId(i), before.name, spec.tensor,
                                      &*layout, analysis.shapes->of(value)));
        }
    }
    return sequence.take("Change mesh");
}

std::vector<std::int64_t> blockSizes(std::int64_t size, std::int64_t shards) {
    const std::int64_t block = Component{size, shards}.block();
    std::vector<std::int64_t> sizes;
    for (std::int64_t k = 0; k < shards; ++k)
        sizes.push_back(std::clamp<std::int64_t>(size - k * block, 0, block));
    return sizes;
}

}  // namespace shardwright
