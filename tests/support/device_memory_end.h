// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/communicator.h"
#include "run/cuda_library.h"

#include <memory>
#include <vector>

namespace shardwright::test {

/// Brings the buffers of calls into a GPU's memory and back, so that a test of host memory tries a
/// communicator of device memory.
class DeviceMemoryEnd : public Communicator {
public:
    DeviceMemoryEnd(std::unique_ptr<Communicator> inner, std::shared_ptr<CudaDevice> gpu)
        : m_inner(std::move(inner)), m_gpu(std::move(gpu)) {}

    DeviceId device() const override { return m_inner->device(); }
    Result<void> run(const CollectiveCall& call) override {
        CollectiveCall moved = call;
        Copies copies(*m_gpu);
        moved.send = copies.in(call.send);
        moved.receive = call.receive.data && call.receive.data == call.send.data
                            ? copies.inPlace(call.receive, moved.send)
                            : copies.out(call.receive);
        std::vector<SendMessage> sends;
        std::vector<ReceiveMessage> receives;
        for (const SendMessage& message : call.sends)
            sends.push_back({message.to, copies.in(message.data)});
        for (const ReceiveMessage& message : call.receives)
            receives.push_back({message.from, copies.out(message.data)});
        moved.sends = sends;
        moved.receives = receives;
        moved.stream = {m_gpu->stream()};
        auto done = m_inner->run(moved);
        if (done)
            copies.back();
        const std::string error = m_gpu->synchronize();
        return done && !error.empty() ? Error{error, {}} : done;
    }
    Result<void> barrier() override { return m_inner->barrier(); }
    void poison(const std::string& reason) override { m_inner->poison(reason); }
    void beginPass() override { m_inner->beginPass(); }
    CollectiveCounts executed() const override { return m_inner->executed(); }
    std::int64_t waitedNanoseconds() const override { return m_inner->waitedNanoseconds(); }

private:
    class Copies {
    public:
        explicit Copies(CudaDevice& gpu) : m_gpu(gpu) {}
        Copies(const Copies&) = delete;
        Copies& operator=(const Copies&) = delete;
        ~Copies() {
            (void)m_gpu.synchronize();
            for (std::byte* data : m_owned)
                m_gpu.release(data);
        }

        ConstBufferView in(ConstBufferView view) {
            if (!view.data)
                return view;
            std::byte* data = allocate(view.bytes);
            m_gpu.copy(data, view.data, view.bytes);
            return {data, view.bytes, view.elementType, MemoryKind::Device};
        }
        BufferView out(BufferView view) {
            if (!view.data)
                return view;
            std::byte* data = allocate(view.bytes);
            m_backs.push_back({view.data, data, view.bytes});
            return {data, view.bytes, view.elementType, MemoryKind::Device};
        }
        BufferView inPlace(BufferView view, ConstBufferView sent) {
            auto* data = const_cast<std::byte*>(sent.data);
            m_backs.push_back({view.data, data, view.bytes});
            return {data, view.bytes, view.elementType, MemoryKind::Device};
        }
        void back() {
            for (const auto& [to, from, bytes] : m_backs)
                m_gpu.copy(to, from, bytes);
        }

    private:
        struct Back {
            std::byte *to, *from;
            std::size_t bytes;
        };
        std::byte* allocate(std::size_t bytes) {
            m_owned.push_back(static_cast<std::byte*>(m_gpu.allocate(bytes + 1)));
            return m_owned.back();
        }
        CudaDevice& m_gpu;
        std::vector<std::byte*> m_owned;
        std::vector<Back> m_backs;
    };

    std::unique_ptr<Communicator> m_inner;
    std::shared_ptr<CudaDevice> m_gpu;
};

}  // namespace shardwright::test
