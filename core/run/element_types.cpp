// SPDX-License-Identifier: Apache-2.0
#include "run/element_types.h"

#include <complex>
#include <cstring>
#include <limits>

namespace shardwright {

float toFloat(Half value) {
    const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
    const std::uint32_t exponent = (value.bits >> 10) & 0x1f;
    const std::uint32_t fraction = value.bits & 0x3ff;
    if (exponent == 0) {
        const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
        return sign ? -magnitude : magnitude;
    }
    if (exponent == 31)
        return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

Half toHalf(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return {static_cast<std::uint16_t>(sign | 0x7e00u)};
    if (magnitude >= 0x477ff000u)  // Rounds to 65536 or more.
        return {static_cast<std::uint16_t>(sign | 0x7c00u)};
    if (magnitude < 0x38800000u) {  // Subnormal or zero: let the float adder round.
        const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
        return {static_cast<std::uint16_t>(sign |
                                           (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u))};
    }
    const std::uint32_t odd = (magnitude >> 13) & 1;
    return {static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13))};
}

BFloat16 toBFloat16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};
    return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16)};
}

namespace {

/// The four 8-bit floats of ONNX. FN: no infinities, one NaN pattern; UZ: NaN is the negative zero.
double fromFloat8(std::uint8_t bits, int mantissaBits, int bias, bool finite, bool unsignedZero) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const int exponentBits = 7 - mantissaBits;
    const int exponent = (bits & 0x7f) >> mantissaBits;
    const int fraction = bits & ((1 << mantissaBits) - 1);
    if (unsignedZero && bits == 0x80)
        return nan;
    if (!unsignedZero && exponent == (1 << exponentBits) - 1) {
        if (finite ? fraction == (1 << mantissaBits) - 1 : fraction != 0)
            return nan;
        if (!finite)
            return (bits & 0x80) ? -HUGE_VAL : HUGE_VAL;
    }
    const int significand = exponent == 0 ? fraction : fraction | 1 << mantissaBits;
    const double magnitude = std::ldexp(significand, std::max(exponent, 1) - bias - mantissaBits);
    return (bits & 0x80) ? -magnitude : magnitude;
}

template <class F>
void fill(std::int64_t count, double* out, F&& element) {
    for (std::int64_t i = 0; i < count; ++i)
        out[i] = element(i);
}

template <class T>
T load(const void* data, std::int64_t index) {
    T value;
    std::memcpy(&value,
                static_cast<const char*>(data) + index * static_cast<std::int64_t>(sizeof(T)),
                sizeof(T));
    return value;
}

bool narrowToDoubles(std::int32_t type, const void* data, std::int64_t first, std::int64_t count,
                     double* out) {
    using T = onnx::TensorProto;
    const auto byte = [&](std::int64_t i) { return load<std::uint8_t>(data, i); };
    const auto nibble = [&](std::int64_t i) {
        return (byte((first + i) / 2) >> ((first + i) % 2 * 4)) & 0xf;
    };
    switch (type) {
        case T::FLOAT8E4M3FN:
            fill(count, out,
                 [&](auto i) { return fromFloat8(byte(first + i), 3, 7, true, false); });
            break;
        case T::FLOAT8E4M3FNUZ:
            fill(count, out, [&](auto i) { return fromFloat8(byte(first + i), 3, 8, true, true); });
            break;
        case T::FLOAT8E5M2:
            fill(count, out,
                 [&](auto i) { return fromFloat8(byte(first + i), 2, 15, false, false); });
            break;
        case T::FLOAT8E5M2FNUZ:
            fill(count, out,
                 [&](auto i) { return fromFloat8(byte(first + i), 2, 16, true, true); });
            break;
        case T::UINT4: fill(count, out, [&](auto i) { return nibble(i); }); break;
        case T::INT4: fill(count, out, [&](auto i) { return (nibble(i) ^ 8) - 8; }); break;
        case T::COMPLEX64:
            fill(count, out,
                 [&](auto i) { return std::abs(load<std::complex<float>>(data, first + i)); });
            break;
        case T::COMPLEX128:
            fill(count, out,
                 [&](auto i) { return std::abs(load<std::complex<double>>(data, first + i)); });
            break;
        default: return false;
    }
    return true;
}

}  // namespace

bool toDoubles(std::int32_t type, const void* data, std::int64_t first, std::int64_t count,
               double* out) {
    const bool plain = withElementType(type, false, [&](auto zero) {
        using T = decltype(zero);
        // A bool of a foreign file may have any bits; as a C++ bool that would be undefined.
        using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
        fill(count, out, [&](std::int64_t i) {
            const Stored value = load<Stored>(data, first + i);
            if constexpr (std::is_same_v<T, bool>)
                return value != 0 ? 1.0 : 0.0;
            else
                return toDouble(value);
        });
        return true;
    });
    return plain || narrowToDoubles(type, data, first, count, out);
}

bool isFloatingPoint(std::int32_t type) {
    using T = onnx::TensorProto;
    switch (type) {
        case T::FLOAT:
        case T::DOUBLE:
        case T::FLOAT16:
        case T::BFLOAT16:
        case T::FLOAT8E4M3FN:
        case T::FLOAT8E4M3FNUZ:
        case T::FLOAT8E5M2:
        case T::FLOAT8E5M2FNUZ:
        case T::COMPLEX64:
        case T::COMPLEX128: return true;
        default: return false;
    }
}

}  // namespace shardwright
