// SPDX-License-Identifier: Apache-2.0
//
// Calls of model-local functions. A body is indexed once but called with different shapes: each
// distinct call is inferred once, and what a function's values have in all of them is what is shown
// of the function.

#include "model/shape_pass.h"

#include <utility>

namespace shardwright {

ShapePass::Attributes ShapePass::functionAttributes(const NodeInfo& node,
                                                    const onnx::FunctionProto& function) const {
    Attributes attributes;
    for (const auto& preset : function.attribute_proto())
        attributes[preset.name()] = &preset;
    for (const auto& given : node.proto->attribute())
        attributes[given.name()] = attribute(node, given.name());
    std::erase_if(attributes, [](const auto& entry) { return entry.second == nullptr; });
    return attributes;
}

std::string ShapePass::callKey(const NodeInfo& node) const {
    std::string key =
        std::to_string(node.function.value) + "/" + std::to_string(node.inputs.size());
    const auto add = [&](const std::string& text) {
        key += "/" + std::to_string(text.size()) + ":" + text;
    };
    for (const ValueId id : node.inputs) {
        const ValueState* known = id ? &of(id) : nullptr;
        add(known != nullptr && known->type != nullptr ? known->type->SerializeAsString()
                                                       : std::string());
        add(known != nullptr && known->partial != nullptr ? known->partial->SerializeAsString()
                                                          : std::string());
        std::string elements;
        if (known != nullptr && known->constant != nullptr) {
            for (const std::int64_t value : known->constant->ints)
                elements += std::to_string(value) + ",";
            for (const double value : known->constant->reals)
                elements += std::to_string(value) + ",";
        }
        add(elements);
    }
    for (const auto& given : node.proto->attribute()) {
        const onnx::AttributeProto* value = attribute(node, given.name());
        add(given.name());
        add(value != nullptr ? value->SerializeAsString() : std::string());
    }
    return key;
}

void ShapePass::bindFunctionInputs(const NodeInfo& node, const GraphInfo& function) {
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
        ValueState& input = state(function.inputs[i]);
        const bool given = i < node.inputs.size() && node.inputs[i];
        input = given ? of(node.inputs[i]) : ValueState();
        input.type = input.type != nullptr ? copyType(*input.type) : newType();
    }
}

bool ShapePass::runFunction(const NodeInfo& node, Call& call) {
    const GraphInfo& function = m_index.graph(node.function);
    const std::string why = m_active[function.id.index()] ? "calls itself" : whyNotEnter();
    if (!why.empty()) {
        complain(node, why);
        return false;
    }
    const Attributes attributes =
        functionAttributes(node, *m_sources[function.id.index()].function);
    const Attributes* const outer = std::exchange(m_attributes, &attributes);
    m_active[function.id.index()] = true;
    ++m_depth;
    bindFunctionInputs(node, function);
    runGraph(function.id);
    --m_depth;
    m_active[function.id.index()] = false;
    m_attributes = outer;
    for (const ValueId id : function.outputs)
        call.outputs.push_back(of(id));
    summarise(function.id);
    return true;
}

void ShapePass::callFunction(const NodeInfo& node) {
    const std::string key = callKey(node);
    if (!m_calls.contains(key)) {
        Call made;
        if (!runFunction(node, made))
            return;
        m_calls.emplace(key, std::move(made));
    }
    const Call& call = m_calls.at(key);
    for (std::size_t i = 0; i < node.outputs.size() && i < call.outputs.size(); ++i) {
        if (!node.outputs[i])
            continue;
        state(node.outputs[i]) = call.outputs[i];
        state(node.outputs[i]).type =
            call.outputs[i].type != nullptr ? copyType(*call.outputs[i].type) : newType();
    }
}

void ShapePass::summarise(GraphId function) {
    for (const ValueId id : m_functionValues[function.index()]) {
        const ValueState& now = of(id);
        const auto [summary, added] = m_summaries.try_emplace(id, now);
        if (added) {
            if (now.type != nullptr)
                summary->second.type = copyType(*now.type);
            continue;
        }
        if (now.type == nullptr || summary->second.type == nullptr)
            summary->second.type = nullptr;
        else
            meetTypes(*now.type, *summary->second.type);
        const ConstantRef& before = summary->second.constant;
        const bool same = before && now.constant && before->dims == now.constant->dims &&
                          before->ints == now.constant->ints &&
                          before->reals == now.constant->reals;
        if (!same)
            summary->second.constant = nullptr;
    }
}

void ShapePass::restoreSummaries() {
    for (const auto& [id, summary] : m_summaries)
        state(id) = summary;
}

}  // namespace shardwright
