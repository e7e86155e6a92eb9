// SPDX-License-Identifier: Apache-2.0
#include "run/observed_weights.h"

#include "model/shapes.h"
#include "model/tensor_bytes.h"
#include "run/pack.h"
#include "sharding/glob.h"
#include "sharding/option_targets.h"

#include <onnx/onnx_pb.h>

#include <cstring>
#include <map>

namespace shardwright {

namespace {

LayoutRef layoutAt(const Analysis& analysis, const ValueUse& use) {
    const NodeMeaning& meaning = analysis.meaning.nodes[use.node.index()];
    const auto slot = static_cast<std::size_t>(use.slot);
    return use.slot >= 0 && slot < meaning.inputs.size() ? meaning.inputs[slot].layout : nullptr;
}

}  // namespace

Result<ObservedTensor> findObserved(const Analysis& analysis, const std::string& name) {
    const GraphIndex& graph = analysis.graph();
    ObservedTensor found;
    found.name = name;
    found.value = graph.findValue(GraphId(0), name);
    if (found.value) {
        const ValueInfo& info = graph.value(found.value);
        if (info.initializer && !info.producer && !info.uses.empty())
            found.layout = layoutAt(analysis, info.uses.front());
        return found;
    }
    // Names of tensors and of nodes may have an @ themselves.
    for (auto at = name.rfind('@'); at != std::string::npos && at > 0;
         at = name.rfind('@', at - 1)) {
        found.value = graph.findValue(GraphId(0), name.substr(0, at));
        if (!found.value)
            continue;
        for (const ValueUse& use : graph.value(found.value).uses)
            if (use.slot >= 0 && graph.node(use.node).graph == GraphId(0) &&
                static_cast<std::size_t>(use.slot) < graph.node(use.node).inputs.size() &&
                graph.place(use.node).name == name.substr(at + 1)) {
                found.reader = use.node;
                found.slot = static_cast<std::size_t>(use.slot);
                found.layout = layoutAt(analysis, use);
                return found;
            }
        return Error{"no node `" + name.substr(at + 1) + "` reads the tensor `" +
                         name.substr(0, at) + "`",
                     "observe"};
    }
    return Error{"there is no tensor `" + name + "` to observe" +
                     suggestion(name, TensorIndex(graph).names()),
                 {}};
}

Result<RunResult::Output> observedWeight(const Analysis& analysis, ValueId value,
                                         const Layout* layout,
                                         const std::filesystem::path& folder) {
    const ValueInfo& info = analysis.graph().value(value);
    const std::string place = "weight `" + info.name + "`";
    if (!info.initializer)
        return Error{"it has no value in the file", place};
    RunResult::Output output;
    output.value = value;
    output.name = info.name;
    output.elementType = info.initializer->data_type();
    output.shape.assign(info.initializer->dims().begin(), info.initializer->dims().end());
    const auto bytes = tensorBytes(*info.initializer, folder);
    if (!bytes)
        return Error{bytes.error().message, place};
    const Box whole = Box::whole(output.shape);
    const auto cut = [&](const Box& box) -> Result<Buffer> {
        std::vector<std::int64_t> dims;
        for (const IndexSet& set : box.dims)
            dims.push_back(set.count());
        auto copy = RegionCopy::make(whole, box, box, elementBits(output.elementType));
        if (!copy)
            return Error{copy.error().message, place};
        auto buffer = Buffer::host(output.elementType, std::move(dims));
        if (buffer)
            copy->run(reinterpret_cast<const std::byte*>(bytes->data()), buffer->data());
        return buffer;
    };
    if (!layout) {
        auto buffer = cut(whole);
        if (!buffer)
            return buffer.error();
        for (DeviceId device = 0; device < std::max(1, analysis.configuration.deviceCount);
             ++device)
            output.pieces.push_back({device, whole, *buffer});
        return output;
    }
    std::map<DeviceId, std::vector<RunResult::Piece>> byDevice;
    for (std::int64_t shard = 0; shard < layout->shardCount(); ++shard) {
        const Box box = layout->shardBox(shard);
        auto buffer = cut(box);
        if (!buffer)
            return buffer.error();
        for (const DeviceId device : layout->groups()[static_cast<std::size_t>(shard)])
            byDevice[device].push_back({device, box, *buffer});
    }
    for (auto& [device, pieces] : byDevice)
        for (auto& piece : pieces)
            output.pieces.push_back(std::move(piece));
    return output;
}

}  // namespace shardwright
