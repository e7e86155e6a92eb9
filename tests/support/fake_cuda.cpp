// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cuda.h"

#include "model/shapes.h"
#include "run/reduce.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace shardwright::test {

namespace {

/// Above every address that a process can have.
constexpr std::uintptr_t kDevice = std::uintptr_t{1} << 47;

std::byte* hostOf(const void* address) {
    const auto number = reinterpret_cast<std::uintptr_t>(address);
    return reinterpret_cast<std::byte*>(number >= kDevice ? number - kDevice : number);
}
void* deviceOf(void* address) {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) + kDevice);
}

ReduceKind kindOf(Join join) {
    switch (join) {
        case Join::Sum: return ReduceKind::Sum;
        case Join::Prod: return ReduceKind::Prod;
        case Join::Min: return ReduceKind::Min;
        case Join::Max: return ReduceKind::Max;
        case Join::And: return ReduceKind::And;
        default: return ReduceKind::Or;
    }
}

std::size_t sizeOf(std::int32_t type) {
    return static_cast<std::size_t>(std::max(8, elementBits(type)) / 8);
}

/// What the ranks of one NCCL communicator share.
struct Ring {
    explicit Ring(int size)
        : all(size), sends(static_cast<std::size_t>(size)),
          boxes(static_cast<std::size_t>(size),
                std::vector<std::vector<std::pair<const std::byte*, std::size_t>>>(
                    static_cast<std::size_t>(size))) {}
    std::barrier<> all;
    std::vector<const std::byte*> sends;
    /// Messages [from][to], in order.
    std::vector<std::vector<std::vector<std::pair<const std::byte*, std::size_t>>>> boxes;
};

class FakeNccl : public NcclGroup {
public:
    FakeNccl(std::shared_ptr<Ring> ring, int rank, std::string& error)
        : m_ring(std::move(ring)), m_rank(static_cast<std::size_t>(rank)), m_error(error) {}

    bool joins(Join join, std::int32_t type) const override {
        using T = onnx::TensorProto;
        return join != Join::And && join != Join::Or && type != T::BOOL && type != T::INT16 &&
               type != T::UINT16;
    }

    void allReduce(const void* send, void* receive, std::size_t count, std::int32_t type,
                   Join join) override {
        joinPart(send, receive, 0, count, type, join);
    }
    void reduceScatter(const void* send, void* receive, std::size_t count, std::int32_t type,
                       Join join) override {
        joinPart(send, receive, m_rank * count * sizeOf(type), count, type, join);
    }
    void allGather(const void* send, void* receive, std::size_t bytes) override {
        meetAround(send, [&] {
            for (std::size_t r = 0; r < m_ring->sends.size(); ++r)
                move(hostOf(receive) + r * bytes, m_ring->sends[r], bytes);
        });
    }
    void broadcast(const void* send, void* receive, std::size_t bytes, int root) override {
        meetAround(send, [&] {
            move(hostOf(receive), m_ring->sends[static_cast<std::size_t>(root)], bytes);
        });
    }

    void begin() override { m_receives.clear(); }
    void send(const void* data, std::size_t bytes, int to) override {
        m_ring->boxes[m_rank][static_cast<std::size_t>(to)].emplace_back(hostOf(data), bytes);
    }
    void receive(void* data, std::size_t bytes, int from) override {
        m_receives.push_back({hostOf(data), bytes, static_cast<std::size_t>(from)});
    }
    void end() override {
        m_ring->all.arrive_and_wait();
        std::map<std::size_t, std::size_t> taken;
        for (const auto& [data, bytes, from] : m_receives) {
            const auto& box = m_ring->boxes[from][m_rank];
            const std::size_t at = taken[from]++;
            if (at >= box.size() || box[at].second != bytes)
                m_error = "NCCL: messages do not match";
            else
                move(data, box[at].first, bytes);
        }
        for (std::size_t from = 0; from < m_ring->boxes.size(); ++from)
            if (m_ring->boxes[from][m_rank].size() != taken[from])
                m_error = "NCCL: a message is not received";
        m_ring->all.arrive_and_wait();
        for (auto& box : m_ring->boxes[m_rank])
            box.clear();
        m_ring->all.arrive_and_wait();
    }

private:
    struct Receive {
        std::byte* data;
        std::size_t bytes, from;
    };

    static void move(std::byte* to, const std::byte* from, std::size_t bytes) {
        if (bytes > 0)
            std::memmove(to, from, bytes);
    }

    template <class F>
    void meetAround(const void* send, F&& f) {
        m_ring->sends[m_rank] = hostOf(send);
        m_ring->all.arrive_and_wait();
        f();
        m_ring->all.arrive_and_wait();
    }

    void joinPart(const void* send, void* receive, std::size_t offset, std::size_t count,
                  std::int32_t type, Join join) {
        std::vector<std::byte> sum(count * sizeOf(type) + 1);
        meetAround(send, [&] {
            std::vector<const std::byte*> inputs;
            for (const std::byte* input : m_ring->sends)
                inputs.push_back(input + offset);
            std::byte* const out = sum.data();
            reduceElements(kindOf(join), type, inputs, {&out, 1}, static_cast<std::int64_t>(count));
        });
        // It may be in place.
        move(hostOf(receive), sum.data(), count * sizeOf(type));
    }

    std::shared_ptr<Ring> m_ring;
    const std::size_t m_rank;
    std::string& m_error;
    std::vector<Receive> m_receives;
};

/// Rings by id.
class Rings {
public:
    NcclId newId() {
        NcclId id{};
        const int number = ++m_last;
        std::memcpy(id.data(), &number, sizeof number);
        return id;
    }
    std::shared_ptr<Ring> of(const NcclId& id, int size) {
        const std::lock_guard lock(m_mutex);
        auto& ring = m_rings[id];
        if (!ring)
            ring = std::make_shared<Ring>(size);
        return ring;
    }

private:
    std::atomic<int> m_last{0};
    std::mutex m_mutex;
    std::map<NcclId, std::shared_ptr<Ring>> m_rings;
};

class FakeDevice : public CudaDevice {
public:
    FakeDevice(int gpu, Rings& rings) : m_gpu(gpu), m_rings(rings) {}

    int gpu() const override { return m_gpu; }
    void* stream() const override { return nullptr; }
    void* allocate(std::size_t bytes) override { return deviceOf(std::malloc(bytes + 1)); }
    void release(void* data) override {
        if (data)
            std::free(hostOf(data));
    }
    void copy(void* target, const void* source, std::size_t bytes) override {
        std::memmove(hostOf(target), hostOf(source), bytes);
    }
    void copyRuns(void* target, const void* source, std::span<const CopyRun> runs) override {
        for (const CopyRun& run : runs)
            std::memcpy(hostOf(target) + run.target, hostOf(source) + run.source, run.bytes);
    }
    void fillIdentity(Join join, std::int32_t type, void* target, std::size_t count) override {
        shardwright::fillIdentity(kindOf(join), type, hostOf(target),
                                  static_cast<std::int64_t>(count));
    }
    void accumulate(Join join, std::int32_t type, void* accumulator, const void* source,
                    std::size_t count) override {
        shardwright::accumulate(kindOf(join), type, hostOf(accumulator), hostOf(source),
                                static_cast<std::int64_t>(count));
    }
    void round(std::int32_t type, void* target, const void* accumulator,
               std::size_t count) override {
        roundAccumulator(type, hostOf(accumulator), hostOf(target),
                         static_cast<std::int64_t>(count));
    }
    std::string synchronize() override { return std::exchange(m_error, {}); }
    std::unique_ptr<NcclGroup> joinNccl(const NcclId& id, int rank, int size,
                                        std::string&) override {
        return std::make_unique<FakeNccl>(m_rings.of(id, size), rank, m_error);
    }

private:
    const int m_gpu;
    Rings& m_rings;
    std::string m_error;
};

class FakeCuda : public CudaLibrary {
public:
    explicit FakeCuda(int gpus) : m_gpus(gpus) {}
    std::string version() const override { return "a stand-in for CUDA"; }
    int gpuCount(std::string& error) const override {
        if (m_gpus < 0)
            error = "no driver";
        return m_gpus;
    }
    std::unique_ptr<CudaDevice> open(int gpu, std::string&) override {
        return std::make_unique<FakeDevice>(gpu, m_rings);
    }
    NcclId newNcclId() override { return m_rings.newId(); }

private:
    const int m_gpus;
    Rings m_rings;
};

}  // namespace

std::unique_ptr<CudaLibrary> makeFakeCuda(int gpus) {
    return std::make_unique<FakeCuda>(gpus);
}

std::unique_ptr<CudaLibrary> makeCudaWithoutDriver() {
    return std::make_unique<FakeCuda>(-1);
}

}  // namespace shardwright::test
