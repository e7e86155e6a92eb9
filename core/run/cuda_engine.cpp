// SPDX-License-Identifier: Apache-2.0
#include "run/cuda_engine.h"

#include "model/shapes.h"
#include "run/cuda_mover.h"
#include "run/reduce.h"

#include <algorithm>

namespace shardwright {

namespace {

class CudaEngine : public KernelEngine {
public:
    CudaEngine(std::shared_ptr<CudaDevice> device, std::shared_ptr<const OrtRuntime> runtime,
               OrtEngineOptions options)
        : m_device(std::move(device)) {
        options.cuda = {m_device->gpu(), m_device->stream()};
        m_kernels = makeOrtEngine(std::move(runtime), options);
    }

    MemoryKind memory() const override { return MemoryKind::Device; }
    Stream stream() const override { return {m_device->stream()}; }

    std::shared_ptr<std::byte> allocate(std::size_t bytes) override {
        auto* data = static_cast<std::byte*>(m_device->allocate(std::max<std::size_t>(bytes, 1)));
        return data ? std::shared_ptr<std::byte>(
                          data, [device = m_device](std::byte* p) { device->release(p); })
                    : nullptr;
    }

    Result<std::unique_ptr<KernelSession>> createSession(const SegmentSource& source) override {
        return m_kernels->createSession(source);
    }

    void copyRegion(const RegionCopy& copy, ConstBufferView source, std::byte* target) override {
        m_runs.clear();
        copy.forEachRun([&](std::size_t from, std::size_t to, std::size_t bytes) {
            m_runs.push_back({from, to, bytes});
        });
        m_device->copyRuns(target, source.data, m_runs);
    }
    void fillIdentity(ReduceKind kind, BufferView target) override {
        m_device->fillIdentity(joinOf(kind, target.elementType), target.elementType, target.data,
                               elements(target));
    }
    void accumulateRegion(ReduceKind kind, const RegionCopy& copy, ConstBufferView source,
                          BufferView accumulator) override {
        const std::size_t size = sizeOf(source.elementType), wide = sizeOf(accumulator.elementType);
        copy.forEachRun([&](std::size_t from, std::size_t to, std::size_t bytes) {
            m_device->accumulate(joinOf(kind, source.elementType), source.elementType,
                                 accumulator.data + to / size * wide, source.data + from,
                                 bytes / size);
        });
    }
    void roundAccumulator(ConstBufferView accumulator, BufferView target) override {
        m_device->round(target.elementType, target.data, accumulator.data, elements(target));
    }
    Result<void> fromHost(const std::byte* source, BufferView target) override {
        m_device->copy(target.data, source, target.bytes);
        return synchronize();  // The source may go.
    }
    Result<void> toHost(ConstBufferView source, std::byte* target) override {
        m_device->copy(target, source.data, source.bytes);
        return synchronize();
    }
    Result<void> synchronize() override {
        const std::string error = m_device->synchronize();
        return error.empty() ? Result<void>()
                             : Error{error, "GPU " + std::to_string(m_device->gpu())};
    }
    void terminate() override { m_kernels->terminate(); }

private:
    static std::size_t sizeOf(std::int32_t type) {
        return static_cast<std::size_t>(std::max(8, elementBits(type)) / 8);
    }
    static std::size_t elements(ConstBufferView view) {
        return view.bytes / sizeOf(view.elementType);
    }

    std::shared_ptr<CudaDevice> m_device;
    std::unique_ptr<KernelEngine> m_kernels;
    std::vector<CopyRun> m_runs;
};

}  // namespace

std::unique_ptr<KernelEngine> makeCudaEngine(std::shared_ptr<CudaDevice> device,
                                             std::shared_ptr<const OrtRuntime> runtime,
                                             OrtEngineOptions options) {
    return std::make_unique<CudaEngine>(std::move(device), std::move(runtime), options);
}

}  // namespace shardwright
