// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/cuda_library.h"

#include <memory>

namespace shardwright::test {

/// GPUs and an NCCL that do their work in host memory, at once. Addresses of the "device" are none
/// of the host: who reads them there crashes. Of NCCL's types and reductions it knows those that
/// NCCL knows. For devices that are threads of one process.
std::unique_ptr<CudaLibrary> makeFakeCuda(int gpus);

/// As a machine without a driver has it.
std::unique_ptr<CudaLibrary> makeCudaWithoutDriver();

}  // namespace shardwright::test
