// SPDX-License-Identifier: Apache-2.0
#include "run/reduce.h"

#include "run/element_types.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace shardwright {

namespace {

/// What elements of T are summed in, and back.
template <class T>
struct Wide {
    using Type = T;
    static T from(T value) { return value; }
    static T round(T value) { return value; }
};
template <>
struct Wide<Half> {
    using Type = float;
    static float from(Half value) { return toFloat(value); }
    static Half round(float value) { return toHalf(value); }
};
template <>
struct Wide<BFloat16> {
    using Type = float;
    static float from(BFloat16 value) { return toFloat(value); }
    static BFloat16 round(float value) { return toBFloat16(value); }
};
/// Bytes: loops over bool do not vectorise, and foreign bits in a bool would be undefined.
template <>
struct Wide<bool> {
    using Type = std::uint8_t;
};

/// Integer sums and products wrap around, as the kernels' do.
template <ReduceKind kind, class A>
A join(A a, A b) {
    if constexpr (kind == ReduceKind::Min)
        return b < a || b != b ? b : a;
    else if constexpr (kind == ReduceKind::Max)
        return b > a || b != b ? b : a;
    else if constexpr (std::is_floating_point_v<A>)
        return kind == ReduceKind::Sum ? a + b : a * b;
    else {
        using U = std::conditional_t<(sizeof(A) < 4), std::uint32_t, std::make_unsigned_t<A>>;
        const auto x = static_cast<U>(a), y = static_cast<U>(b);
        if constexpr (kind == ReduceKind::Sum)
            return static_cast<A>(x + y);
        else if constexpr (kind == ReduceKind::Prod)
            return static_cast<A>(x * y);
        else if constexpr (kind == ReduceKind::And)
            return static_cast<A>(x & y);
        else
            return static_cast<A>(x | y);
    }
}

template <ReduceKind kind, class A>
constexpr A identityOf() {
    using Limits = std::numeric_limits<A>;
    if constexpr (kind == ReduceKind::Prod)
        return A(1);
    else if constexpr (kind == ReduceKind::Min)
        return Limits::has_infinity ? Limits::infinity() : Limits::max();
    else if constexpr (kind == ReduceKind::Max)
        return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    else if constexpr (kind == ReduceKind::And)
        return static_cast<A>(~0ull);
    else
        return A(0);
}

template <class T>
struct TypeTag {
    using Type = T;
};
template <ReduceKind kind>
using KindTag = std::integral_constant<ReduceKind, kind>;

/// Calls f(KindTag, TypeTag) where this reduction of this type exists.
template <class F>
bool withReduction(ReduceKind kind, std::int32_t elementType, F&& f) {
    return withElementType(elementType, false, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_same_v<T, bool>) {
            const bool isAnd =
                kind == ReduceKind::And || kind == ReduceKind::Min || kind == ReduceKind::Prod;
            if (kind == ReduceKind::None)
                return false;
            isAnd ? f(KindTag<ReduceKind::And>{}, TypeTag<bool>{})
                  : f(KindTag<ReduceKind::Or>{}, TypeTag<bool>{});
            return true;
        } else {
            switch (kind) {
                case ReduceKind::Sum: f(KindTag<ReduceKind::Sum>{}, TypeTag<T>{}); return true;
                case ReduceKind::Prod: f(KindTag<ReduceKind::Prod>{}, TypeTag<T>{}); return true;
                case ReduceKind::Min: f(KindTag<ReduceKind::Min>{}, TypeTag<T>{}); return true;
                case ReduceKind::Max: f(KindTag<ReduceKind::Max>{}, TypeTag<T>{}); return true;
                default: break;
            }
            if constexpr (std::is_integral_v<T>) {
                if (kind == ReduceKind::And)
                    f(KindTag<ReduceKind::And>{}, TypeTag<T>{});
                else if (kind == ReduceKind::Or)
                    f(KindTag<ReduceKind::Or>{}, TypeTag<T>{});
                return kind != ReduceKind::None;
            }
            return false;
        }
    });
}

template <class T>
using Accumulator = typename Wide<T>::Type;

template <class T>
const T* at(const std::byte* data) {
    return reinterpret_cast<const T*>(data);
}

template <ReduceKind kind, class T>
void accumulateTyped(Accumulator<T>* sum, const std::byte* data, std::int64_t count) {
    if constexpr (std::is_same_v<T, bool>) {
        const auto* in = at<std::uint8_t>(data);
        for (std::int64_t i = 0; i < count; ++i)
            sum[i] = join<kind>(sum[i], static_cast<std::uint8_t>(in[i] != 0));
    } else {
        const T* in = at<T>(data);
        for (std::int64_t i = 0; i < count; ++i)
            sum[i] = join<kind>(sum[i], Wide<T>::from(in[i]));
    }
}

template <class T>
void loadTyped(Accumulator<T>* sum, const std::byte* data, std::int64_t count) {
    if constexpr (std::is_same_v<T, bool>)
        std::transform(at<std::uint8_t>(data), at<std::uint8_t>(data) + count, sum,
                       [](std::uint8_t b) { return static_cast<std::uint8_t>(b != 0); });
    else
        std::transform(at<T>(data), at<T>(data) + count, sum,
                       [](T value) { return Wide<T>::from(value); });
}

template <class T>
void roundTyped(const Accumulator<T>* sum, std::byte* out, std::int64_t count) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        std::transform(sum, sum + count, reinterpret_cast<T*>(out),
                       [](float value) { return Wide<T>::round(value); });
    else
        std::memmove(out, sum, static_cast<std::size_t>(count) * sizeof(T));
}

/// Above this, what is written would push everything else out of the caches.
constexpr std::int64_t kStreamedBytes = 4 << 20;

/// A copy past the caches, to any address.
void streamCopy(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__SSE2__)
    constexpr std::size_t step = sizeof(__m128i);
    const std::size_t head =
        std::min(bytes, (step - reinterpret_cast<std::uintptr_t>(to) % step) % step);
    std::memcpy(to, from, head);
    std::size_t done = head;
    for (; done + step <= bytes; done += step)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + done),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + done)));
    std::memcpy(to + done, from + done, bytes - done);
#else
    std::memcpy(to, from, bytes);
#endif
}

/// What streamCopy() has written is seen by others only after this.
void finishStream() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

template <ReduceKind kind, class T>
void reduceTyped(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                 std::int64_t count) {
    // Small enough for the first cache, and read completely before any output, which may be an
    // input, is written.
    constexpr std::int64_t block = 1024;
    std::array<Accumulator<T>, block> sum;
    constexpr bool direct = sizeof(T) == sizeof(Accumulator<T>);
    const bool stream = direct && count * static_cast<std::int64_t>(sizeof(T)) >= kStreamedBytes;
    for (std::int64_t first = 0; first < count; first += block) {
        const std::int64_t n = std::min(block, count - first);
        const auto offset = static_cast<std::size_t>(first) * sizeof(T);
        loadTyped<T>(sum.data(), inputs[0] + offset, n);
        for (const std::byte* input : inputs.subspan(1))
            accumulateTyped<kind, T>(sum.data(), input + offset, n);
        for (std::byte* output : outputs)
            if (stream)
                streamCopy(output + offset, reinterpret_cast<const std::byte*>(sum.data()),
                           static_cast<std::size_t>(n) * sizeof(T));
            else
                roundTyped<T>(sum.data(), output + offset, n);
    }
    if (stream)
        finishStream();
}

}  // namespace

bool canReduce(ReduceKind kind, std::int32_t elementType) {
    return withReduction(kind, elementType, [](auto, auto) {});
}

void reduceElements(ReduceKind kind, std::int32_t elementType,
                    std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                    std::int64_t count) {
    withReduction(kind, elementType, [&](auto k, auto type) {
        reduceTyped<decltype(k)::value, typename decltype(type)::Type>(inputs, outputs, count);
    });
}

std::int32_t accumulatorType(std::int32_t elementType) {
    using T = onnx::TensorProto;
    return elementType == T::FLOAT16 || elementType == T::BFLOAT16
               ? static_cast<std::int32_t>(T::FLOAT)
               : elementType;
}

void fillIdentity(ReduceKind kind, std::int32_t elementType, std::byte* data, std::int64_t count) {
    withReduction(kind, elementType, [&](auto k, auto type) {
        using T = typename decltype(type)::Type;
        using A = Accumulator<T>;
        A identity = identityOf<decltype(k)::value, A>();
        if constexpr (std::is_same_v<T, bool>)
            identity = identity != 0;
        const std::int64_t n = count;
        if constexpr (std::is_same_v<A, float> && !std::is_same_v<T, float>)
            std::fill_n(reinterpret_cast<T*>(data), n, Wide<T>::round(identity));
        else
            std::fill_n(reinterpret_cast<A*>(data), n, identity);
    });
}

void accumulate(ReduceKind kind, std::int32_t elementType, std::byte* accumulator,
                const std::byte* elements, std::int64_t count) {
    withReduction(kind, elementType, [&](auto k, auto type) {
        using T = typename decltype(type)::Type;
        accumulateTyped<decltype(k)::value, T>(reinterpret_cast<Accumulator<T>*>(accumulator),
                                               elements, count);
    });
}

void roundAccumulator(std::int32_t elementType, const std::byte* accumulator, std::byte* out,
                      std::int64_t count) {
    withReduction(ReduceKind::Sum, elementType, [&](auto, auto type) {
        using T = typename decltype(type)::Type;
        roundTyped<T>(reinterpret_cast<const Accumulator<T>*>(accumulator), out, count);
    });
}

}  // namespace shardwright
