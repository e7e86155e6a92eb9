// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/cuda_types.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

// What the runner needs of CUDA and NCCL, as the plug-in libshardwright-cuda.so offers it
// (core/run/cuda). Raw memory and raw operations; what a region, a partial result or a collective
// is, is known to cuda_engine.cpp and cuda_mover.cpp, which tests try on a stand-in of this
// interface that works in host memory.

namespace shardwright {

using NcclId = std::array<char, 128>;  ///< ncclUniqueId

/// One device's place in an NCCL communicator. What it is told is queued on the device's stream.
/// Element types are those of ONNX's TensorProto.
class NcclGroup {
public:
    virtual ~NcclGroup() = default;
    /// Whether NCCL joins this type so.
    virtual bool joins(Join join, std::int32_t elementType) const = 0;
    virtual void allReduce(const void* send, void* receive, std::size_t count, std::int32_t type,
                           Join join) = 0;
    /// `count` elements for each rank.
    virtual void reduceScatter(const void* send, void* receive, std::size_t count,
                               std::int32_t type, Join join) = 0;
    virtual void allGather(const void* send, void* receive, std::size_t bytes) = 0;
    virtual void broadcast(const void* send, void* receive, std::size_t bytes, int root) = 0;
    /// Messages between begin() and end() are one operation.
    virtual void begin() = 0;
    virtual void send(const void* data, std::size_t bytes, int to) = 0;
    virtual void receive(void* data, std::size_t bytes, int from) = 0;
    virtual void end() = 0;
};

/// A GPU as one device of a run uses it, with a stream of its own: all work is queued on that.
/// Several devices may share a GPU. Used by one thread.
class CudaDevice {
public:
    virtual ~CudaDevice() = default;
    virtual int gpu() const = 0;
    virtual void* stream() const = 0;
    /// Null: there is no memory. release() from any thread.
    virtual void* allocate(std::size_t bytes) = 0;
    virtual void release(void* data) = 0;

    /// Between any two memories, the host's and other GPUs', too.
    virtual void copy(void* target, const void* source, std::size_t bytes) = 0;
    virtual void copyRuns(void* target, const void* source, std::span<const CopyRun> runs) = 0;
    virtual void fillIdentity(Join join, std::int32_t type, void* target, std::size_t count) = 0;
    /// accumulator op= source; accumulators of half and bfloat16 are floats.
    virtual void accumulate(Join join, std::int32_t type, void* accumulator, const void* source,
                            std::size_t count) = 0;
    /// Accumulators to elements of `type`.
    virtual void round(std::int32_t type, void* target, const void* accumulator,
                       std::size_t count) = 0;
    /// Waits for the stream. Empty, or the first error of all work since the last time, in CUDA's
    /// or NCCL's words.
    virtual std::string synchronize() = 0;

    /// Returns when all `size` ranks have called it. Null: `error` says why.
    virtual std::unique_ptr<NcclGroup> joinNccl(const NcclId& id, int rank, int size,
                                                std::string& error) = 0;
};

class CudaLibrary {
public:
    virtual ~CudaLibrary() = default;
    /// "CUDA 13.0, NCCL 2.32.3"
    virtual std::string version() const = 0;
    /// GPUs that there are; below 0: `error` says why none can be used (no driver, a driver that is
    /// too old).
    virtual int gpuCount(std::string& error) const = 0;
    virtual std::unique_ptr<CudaDevice> open(int gpu, std::string& error) = 0;
    virtual NcclId newNcclId() = 0;
};

/// The plug-in's function `shardwrightCuda`.
using CudaEntry = CudaLibrary*();

}  // namespace shardwright
