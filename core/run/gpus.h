// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/executor.h"
#include "run/ort_engine.h"
#include "run/run_events.h"

#include <memory>
#include <vector>

namespace shardwright {

class CudaLibrary;
class CudaDevice;

/// The plug-in for GPUs. Errors: this installation was built without CUDA, its libraries cannot be
/// loaded.
Result<CudaLibrary*> loadCuda();

/// Whether kernels and transport can go together at all, whatever the machine.
Result<void> checkCombination(Backend backend, Transport transport);

/// GPUs for the devices of a run, after checking what there is: device d has GPU d; with threads, d
/// modulo their number. Errors, in this order: the plug-in (see above), the driver ("no driver"),
/// too few GPUs for NCCL ("2 GPUs found, the configuration needs 4"), an ONNX Runtime without CUDA.
class Gpus {
public:
    static Result<std::shared_ptr<Gpus>> prepare(CudaLibrary& library, const OrtRuntime& runtime,
                                                 Transport transport, int devices);

    /// Kernels and memory of one device.
    std::unique_ptr<KernelEngine> engine(DeviceId device, std::shared_ptr<const OrtRuntime> runtime,
                                         const OrtEngineOptions& options) const;
    /// Connects the devices, for runs one after the other.
    decltype(RunOptions::makeCommunicators) communicators() const;
    /// "CUDA 13.0, NCCL 2.32.3"
    std::string version() const;

private:
    Gpus(CudaLibrary& library, Transport transport) : m_library(library), m_transport(transport) {}
    CudaLibrary& m_library;
    const Transport m_transport;
    std::vector<std::shared_ptr<CudaDevice>> m_devices;
};

}  // namespace shardwright
