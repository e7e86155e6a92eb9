// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/cuda_library.h"
#include "run/ort_engine.h"

namespace shardwright {

/// Kernels of ONNX Runtime's CUDA provider, on the device's stream, in its GPU's memory. Operators
/// that the provider lacks run on the host, with copies that ONNX Runtime puts in.
std::unique_ptr<KernelEngine> makeCudaEngine(std::shared_ptr<CudaDevice> device,
                                             std::shared_ptr<const OrtRuntime> runtime,
                                             OrtEngineOptions options);

}  // namespace shardwright
