// SPDX-License-Identifier: Apache-2.0
#include "check/split_words.h"

#include "sharding/shard_text.h"

namespace shardwright {

namespace {

/// " over tp", or " into 4" where no axes say it.
std::string shardText(const Mesh& mesh, const Layout& layout, std::size_t dim) {
    if (const auto sharding = decode(mesh, layout)) {
        std::string axes;
        if (dim < sharding->dims.size())
            for (const MeshComponent& c : sharding->dims[dim])
                for (const int axis : c.axes)
                    axes +=
                        (axes.empty() ? "" : "+") + mesh.axes[static_cast<std::size_t>(axis)].name;
        if (!axes.empty())
            return " over " + axes;
    }
    std::int64_t shards = 1;
    for (const Component& c : layout.dims()[dim])
        shards *= c.shards;
    return " into " + std::to_string(shards);
}

}  // namespace

std::string listDevices(const DeviceGroup& devices) {
    constexpr std::size_t kShown = 16;
    std::string text = devices.size() == 1 ? "device " : "devices ";
    const std::size_t shown = devices.size() > kShown + 1 ? kShown : devices.size();
    for (std::size_t i = 0; i < shown; ++i)
        text += (i ? ", " : "") + std::to_string(devices[i]);
    if (shown < devices.size())
        text += " and " + std::to_string(devices.size() - shown) + " more";
    return text;
}

std::string nodeTitle(const Analysis& analysis, NodeId id) {
    const GraphIndex& graph = analysis.graph();
    return std::string(graph.opType(id)) + " `" + graph.label(id) + "`: ";
}

std::string inputName(const Analysis& analysis, NodeId id, int slot) {
    const NodeInfo& n = analysis.graph().node(id);
    const auto index = static_cast<std::size_t>(slot);
    if (slot < 0)
        return {};
    const ValueId value = index < n.inputs.size() ? n.inputs[index]
                          : index - n.inputs.size() < n.captures.size()
                              ? n.captures[index - n.inputs.size()]
                              : ValueId{};
    return value ? analysis.graph().value(value).name : std::string();
}

LayoutRef inputLayout(const Analysis& analysis, NodeId id, int slot) {
    const auto& inputs = analysis.meaning.nodes[id.index()].inputs;
    return slot >= 0 && static_cast<std::size_t>(slot) < inputs.size()
               ? inputs[static_cast<std::size_t>(slot)].layout
               : nullptr;
}

std::string describeSplit(const Analysis& analysis, NodeId id, int slot) {
    const LayoutRef layout = inputLayout(analysis, id, slot);
    std::string text = "`" + inputName(analysis, id, slot) + "`";
    if (!layout)
        return text + " is whole on every device";
    std::string where;
    for (std::size_t d = 0; d < layout->dims().size(); ++d)
        if (layout->isSplit(d))
            where += (where.empty() ? " is split on dimension " : " and dimension ") +
                     std::to_string(d) + " (size " + std::to_string(layout->shape()[d]) + ")" +
                     shardText(analysis.configuration.mesh, *layout, d);
    return text + (where.empty() ? " is whole" : where) + " on " + listDevices(layout->devices());
}

}  // namespace shardwright
