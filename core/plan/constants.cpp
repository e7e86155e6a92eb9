// SPDX-License-Identifier: Apache-2.0
#include "plan/constants.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace shardwright::lowering {

ConstantTable::ConstantTable(const Context& context) : m_context(context) {
    const auto& given = context.analysis.options.bindings.given;
    for (const ValueId input : context.graph.main().inputs)
        if (given.count(context.graph.value(input).name) > 0)
            m_known[input] = nullptr;
}

ConstantTable::~ConstantTable() = default;

const onnx::TensorProto* ConstantTable::of(ValueId value) {
    const auto it = m_known.find(value);
    if (it != m_known.end())
        return it->second;
    return m_known[value] = find(value);
}

const onnx::TensorProto* ConstantTable::find(ValueId value) {
    const ValueInfo& info = m_context.graph.value(value);
    if (info.initializer != nullptr)
        return info.initializer;
    if (info.kind != ValueKind::NodeOutput || !info.producer)
        return nullptr;
    if (const onnx::TensorProto* tensor = fromAttribute(info.producer))
        return tensor;
    return m_context.annotated && m_context.everywhere(info.producer)
               ? fromShapes(value, info.producer)
               : nullptr;
}

/// Known by name, since it is the format's other way to write an initializer, not an operation.
bool ConstantTable::isConstantNode(NodeId node) const {
    return m_context.graph.opType(node) == "Constant" && m_context.graph.domain(node).empty();
}

const onnx::TensorProto* ConstantTable::keep(onnx::TensorProto tensor) {
    m_kept.push_back(std::make_unique<onnx::TensorProto>(std::move(tensor)));
    m_made.insert(m_kept.back().get());
    return m_kept.back().get();
}

const onnx::TensorProto* ConstantTable::fromAttribute(NodeId node) {
    if (!isConstantNode(node))
        return nullptr;
    for (const auto& attribute : m_context.graph.node(node).proto->attribute()) {
        if (attribute.name() == "value" && attribute.has_t())
            return &attribute.t();
        if (attribute.name() == "value_int")
            return keep(integerTensor(onnx::TensorProto::INT64, {}, {attribute.i()}));
        if (attribute.name() == "value_ints")
            return keep(intsTensor({attribute.ints().begin(), attribute.ints().end()}));
        if (attribute.name() == "value_float") {
            onnx::TensorProto tensor;
            tensor.set_data_type(onnx::TensorProto::FLOAT);
            tensor.add_float_data(attribute.f());
            return keep(std::move(tensor));
        }
        if (attribute.name() == "value_floats") {
            onnx::TensorProto tensor;
            tensor.set_data_type(onnx::TensorProto::FLOAT);
            tensor.add_dims(attribute.floats_size());
            *tensor.mutable_float_data() = attribute.floats();
            return keep(std::move(tensor));
        }
    }
    return nullptr;
}

const onnx::TensorProto* ConstantTable::fromShapes(ValueId value, NodeId producer) {
    if (const ConstantValue* known = m_context.shapes.constant(value)) {
        const auto type = known->elementType;
        if (type == onnx::TensorProto::INT64 || type == onnx::TensorProto::INT32 ||
            type == onnx::TensorProto::BOOL)
            return keep(integerTensor(type, known->dims, known->ints));
    }
    // A rewrite of the rule says so: the output is the shape (or the size) of the whole input.
    for (const Rewrite& rewrite : m_context.rule(producer).rewrites) {
        const auto slot = static_cast<std::size_t>(rewrite.slot);
        if (rewrite.kind != Rewrite::Kind::Constant ||
            slot >= m_context.graph.node(producer).inputs.size())
            continue;
        const ValueId input = m_context.graph.node(producer).inputs[slot];
        if (!input || !m_context.sized(input))
            m_context.refuse(producer, "the shape of `" + (input ? m_context.name(input) : "") +
                                           "` is not known in numbers");
        const std::vector<std::int64_t>& all = m_context.info(input).dims;
        if (rewrite.name == "count")
            return keep(integerTensor(onnx::TensorProto::INT64, {},
                                      {m_context.info(input).elementCount()}));
        std::vector<std::int64_t> sizes;
        for (const int d : rewrite.dims)
            sizes.push_back(all[static_cast<std::size_t>(d)]);
        return keep(intsTensor(std::move(sizes)));
    }
    return nullptr;
}

namespace {

template <class T>
void append(std::string& bytes, T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::uint16_t halfBits(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16 & 0x8000U;
    const int exponent = static_cast<int>(bits >> 23 & 0xffU) - 127 + 15;
    std::uint32_t mantissa = bits & 0x7fffffU;
    if (exponent >= 31)
        return static_cast<std::uint16_t>(sign | 0x7c00U);
    if (exponent <= 0) {
        if (exponent < -10)
            return static_cast<std::uint16_t>(sign);
        mantissa |= 0x800000U;
        const int shift = 14 - exponent;
        const std::uint32_t rounded =
            (mantissa + (1U << (shift - 1)) - 1 + (mantissa >> shift & 1U)) >> shift;
        return static_cast<std::uint16_t>(sign | rounded);
    }
    const std::uint32_t rounded = mantissa + 0xfffU + (mantissa >> 13 & 1U);
    return static_cast<std::uint16_t>(
        sign | ((static_cast<std::uint32_t>(exponent) << 10) + (rounded >> 13)));
}

std::uint16_t brainBits(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

}  // namespace

onnx::TensorProto intsTensor(const std::vector<std::int64_t>& values) {
    return integerTensor(onnx::TensorProto::INT64, {static_cast<std::int64_t>(values.size())},
                         values);
}

onnx::TensorProto integerTensor(std::int32_t elementType, const std::vector<std::int64_t>& dims,
                                const std::vector<std::int64_t>& values) {
    onnx::TensorProto tensor;
    tensor.set_data_type(elementType);
    for (const std::int64_t dim : dims)
        tensor.add_dims(dim);
    std::string& bytes = *tensor.mutable_raw_data();
    for (const std::int64_t value : values) {
        if (elementType == onnx::TensorProto::INT64)
            append(bytes, value);
        else if (elementType == onnx::TensorProto::INT32)
            append(bytes, static_cast<std::int32_t>(value));
        else
            append(bytes, static_cast<std::uint8_t>(value != 0));
    }
    return tensor;
}

onnx::TensorProto zeroTensor(std::int32_t elementType) {
    onnx::TensorProto tensor;
    tensor.set_data_type(elementType);
    tensor.add_dims(1);
    if (elementType == onnx::TensorProto::STRING)
        tensor.add_string_data("");
    else
        tensor.set_raw_data(
            std::string(static_cast<std::size_t>(storageBytes(elementType, 1)), '\0'));
    return tensor;
}

onnx::TensorProto scalarTensor(std::int32_t elementType, double value) {
    onnx::TensorProto tensor;
    tensor.set_data_type(elementType);
    std::string& bytes = *tensor.mutable_raw_data();
    switch (elementType) {
        case onnx::TensorProto::FLOAT: append(bytes, static_cast<float>(value)); break;
        case onnx::TensorProto::DOUBLE: append(bytes, value); break;
        case onnx::TensorProto::FLOAT16: append(bytes, halfBits(static_cast<float>(value))); break;
        case onnx::TensorProto::BFLOAT16:
            append(bytes, brainBits(static_cast<float>(value)));
            break;
        case onnx::TensorProto::INT64: append(bytes, static_cast<std::int64_t>(value)); break;
        case onnx::TensorProto::UINT64: append(bytes, static_cast<std::uint64_t>(value)); break;
        case onnx::TensorProto::INT32: append(bytes, static_cast<std::int32_t>(value)); break;
        case onnx::TensorProto::UINT32: append(bytes, static_cast<std::uint32_t>(value)); break;
        case onnx::TensorProto::INT16: append(bytes, static_cast<std::int16_t>(value)); break;
        case onnx::TensorProto::UINT16: append(bytes, static_cast<std::uint16_t>(value)); break;
        case onnx::TensorProto::INT8: append(bytes, static_cast<std::int8_t>(value)); break;
        case onnx::TensorProto::UINT8: append(bytes, static_cast<std::uint8_t>(value)); break;
        case onnx::TensorProto::BOOL: append(bytes, static_cast<std::uint8_t>(value != 0)); break;
        default:
            throw Refusal{"no scalar of type " + elementTypeName(elementType) + " can be made", {}};
    }
    return tensor;
}

}  // namespace shardwright::lowering
