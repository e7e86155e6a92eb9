// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx_pb.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace shardwright {

/// IEEE half and bfloat16 as they lie in memory. Arithmetic is done in float.
struct Half {
    std::uint16_t bits = 0;
};
struct BFloat16 {
    std::uint16_t bits = 0;
};

float toFloat(Half value);
Half toHalf(float value);  ///< To nearest, ties to even.
inline float toFloat(BFloat16 value) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}
BFloat16 toBFloat16(float value);  ///< To nearest, ties to even.

/// Calls `f` with a value of the C++ type of an element type: Half, BFloat16, bool and the plain
/// numbers. Returns `otherwise` for the rest (strings, complex numbers, 8-bit floats, types below
/// one byte).
template <class F, class R>
R withElementType(std::int32_t type, R otherwise, F&& f) {
    using T = onnx::TensorProto;
    switch (type) {
        case T::FLOAT: return f(float{});
        case T::DOUBLE: return f(double{});
        case T::FLOAT16: return f(Half{});
        case T::BFLOAT16: return f(BFloat16{});
        case T::INT8: return f(std::int8_t{});
        case T::INT16: return f(std::int16_t{});
        case T::INT32: return f(std::int32_t{});
        case T::INT64: return f(std::int64_t{});
        case T::UINT8: return f(std::uint8_t{});
        case T::UINT16: return f(std::uint16_t{});
        case T::UINT32: return f(std::uint32_t{});
        case T::UINT64: return f(std::uint64_t{});
        case T::BOOL: return f(bool{});
        default: return otherwise;
    }
}

/// One element as a double, for statistics and comparison of floating point types and for display
/// of the others.
template <class T>
double toDouble(T value) {
    return static_cast<double>(value);
}
inline double toDouble(Half value) {
    return toFloat(value);
}
inline double toDouble(BFloat16 value) {
    return toFloat(value);
}

/// Elements `first` .. `first + count` of dense data as doubles. 8-bit floats and 4-bit types too;
/// complex numbers give their modulus. False for strings and unknown types.
bool toDoubles(std::int32_t type, const void* data, std::int64_t first, std::int64_t count,
               double* out);

bool isFloatingPoint(std::int32_t type);

}  // namespace shardwright
