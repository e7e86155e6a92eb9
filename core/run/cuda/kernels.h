// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/cuda_types.h"

#include <cuda_runtime_api.h>

namespace shardwright {

// Queued on the stream; whether they were is cudaGetLastError(). Element types are those of
// TensorProto, and as in CudaDevice.
void fillIdentityOnGpu(Join join, std::int32_t type, void* target, std::size_t count,
                       cudaStream_t stream);
void accumulateOnGpu(Join join, std::int32_t type, void* accumulator, const void* source,
                     std::size_t count, cudaStream_t stream);
void roundOnGpu(std::int32_t type, void* target, const void* accumulator, std::size_t count,
                cudaStream_t stream);
/// `runs` lie in device memory.
void copyRunsOnGpu(void* target, const void* source, const CopyRun* runs, std::size_t count,
                   cudaStream_t stream);

}  // namespace shardwright
