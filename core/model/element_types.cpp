// SPDX-License-Identifier: Apache-2.0
#include "model/shapes.h"

#include <onnx/onnx_pb.h>

#include <limits>

namespace shardwright {

std::string elementTypeName(std::int32_t type) {
    const std::string& name =
        onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(type));
    return name.empty() ? "type " + std::to_string(type) : name;
}

int elementBits(std::int32_t type) {
    using T = onnx::TensorProto;
    switch (type) {
        case T::UINT2:
        case T::INT2: return 2;
        case T::UINT4:
        case T::INT4:
        case T::FLOAT4E2M1: return 4;
        case T::FLOAT6E2M3:
        case T::FLOAT6E3M2: return 6;
        case T::UINT8:
        case T::INT8:
        case T::BOOL:
        case T::FLOAT8E4M3FN:
        case T::FLOAT8E4M3FNUZ:
        case T::FLOAT8E5M2:
        case T::FLOAT8E5M2FNUZ:
        case T::FLOAT8E8M0: return 8;
        case T::UINT16:
        case T::INT16:
        case T::FLOAT16:
        case T::BFLOAT16: return 16;
        case T::FLOAT:
        case T::INT32:
        case T::UINT32: return 32;
        case T::DOUBLE:
        case T::INT64:
        case T::UINT64:
        case T::COMPLEX64: return 64;
        case T::COMPLEX128: return 128;
        default: return 0;
    }
}

std::int64_t storageBytes(std::int32_t type, std::int64_t count) {
    const int bits = elementBits(type);
    if (count < 0 || bits == 0)
        return count == 0 ? 0 : -1;
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    if (bits >= 8)
        return count > most / (bits / 8) ? most : count * (bits / 8);
    // In halves, so that neither the product nor the rounding overflows.
    return count / 8 * bits + (count % 8 * bits + 7) / 8;
}

bool isGeneratedSymbol(const std::string& symbol) {
    const std::size_t sign = symbol.rfind('#');
    return sign != std::string::npos && sign + 1 < symbol.size() &&
           symbol.find_first_not_of("0123456789", sign + 1) == std::string::npos;
}

bool TensorInfo::concrete() const {
    if (kind != Kind::Tensor || !hasRank)
        return false;
    for (const std::int64_t dim : dims) {
        if (dim < 0)
            return false;
    }
    return true;
}

std::int64_t TensorInfo::elementCount() const {
    if (!concrete())
        return -1;
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) {
        if (dim == 0)
            return 0;
        count = count > most / dim ? most : count * dim;
    }
    return count;
}

}  // namespace shardwright
