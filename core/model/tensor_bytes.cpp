// SPDX-License-Identifier: Apache-2.0
#include "model/tensor_bytes.h"

#include "model/shapes.h"

#include <onnx/onnx_pb.h>

#include <bit>
#include <cstring>
#include <limits>

namespace shardwright {

namespace {

// The fields below are copied as they lie in memory.
static_assert(std::endian::native == std::endian::little);

using T = onnx::TensorProto;

Error tensorError(const onnx::TensorProto& tensor, const std::string& message) {
    return {message, "tensor '" + tensor.name() + "'"};
}

Error wrongCount(const onnx::TensorProto& tensor, const char* field, std::int64_t found,
                 std::int64_t needed) {
    return tensorError(tensor, std::string("its ") + field + " has " + std::to_string(found) +
                                   " entries; its dims need " + std::to_string(needed));
}

template <class Out, class Field>
Result<std::string> fromField(const onnx::TensorProto& tensor, const Field& field, const char* name,
                              std::int64_t needed) {
    if (field.size() != needed)
        return wrongCount(tensor, name, field.size(), needed);
    std::string bytes(static_cast<std::size_t>(needed) * sizeof(Out), '\0');
    char* to = bytes.data();
    for (const auto element : field) {
        const Out value = static_cast<Out>(element);
        std::memcpy(to, &value, sizeof(Out));
        to += sizeof(Out);
    }
    return bytes;
}

/// One entry for each 6-bit element here; four of them in three bytes, lowest bits first, in
/// raw_data.
Result<std::string> packedSixBit(const onnx::TensorProto& tensor, std::int64_t count) {
    if (tensor.int32_data_size() != count)
        return wrongCount(tensor, "int32_data", tensor.int32_data_size(), count);
    std::string bytes(static_cast<std::size_t>(storageBytes(tensor.data_type(), count)), '\0');
    std::size_t bit = 0;
    for (const std::int32_t element : tensor.int32_data()) {
        for (unsigned i = 0; i < 6; ++i, ++bit) {
            if ((static_cast<unsigned>(element) >> i & 1u) != 0)
                bytes[bit / 8] =
                    static_cast<char>(static_cast<unsigned char>(bytes[bit / 8]) | 1u << bit % 8);
        }
    }
    return bytes;
}

Result<std::string> fromTypedFields(const onnx::TensorProto& tensor, std::int64_t count) {
    switch (tensor.data_type()) {
        case T::FLOAT: return fromField<float>(tensor, tensor.float_data(), "float_data", count);
        case T::COMPLEX64:
            return fromField<float>(tensor, tensor.float_data(), "float_data", 2 * count);
        case T::DOUBLE:
            return fromField<double>(tensor, tensor.double_data(), "double_data", count);
        case T::COMPLEX128:
            return fromField<double>(tensor, tensor.double_data(), "double_data", 2 * count);
        case T::INT64:
            return fromField<std::int64_t>(tensor, tensor.int64_data(), "int64_data", count);
        case T::UINT64:
            return fromField<std::uint64_t>(tensor, tensor.uint64_data(), "uint64_data", count);
        case T::UINT32:
            return fromField<std::uint32_t>(tensor, tensor.uint64_data(), "uint64_data", count);
        case T::INT32:
            return fromField<std::int32_t>(tensor, tensor.int32_data(), "int32_data", count);
        case T::FLOAT6E2M3:
        case T::FLOAT6E3M2: return packedSixBit(tensor, count);
        default: break;
    }
    // All other types are in int32_data, an entry for each element, or for each byte of packed
    // elements.
    if (elementBits(tensor.data_type()) == 16)
        return fromField<std::uint16_t>(tensor, tensor.int32_data(), "int32_data", count);
    return fromField<std::uint8_t>(tensor, tensor.int32_data(), "int32_data",
                                   storageBytes(tensor.data_type(), count));
}

}  // namespace

Result<std::int64_t> elementCount(const onnx::TensorProto& tensor) {
    // Complex tensors have two numbers an element, sixteen bytes at most; byte counts must not
    // overflow.
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 16;
    std::int64_t count = 1;
    bool empty = false;
    for (const std::int64_t dim : tensor.dims()) {
        if (dim < 0)
            return tensorError(tensor, "has a negative dimension, " + std::to_string(dim));
        empty = empty || dim == 0;
    }
    for (const std::int64_t dim : tensor.dims()) {
        if (!empty && count > most / dim)
            return tensorError(tensor, "claims more elements than fit into memory");
        count = empty ? 0 : count * dim;
    }
    return empty ? 0 : count;
}

Result<std::string> tensorBytes(const onnx::TensorProto& tensor,
                                const std::filesystem::path& modelFolder) {
    if (tensor.data_type() == T::STRING)
        return tensorError(tensor, "is a tensor of strings, which has no bytes of fixed size");
    if (elementBits(tensor.data_type()) == 0)
        return tensorError(tensor,
                           "has the unknown element type " + std::to_string(tensor.data_type()));
    if (tensor.has_segment())
        return tensorError(tensor, "is stored in segments, which no program supports");
    auto count = elementCount(tensor);
    if (!count)
        return count.error();
    if (tensor.data_location() == T::EXTERNAL)
        return readExternal(tensor, modelFolder);
    if (!tensor.has_raw_data())
        return fromTypedFields(tensor, *count);
    const std::int64_t needed = storageBytes(tensor.data_type(), *count);
    if (static_cast<std::int64_t>(tensor.raw_data().size()) != needed)
        return tensorError(tensor, "its raw_data has " + std::to_string(tensor.raw_data().size()) +
                                       " bytes; its dims and type need " + std::to_string(needed));
    return tensor.raw_data();
}

}  // namespace shardwright
