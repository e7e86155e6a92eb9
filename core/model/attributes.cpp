// SPDX-License-Identifier: Apache-2.0
#include "model/attributes.h"

#include "model/shapes.h"

#include <onnx/onnx_pb.h>

#include <charconv>

namespace shardwright {
namespace {

std::string numberText(float value) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    return {buffer, end};
}

std::string numberText(std::int64_t value) {
    return std::to_string(value);
}

/// Cut at a character's first byte, so that UTF-8 stays valid.
std::string cut(std::string text) {
    if (text.size() <= kMaxAttributeText)
        return text;
    std::size_t end = kMaxAttributeText;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
        --end;
    text.resize(end);
    return text + " ...";
}

template <class Values, class ToText>
std::string listText(const Values& values, ToText toText) {
    std::string text = "[";
    for (const auto& value : values) {
        if (text.size() > 1)
            text += ", ";
        if (text.size() > kMaxAttributeText - 60)
            return text + "...] (" + std::to_string(values.size()) + " values)";
        text += toText(value);
    }
    return text + "]";
}

std::string tensorText(const onnx::TensorProto& tensor) {
    std::string text = elementTypeName(tensor.data_type());
    for (int i = 0; i < tensor.dims_size(); ++i)
        text += (i == 0 ? " " : "x") + std::to_string(tensor.dims(i));
    // The one number of a scalar says more than its shape.
    if (tensor.dims_size() == 0 && tensor.float_data_size() == 1)
        text += " = " + numberText(tensor.float_data(0));
    if (tensor.dims_size() == 0 && tensor.int64_data_size() == 1)
        text += " = " + numberText(tensor.int64_data(0));
    return text;
}

std::string graphText(const onnx::GraphProto& graph) {
    return std::to_string(graph.node_size()) + (graph.node_size() == 1 ? " node" : " nodes");
}

std::string valueText(const onnx::AttributeProto& attribute) {
    using A = onnx::AttributeProto;
    if (!attribute.ref_attr_name().empty())
        return "= " + attribute.ref_attr_name();
    switch (attribute.type()) {
        case A::INT: return numberText(attribute.i());
        case A::FLOAT: return numberText(attribute.f());
        case A::STRING: return attribute.s();
        case A::TENSOR: return tensorText(attribute.t());
        case A::GRAPH: return graphText(attribute.g());
        case A::INTS:
            return listText(attribute.ints(), [](std::int64_t v) { return numberText(v); });
        case A::FLOATS: return listText(attribute.floats(), [](float v) { return numberText(v); });
        case A::STRINGS:
            return listText(attribute.strings(), [](const std::string& v) { return v; });
        case A::TENSORS: return listText(attribute.tensors(), tensorText);
        case A::GRAPHS: return listText(attribute.graphs(), graphText);
        default: return {};
    }
}

}  // namespace

std::vector<AttributeText> attributeTexts(const GraphIndex& graph, NodeId node) {
    std::vector<AttributeText> texts;
    for (const onnx::AttributeProto& attribute : graph.node(node).proto->attribute()) {
        std::string type = onnx::AttributeProto::AttributeType_Name(attribute.type());
        if (type.empty())
            type = std::to_string(attribute.type());
        texts.push_back({attribute.name(), std::move(type), cut(valueText(attribute))});
    }
    return texts;
}

}  // namespace shardwright
