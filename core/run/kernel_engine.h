// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/plan.h"
#include "rules/rule.h"
#include "run/buffer.h"
#include "run/pack.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardwright {

/// A model to make a session of.
struct SegmentSource {
    std::string_view modelBytes;
    std::vector<std::string> inputs;  ///< In the order of KernelSession::run.
    std::vector<std::string> outputs;
    std::size_t nodeCount = 0;
    std::string place;  ///< What errors name: "device 2, segment 3 (MatMul#12 ... Add#14)".
    /// The initializers that the model has no elements of, and the plan that knows them.
    std::span<const Segment::WeightUse> weights = {};
    const Plan* plan = nullptr;
    std::size_t index = 0;  ///< Of the device's segments; tells their profiles apart.
    /// Which of the inputs and outputs are strings: buffers have numbers for them (StringPool).
    std::vector<bool> stringInputs = {}, stringOutputs = {};
};

/// A model that is ready to run on one device.
class KernelSession {
public:
    virtual ~KernelSession() = default;
    /// Empty output buffers are allocated by the engine; others are written, and must have the
    /// right type and shape.
    virtual Result<void> run(std::span<const Buffer> inputs, std::span<Buffer> outputs) = 0;
};

/// Kernels and memory of one device. CUDA is a second implementation: everything that touches
/// tensor memory goes through here or through the communicator. Work is queued on stream(); for
/// host memory it is done on return. Used by one thread, apart from terminate().
class KernelEngine {
public:
    virtual ~KernelEngine() = default;
    virtual MemoryKind memory() const = 0;
    virtual Stream stream() const = 0;
    /// 64-byte-aligned; null: there is no memory.
    virtual std::shared_ptr<std::byte> allocate(std::size_t bytes) = 0;
    virtual Result<std::unique_ptr<KernelSession>> createSession(const SegmentSource& source) = 0;

    virtual void copyRegion(const RegionCopy& copy, ConstBufferView source, std::byte* target) = 0;
    virtual void fillIdentity(ReduceKind kind, BufferView target) = 0;
    /// Joins the region's elements into `accumulator`, whose type is
    /// accumulatorType(source.elementType).
    virtual void accumulateRegion(ReduceKind kind, const RegionCopy& copy, ConstBufferView source,
                                  BufferView accumulator) = 0;
    /// Rounds accumulators to the type of `target`.
    virtual void roundAccumulator(ConstBufferView accumulator, BufferView target) = 0;
    virtual Result<void> fromHost(const std::byte* source, BufferView target) = 0;
    virtual Result<void> toHost(ConstBufferView source, std::byte* target) = 0;
    /// Waits for the stream.
    virtual Result<void> synchronize() = 0;

    /// Makes running and later runs fail soon. From any thread.
    virtual void terminate() = 0;
};

}  // namespace shardwright
