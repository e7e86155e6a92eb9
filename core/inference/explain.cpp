// SPDX-License-Identifier: Apache-2.0
#include "inference/meaning.h"
#include "sharding/shard_text.h"

namespace shardwright {

namespace {

std::string quoted(const std::string& name) {
    return "`" + name + "`";
}

std::string describeOr(const LayoutRef& layout, const Mesh& mesh, const char* otherwise) {
    return layout ? shortText(*layout, mesh) : otherwise;
}

/// "`a` [., tp] and `w2` [tp, .]": the inputs that say how a node is split.
std::string layoutsOfInputs(const MeaningInput& input, const Meaning& meaning,
                            const NodeInfo& node) {
    std::string text;
    const NodeMeaning& m = meaning.nodes[node.id.index()];
    for (std::size_t slot = 0; slot < m.inputs.size() && slot < node.inputs.size(); ++slot) {
        if (!m.inputs[slot].layout || !node.inputs[slot])
            continue;
        if (!text.empty())
            text += " and ";
        text += quoted(input.model->graph().value(node.inputs[slot]).name) + " " +
                shortText(*m.inputs[slot].layout, input.configuration->mesh);
    }
    return text;
}

std::string explainInput(const MeaningInput& input, const Meaning& meaning, const NodeInfo& node,
                         int slot) {
    const GraphIndex& graph = input.model->graph();
    const NodeMeaning& m = meaning.nodes[node.id.index()];
    const auto index = static_cast<std::size_t>(slot);
    const ValueId id =
        index < node.inputs.size() ? node.inputs[index] : node.captures[index - node.inputs.size()];
    if (!id)
        return "omitted";
    const ValueInfo& value = graph.value(id);
    const SlotMeaning& s = m.inputs[index];
    const std::string from =
        value.producer ? "`" + graph.label(value.producer) + "`" : std::string("the file");
    switch (s.source) {
        case LayoutSource::Explicit:
            return "a spec at this node; it arrives from " + from + " as " +
                   describeOr(s.arrives, input.configuration->mesh, "whole on every device");
        case LayoutSource::Inferred:
            return s.moved ? "moved from " + from + " to the devices of this node"
                           : "as " + from + " leaves it";
        case LayoutSource::Everywhere:
            if (value.kind == ValueKind::Initializer)
                return "an initializer without a spec is available everywhere";
            if (value.kind == ValueKind::GraphInput)
                return "a model input without a spec is whole on every device";
            return from + " computes it on every device";
        case LayoutSource::Unknown: break;
    }
    return value.kind == ValueKind::Missing ? "nobody produces it" : from + " has no valid layout";
}

}  // namespace

std::string explainSlot(const MeaningInput& input, const Meaning& meaning, NodeId id, bool output,
                        int slot) {
    const NodeInfo& node = input.model->graph().node(id);
    const NodeMeaning& m = meaning.nodes[id.index()];
    const auto& slots = output ? m.outputs : m.inputs;
    if (slot < 0 || static_cast<std::size_t>(slot) >= slots.size())
        return "not part of this configuration's main graph";
    if (!output)
        return explainInput(input, meaning, node, slot);
    const SlotMeaning& s = slots[static_cast<std::size_t>(slot)];
    const std::string rule = "rule " + input.rules->of(id)->text();
    switch (s.source) {
        case LayoutSource::Explicit: return "a spec at this node";
        case LayoutSource::Everywhere:
            return input.rules->of(id)->everywhereOutputs
                       ? "depends on shapes only: whole on every device"
                       : "all inputs are whole on every device";
        case LayoutSource::Inferred: {
            const std::string inputs = layoutsOfInputs(input, meaning, node);
            std::string text =
                inputs.empty() ? "runs on the devices of this node" : "follows from " + inputs;
            if (m.solution && m.solution->cells &&
                !m.solution->cells->partialFactors(static_cast<std::size_t>(slot)).empty())
                text += "; partial results are joined on all devices that take part";
            return text + "; " + rule;
        }
        case LayoutSource::Unknown: break;
    }
    return m.solution && !m.solution->problems.empty() ? "this node has an error"
                                                       : "an input has no valid layout";
}

}  // namespace shardwright
