// SPDX-License-Identifier: Apache-2.0
#include "rules/rule.h"

#include <onnx/onnx_pb.h>

namespace shardwright {

namespace {

const TensorInfo& infoOf(const ShapeTable& shapes, const std::vector<ValueId>& slots,
                         std::size_t slot) {
    static const TensorInfo kNothing;
    return slot < slots.size() && slots[slot] ? shapes.of(slots[slot]) : kNothing;
}

const onnx::AttributeProto* find(const NodeInfo& node, const char* name) {
    for (const onnx::AttributeProto& attribute : node.proto->attribute())
        if (attribute.name() == name)
            return &attribute;
    return nullptr;
}

/// Files of IR version 1 and 2 may leave the type of an attribute out.
bool isOf(const onnx::AttributeProto& attribute, onnx::AttributeProto::AttributeType type,
          bool hasField) {
    return attribute.type() == type ||
           (attribute.type() == onnx::AttributeProto::UNDEFINED && hasField);
}

}  // namespace

bool NodeContext::hasInput(std::size_t slot) const {
    return slot < node.inputs.size() && node.inputs[slot];
}

bool NodeContext::hasOutput(std::size_t slot) const {
    return slot < node.outputs.size() && node.outputs[slot];
}

const TensorInfo& NodeContext::input(std::size_t slot) const {
    return infoOf(shapes, node.inputs, slot);
}

const TensorInfo& NodeContext::output(std::size_t slot) const {
    return infoOf(shapes, node.outputs, slot);
}

const ConstantValue* NodeContext::constantInput(std::size_t slot) const {
    return hasInput(slot) ? shapes.constant(node.inputs[slot]) : nullptr;
}

std::optional<std::vector<std::int64_t>> NodeContext::constantInts(std::size_t slot) const {
    const ConstantValue* value = constantInput(slot);
    if (value == nullptr)
        return std::nullopt;
    std::int64_t count = 1;
    for (const std::int64_t dim : value->dims)
        count *= dim;
    if (count != static_cast<std::int64_t>(value->ints.size()))
        return std::nullopt;  // Of real numbers.
    return value->ints;
}

std::int64_t NodeContext::attribute(const char* name, std::int64_t otherwise) const {
    const auto* attribute = find(node, name);
    return attribute && isOf(*attribute, onnx::AttributeProto::INT, attribute->has_i())
               ? attribute->i()
               : otherwise;
}

double NodeContext::attribute(const char* name, double otherwise) const {
    const auto* attribute = find(node, name);
    return attribute && isOf(*attribute, onnx::AttributeProto::FLOAT, attribute->has_f())
               ? static_cast<double>(attribute->f())
               : otherwise;
}

std::string NodeContext::attribute(const char* name, const char* otherwise) const {
    const auto* attribute = find(node, name);
    return attribute && isOf(*attribute, onnx::AttributeProto::STRING, attribute->has_s())
               ? attribute->s()
               : otherwise;
}

std::vector<std::int64_t> NodeContext::attributeInts(const char* name) const {
    const auto* attribute = find(node, name);
    if (attribute == nullptr ||
        !isOf(*attribute, onnx::AttributeProto::INTS, attribute->ints_size() > 0))
        return {};
    return {attribute->ints().begin(), attribute->ints().end()};
}

std::vector<double> NodeContext::attributeReals(const char* name) const {
    const auto* attribute = find(node, name);
    if (attribute == nullptr ||
        !isOf(*attribute, onnx::AttributeProto::FLOATS, attribute->floats_size() > 0))
        return {};
    return {attribute->floats().begin(), attribute->floats().end()};
}

bool NodeContext::hasAttribute(const char* name) const {
    return find(node, name) != nullptr;
}

}  // namespace shardwright
