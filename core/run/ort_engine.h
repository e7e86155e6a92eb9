// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/kernel_engine.h"
#include "run/ort_api.h"
#include "run/string_pool.h"
#include "run/weight_store.h"

#include <memory>

namespace shardwright {

/// How much ONNX Runtime rewrites a graph. Automatic: fully, but not at all above kManyNodes
/// (100,000 nodes load in 7 s instead of 55 s). Quantised models differ by 0.1 between the two, so
/// a run and its reference must use the same.
enum class GraphOptimisation { Automatic, Full, None };
inline constexpr std::size_t kManyNodes = 20'000;

/// Kernels of the CUDA provider on this stream, for buffers of device memory.
struct OrtCudaSettings {
    int gpu = -1;  ///< Below 0: kernels and buffers of the host.
    void* stream = nullptr;
};

struct OrtEngineOptions {
    GraphOptimisation optimisation = GraphOptimisation::Automatic;
    int intraOpThreads = 1;  ///< Per device.
    /// Beginning of the path of profiles, one a session, which are complete when the engine and its
    /// sessions are gone; empty: none are made.
    std::string profilePrefix;
    /// Whether ONNX Runtime's own threads spin while they wait. Devices wait for each other, so
    /// they would take the cores that others need; alone, as a peer in a benchmark, they may.
    bool spinning = false;
    /// Of all engines of a run in this process; null: each has one of its own.
    std::shared_ptr<WeightStore> weights = nullptr;
    OrtCudaSettings cuda = {};
    /// What strings say; null: segments with strings are refused.
    std::shared_ptr<StringPool> strings = nullptr;
};

/// Kernels of ONNX Runtime's CPU provider, in host memory; of another provider, sessions only
/// (cuda_engine.h).
std::unique_ptr<KernelEngine> makeOrtEngine(std::shared_ptr<const OrtRuntime> runtime,
                                            const OrtEngineOptions& options);

}  // namespace shardwright
