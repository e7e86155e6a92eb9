// SPDX-License-Identifier: Apache-2.0
// What reduce.cpp and pack.cpp do on the host.
#include "kernels.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cfloat>
#include <cmath>
#include <limits>
#include <type_traits>

namespace shardwright {

namespace {

constexpr int kThreads = 256;
constexpr std::size_t kMostBlocks = 4096;

unsigned blocksFor(std::size_t count) {
    const std::size_t blocks = (count + kThreads - 1) / kThreads;
    return static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks);
}

/// What elements are summed in.
template <class T>
struct Wide {
    using Type = T;
    static __device__ T from(T value) { return value; }
    static __device__ T round(T value) { return value; }
};
template <>
struct Wide<__half> {
    using Type = float;
    static __device__ float from(__half value) { return __half2float(value); }
    static __device__ __half round(float value) { return __float2half_rn(value); }
};
template <>
struct Wide<__nv_bfloat16> {
    using Type = float;
    static __device__ float from(__nv_bfloat16 value) { return __bfloat162float(value); }
    static __device__ __nv_bfloat16 round(float value) { return __float2bfloat16_rn(value); }
};
/// Any byte but 0 is true.
struct Truth {
    std::uint8_t byte;
};
template <>
struct Wide<Truth> {
    using Type = std::uint8_t;
    static __device__ std::uint8_t from(Truth value) { return value.byte != 0; }
    static __device__ Truth round(std::uint8_t value) { return {value}; }
};

/// A NaN stays one; integers wrap around.
template <Join join, class A>
__device__ A joined(A a, A b) {
    if constexpr (join == Join::Min)
        return b < a || b != b ? b : a;
    else if constexpr (join == Join::Max)
        return b > a || b != b ? b : a;
    else if constexpr (std::is_floating_point_v<A>)
        return join == Join::Sum ? a + b : a * b;
    else {
        using U = std::conditional_t<(sizeof(A) < 4), std::uint32_t, std::make_unsigned_t<A>>;
        const U x = static_cast<U>(a), y = static_cast<U>(b);
        if constexpr (join == Join::Sum)
            return static_cast<A>(x + y);
        else if constexpr (join == Join::Prod)
            return static_cast<A>(x * y);
        else if constexpr (join == Join::And)
            return static_cast<A>(x & y);
        else
            return static_cast<A>(x | y);
    }
}

template <Join join, class A>
A identity() {
    using Limits = std::numeric_limits<A>;
    if constexpr (join == Join::Prod)
        return A(1);
    else if constexpr (join == Join::Min)
        return Limits::has_infinity ? Limits::infinity() : Limits::max();
    else if constexpr (join == Join::Max)
        return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    else if constexpr (join == Join::And)
        return static_cast<A>(~0ull);
    else
        return A(0);
}

template <class A>
__global__ void fill(A* target, A value, std::size_t count) {
    for (std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x; i < count;
         i += gridDim.x * std::size_t{kThreads})
        target[i] = value;
}

template <Join join, class T>
__global__ void accumulate(typename Wide<T>::Type* sum, const T* source, std::size_t count) {
    for (std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x; i < count;
         i += gridDim.x * std::size_t{kThreads})
        sum[i] = joined<join>(sum[i], Wide<T>::from(source[i]));
}

template <class T>
__global__ void round(T* target, const typename Wide<T>::Type* sum, std::size_t count) {
    for (std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x; i < count;
         i += gridDim.x * std::size_t{kThreads})
        target[i] = Wide<T>::round(sum[i]);
}

/// One block a run. Runs begin anywhere, so that bytes are copied one by one where words do not
/// fit.
__global__ void copyRuns(char* target, const char* source, const CopyRun* runs, std::size_t count) {
    for (std::size_t r = blockIdx.x; r < count; r += gridDim.x) {
        char* to = target + runs[r].target;
        const char* from = source + runs[r].source;
        const std::size_t bytes = runs[r].bytes;
        const bool words = (reinterpret_cast<std::size_t>(to) % 8 == 0) &&
                           (reinterpret_cast<std::size_t>(from) % 8 == 0);
        const std::size_t inWords = words ? bytes / 8 : 0;
        for (std::size_t i = threadIdx.x; i < inWords; i += kThreads)
            reinterpret_cast<unsigned long long*>(to)[i] =
                reinterpret_cast<const unsigned long long*>(from)[i];
        for (std::size_t i = inWords * 8 + threadIdx.x; i < bytes; i += kThreads)
            to[i] = from[i];
    }
}

template <class T>
struct TypeTag {
    using Type = T;
};

/// TensorProto's numbers.
template <class F>
void withType(std::int32_t type, F&& f) {
    switch (type) {
        case 1: f(TypeTag<float>{}); break;
        case 2: f(TypeTag<std::uint8_t>{}); break;
        case 3: f(TypeTag<std::int8_t>{}); break;
        case 4: f(TypeTag<std::uint16_t>{}); break;
        case 5: f(TypeTag<std::int16_t>{}); break;
        case 6: f(TypeTag<std::int32_t>{}); break;
        case 7: f(TypeTag<std::int64_t>{}); break;
        case 9: f(TypeTag<Truth>{}); break;
        case 10: f(TypeTag<__half>{}); break;
        case 11: f(TypeTag<double>{}); break;
        case 12: f(TypeTag<std::uint32_t>{}); break;
        case 13: f(TypeTag<std::uint64_t>{}); break;
        case 16: f(TypeTag<__nv_bfloat16>{}); break;
        default: break;
    }
}

template <Join join>
using JoinTag = std::integral_constant<Join, join>;

template <class A, class F>
void withJoin(Join join, F&& f) {
    switch (join) {
        case Join::Sum: f(JoinTag<Join::Sum>{}); break;
        case Join::Prod: f(JoinTag<Join::Prod>{}); break;
        case Join::Min: f(JoinTag<Join::Min>{}); break;
        case Join::Max: f(JoinTag<Join::Max>{}); break;
        default:
            if constexpr (!std::is_floating_point_v<A>) {
                if (join == Join::And)
                    f(JoinTag<Join::And>{});
                else
                    f(JoinTag<Join::Or>{});
            }
    }
}

}  // namespace

void fillIdentityOnGpu(Join join, std::int32_t type, void* target, std::size_t count,
                       cudaStream_t stream) {
    if (count == 0)
        return;
    withType(type, [&](auto tag) {
        using A = typename Wide<typename decltype(tag)::Type>::Type;
        withJoin<A>(join, [&](auto which) {
            // Of halves themselves nothing is accumulated in place.
            fill<A><<<blocksFor(count), kThreads, 0, stream>>>(
                static_cast<A*>(target), identity<decltype(which)::value, A>(), count);
        });
    });
}

void accumulateOnGpu(Join join, std::int32_t type, void* accumulator, const void* source,
                     std::size_t count, cudaStream_t stream) {
    if (count == 0)
        return;
    withType(type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        using A = typename Wide<T>::Type;
        withJoin<A>(join, [&](auto which) {
            accumulate<decltype(which)::value, T><<<blocksFor(count), kThreads, 0, stream>>>(
                static_cast<A*>(accumulator), static_cast<const T*>(source), count);
        });
    });
}

void roundOnGpu(std::int32_t type, void* target, const void* accumulator, std::size_t count,
                cudaStream_t stream) {
    if (count == 0)
        return;
    withType(type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        round<T><<<blocksFor(count), kThreads, 0, stream>>>(
            static_cast<T*>(target), static_cast<const typename Wide<T>::Type*>(accumulator),
            count);
    });
}

void copyRunsOnGpu(void* target, const void* source, const CopyRun* runs, std::size_t count,
                   cudaStream_t stream) {
    const std::size_t blocks = count < kMostBlocks ? count : kMostBlocks;
    if (count > 0)
        copyRuns<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
            static_cast<char*>(target), static_cast<const char*>(source), runs, count);
}

}  // namespace shardwright
