// SPDX-License-Identifier: Apache-2.0
#include "model/schema_context.h"

#include <stdexcept>

namespace shardwright {

namespace {

using google::protobuf::Arena;

[[noreturn]] void outOfBounds(const char* what, std::size_t index) {
    throw onnx::InferenceError(std::string(what) + " " + std::to_string(index) + " is missing");
}

}  // namespace

SchemaContext::SchemaContext(ShapePass& pass, const NodeInfo& node) : m_pass(pass), m_node(node) {}

const onnx::AttributeProto* SchemaContext::getAttribute(const std::string& name) const {
    return m_pass.attribute(m_node, name);
}

const ValueState* SchemaContext::input(std::size_t index) const {
    if (index >= m_node.inputs.size())
        outOfBounds("input", index);
    return m_node.inputs[index] ? &m_pass.of(m_node.inputs[index]) : nullptr;
}

const onnx::TypeProto* SchemaContext::getInputType(std::size_t index) const {
    const ValueState* state = input(index);
    return state != nullptr ? state->type : nullptr;
}

bool SchemaContext::hasInput(std::size_t index) const {
    return index < m_node.inputs.size() && bool(m_node.inputs[index]);
}

const onnx::TensorProto* SchemaContext::getInputData(std::size_t index) const {
    const ValueState* state = input(index);
    return state != nullptr ? state->tensor : nullptr;
}

const onnx::TensorShapeProto* SchemaContext::getSymbolicInput(std::size_t index) const {
    const ValueState* state = input(index);
    return state != nullptr ? state->partial : nullptr;
}

onnx::TypeProto* SchemaContext::getOutputType(std::size_t index) {
    if (index >= m_node.outputs.size())
        outOfBounds("output", index);
    if (m_node.outputs[index])
        return m_pass.state(m_node.outputs[index]).type;
    if (m_omitted == nullptr)
        m_omitted = m_pass.newType();
    return m_omitted;
}

bool SchemaContext::hasOutput(std::size_t index) {
    return index < m_node.outputs.size() && bool(m_node.outputs[index]);
}

onnx::GraphInferencer* SchemaContext::getGraphAttributeInferencer(const std::string& name) {
    const GraphId body = m_pass.bodyNamed(m_node, name);
    if (!body)
        throw onnx::InferenceError("attribute '" + name + "' has no graph");
    m_bodies.push_back(std::make_unique<BodyInferencer>(m_pass, m_node, body));
    return m_bodies.back().get();
}

const onnx::AttributeProto* PropagationContext::getAttribute(const std::string& name) const {
    return m_pass.attribute(m_node, name);
}

const onnx::TypeProto* PropagationContext::getInputType(std::size_t index) const {
    if (index >= m_node.inputs.size())
        outOfBounds("input", index);
    return m_node.inputs[index] ? m_pass.of(m_node.inputs[index]).type : nullptr;
}

const onnx::TypeProto* PropagationContext::getOutputType(std::size_t index) const {
    if (index >= m_node.outputs.size())
        outOfBounds("output", index);
    return m_node.outputs[index] ? m_pass.of(m_node.outputs[index]).type : nullptr;
}

const onnx::TensorShapeProto* PropagationContext::getInputData(std::size_t index) {
    if (index >= m_node.inputs.size())
        outOfBounds("input", index);
    if (!m_node.inputs[index])
        return nullptr;
    const ValueState& state = m_pass.of(m_node.inputs[index]);
    if (state.partial != nullptr || state.constant == nullptr)
        return state.partial;
    const ConstantValue& constant = *state.constant;
    const bool indexType = constant.elementType == onnx::TensorProto::INT64 ||
                           constant.elementType == onnx::TensorProto::INT32;
    if (!indexType || constant.dims.size() > 1)
        return nullptr;
    auto* shape = Arena::CreateMessage<onnx::TensorShapeProto>(&m_pass.m_arena);
    for (const std::int64_t value : constant.ints)
        shape->add_dim()->set_dim_value(value);
    return shape;
}

void PropagationContext::addOutputData(std::size_t index, onnx::TensorShapeProto&& data) {
    if (index >= m_node.outputs.size() || !m_node.outputs[index] ||
        data.dim_size() > ShapeTable::kMaxFolded)
        return;
    auto* shape = Arena::CreateMessage<onnx::TensorShapeProto>(&m_pass.m_arena);
    *shape = std::move(data);
    m_pass.state(m_node.outputs[index]).partial = shape;
}

}  // namespace shardwright
