// SPDX-License-Identifier: Apache-2.0
#include "model/constant_value.h"

#include "model/tensor_bytes.h"

#include <onnx/onnx_pb.h>

#include <bit>
#include <cmath>
#include <cstring>

namespace shardwright {

namespace {

using T = onnx::TensorProto;

double fromHalf(std::uint16_t bits) {
    const double sign = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
    const int exponent = bits >> 10 & 0x1f;
    const int mantissa = bits & 0x3ff;
    if (exponent == 31)
        return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
    if (exponent == 0)
        return sign * std::ldexp(mantissa, -24);
    return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

double fromBrain(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

template <class Stored, class Out, class Convert>
void readElements(const std::string& bytes, std::vector<Out>& out, Convert convert) {
    out.reserve(bytes.size() / sizeof(Stored));
    for (std::size_t at = 0; at + sizeof(Stored) <= bytes.size(); at += sizeof(Stored)) {
        Stored value;
        std::memcpy(&value, bytes.data() + at, sizeof(Stored));
        out.push_back(convert(value));
    }
}

template <class Stored>
void readInts(const std::string& bytes, ConstantValue& out) {
    readElements<Stored>(bytes, out.ints,
                         [](Stored value) { return static_cast<std::int64_t>(value); });
}

void readBytes(const std::string& bytes, ConstantValue& out) {
    switch (out.elementType) {
        case T::INT64: return readInts<std::int64_t>(bytes, out);
        case T::UINT64: return readInts<std::uint64_t>(bytes, out);
        case T::INT32: return readInts<std::int32_t>(bytes, out);
        case T::UINT32: return readInts<std::uint32_t>(bytes, out);
        case T::INT16: return readInts<std::int16_t>(bytes, out);
        case T::UINT16: return readInts<std::uint16_t>(bytes, out);
        case T::INT8: return readInts<std::int8_t>(bytes, out);
        case T::UINT8: return readInts<std::uint8_t>(bytes, out);
        case T::BOOL:
            return readElements<std::uint8_t>(bytes, out.ints,
                                              [](std::uint8_t v) { return std::int64_t(v != 0); });
        case T::FLOAT:
            return readElements<float>(bytes, out.reals, [](float v) { return double(v); });
        case T::DOUBLE: return readElements<double>(bytes, out.reals, [](double v) { return v; });
        case T::FLOAT16: return readElements<std::uint16_t>(bytes, out.reals, fromHalf);
        case T::BFLOAT16: return readElements<std::uint16_t>(bytes, out.reals, fromBrain);
        default: return;
    }
}

}  // namespace

bool isIntegral(std::int32_t type) {
    switch (type) {
        case T::INT64:
        case T::UINT64:
        case T::INT32:
        case T::UINT32:
        case T::INT16:
        case T::UINT16:
        case T::INT8:
        case T::UINT8:
        case T::BOOL: return true;
        default: return false;
    }
}

bool isReal(std::int32_t type) {
    return type == T::FLOAT || type == T::DOUBLE || type == T::FLOAT16 || type == T::BFLOAT16;
}

ConstantRef constantFromTensor(const onnx::TensorProto& tensor, std::int64_t limit) {
    if (!isIntegral(tensor.data_type()) && !isReal(tensor.data_type()))
        return nullptr;
    if (tensor.data_location() == T::EXTERNAL)
        return nullptr;
    const auto count = elementCount(tensor);
    if (!count || *count > limit)
        return nullptr;
    const auto bytes = tensorBytes(tensor, {});
    if (!bytes)
        return nullptr;
    auto constant = std::make_shared<ConstantValue>();
    constant->elementType = tensor.data_type();
    constant->dims.assign(tensor.dims().begin(), tensor.dims().end());
    readBytes(*bytes, *constant);
    return constant;
}

bool tensorFromConstant(const ConstantValue& constant, onnx::TensorProto& tensor) {
    tensor.set_data_type(constant.elementType);
    tensor.mutable_dims()->Add(constant.dims.begin(), constant.dims.end());
    switch (constant.elementType) {
        case T::INT64:
            tensor.mutable_int64_data()->Add(constant.ints.begin(), constant.ints.end());
            return true;
        case T::UINT64:
        case T::UINT32:
            for (const std::int64_t value : constant.ints)
                tensor.add_uint64_data(static_cast<std::uint64_t>(value));
            return true;
        case T::FLOAT:
            for (const double value : constant.reals)
                tensor.add_float_data(static_cast<float>(value));
            return true;
        case T::DOUBLE:
            tensor.mutable_double_data()->Add(constant.reals.begin(), constant.reals.end());
            return true;
        case T::FLOAT16:
        case T::BFLOAT16: return false;
        default:
            for (const std::int64_t value : constant.ints)
                tensor.add_int32_data(static_cast<std::int32_t>(value));
            return true;
    }
}

std::optional<std::int64_t> countWithin(const std::vector<std::int64_t>& dims, std::int64_t limit) {
    std::int64_t count = 1;
    bool empty = false;
    for (const std::int64_t dim : dims) {
        if (dim < 0)
            return std::nullopt;
        empty = empty || dim == 0;
    }
    if (empty)
        return 0;
    for (const std::int64_t dim : dims) {
        if (count > limit / dim)
            return std::nullopt;
        count *= dim;
    }
    return count;
}

}  // namespace shardwright
