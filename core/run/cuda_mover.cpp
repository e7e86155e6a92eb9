// SPDX-License-Identifier: Apache-2.0
#include "run/cuda_mover.h"

#include "model/shapes.h"
#include "run/reduce.h"

#include <algorithm>
#include <numeric>

namespace shardwright {

namespace {

using Counts = std::vector<std::size_t>;

std::size_t sizeOf(std::int32_t type) {
    return static_cast<std::size_t>(std::max(8, elementBits(type)) / 8);
}

std::size_t sum(std::span<const std::size_t> counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

/// Memory of a device that grows when more is asked for.
class Scratch {
public:
    explicit Scratch(CudaDevice& device) : m_device(device) {}
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { m_device.release(m_data); }

    std::byte* of(std::size_t bytes) {
        if (bytes > m_bytes) {
            // What is queued may still use the old one.
            m_error = m_device.synchronize();
            m_device.release(m_data);
            m_data = m_device.allocate(bytes);
            m_bytes = m_data ? bytes : 0;
        }
        return static_cast<std::byte*>(m_data);
    }
    Error missing(std::size_t bytes) const {
        return m_error.empty()
                   ? Error{"no memory for " + std::to_string(bytes) +
                               " bytes of a collective on GPU " + std::to_string(m_device.gpu()),
                           {}}
                   : Error{m_error, {}};
    }

private:
    CudaDevice& m_device;
    void* m_data = nullptr;
    std::size_t m_bytes = 0;
    std::string m_error;
};

/// Joins in the order of the inputs, like reduceElements.
class DeviceMemory : public MemoryOperations {
public:
    explicit DeviceMemory(CudaDevice& device) : m_device(device), m_sum(device) {}

    void copy(std::byte* target, const std::byte* source, std::size_t bytes) override {
        m_device.copy(target, source, bytes);
    }

    void join(ReduceKind kind, std::int32_t type, std::span<const std::byte* const> inputs,
              std::span<std::byte* const> outputs, std::int64_t count) override {
        const auto n = static_cast<std::size_t>(count);
        if (n == 0)
            return;
        const std::size_t bytes = n * sizeOf(accumulatorType(type));
        std::byte* sum = m_sum.of(bytes);
        if (!sum) {
            failed = m_sum.missing(bytes);
            return;
        }
        const Join join = joinOf(kind, type);
        m_device.fillIdentity(join, accumulatorType(type), sum, n);
        for (const std::byte* input : inputs)
            m_device.accumulate(join, type, sum, input, n);
        m_device.round(type, outputs.front(), sum, n);
        for (std::byte* other : outputs.subspan(1))
            m_device.copy(other, outputs.front(), n * sizeOf(type));
    }

    Result<void> failed;  ///< Of the last operations.

private:
    CudaDevice& m_device;
    Scratch m_sum;
};

Result<void> synchronized(CudaDevice& device) {
    const std::string error = device.synchronize();
    return error.empty() ? Result<void>() : Error{error, "GPU " + std::to_string(device.gpu())};
}

class DeviceMemoryMover : public DataMover {
public:
    explicit DeviceMemoryMover(std::shared_ptr<CudaDevice> device)
        : m_device(std::move(device)), m_memory(*m_device) {}

    MemoryKind memory() const override { return MemoryKind::Device; }
    Result<void> ready() override { return synchronized(*m_device); }

    Result<void> move(Calls calls, const DeviceGroup& devices, std::size_t rank) override {
        moveData(calls, devices, rank, m_memory);
        auto done = synchronized(*m_device);
        return done ? std::exchange(m_memory.failed, {}) : done;
    }

private:
    std::shared_ptr<CudaDevice> m_device;
    DeviceMemory m_memory;
};

class NcclMover : public DataMover {
public:
    NcclMover(std::shared_ptr<CudaDevice> device, std::shared_ptr<NcclMeetings> meetings)
        : m_device(std::move(device)), m_meetings(std::move(meetings)), m_memory(*m_device),
          m_blocks(*m_device) {}

    MemoryKind memory() const override { return MemoryKind::Device; }
    Result<void> ready() override { return {}; }

    Result<void> move(Calls calls, const DeviceGroup& devices, std::size_t rank) override {
        auto found = groupOf(devices, rank);
        if (!found)
            return found.error();
        m_nccl = *found;
        m_rank = rank;
        m_devices = &devices;
        m_memory.failed = {};
        const CollectiveCall& call = *calls[rank];
        const std::size_t n = devices.size();
        const std::size_t root = rankOf(call.root);
        switch (call.kind) {
            case CollectiveKind::AllReduce: allReduce(call, n); break;
            case CollectiveKind::ReduceScatter: reduceScatter(call, n); break;
            case CollectiveKind::Reduce: {
                Counts out(n, 0), in(n, 0);
                out[root] = call.send.bytes;
                if (rank == root)
                    for (std::size_t r = 0; r < n; ++r)
                        in[r] = calls[r]->send.bytes;
                collectAndJoin(call, out, in, call.receive.bytes);
                break;
            }
            case CollectiveKind::AllGather:
                if (even(call.counts))
                    m_nccl->allGather(call.send.data, call.receive.data, call.send.bytes);
                else
                    exchange(call.send.data, Counts(n, call.send.bytes), call.receive.data,
                             call.counts, true);
                break;
            case CollectiveKind::AllToAll:
                exchange(call.send.data, call.counts, call.receive.data, call.receiveCounts);
                break;
            case CollectiveKind::Broadcast: broadcast(calls, root); break;
            case CollectiveKind::Scatter: {
                Counts out(n, 0), in(n, 0);
                in[root] = call.receive.bytes;
                if (rank == root)
                    out.assign(call.counts.begin(), call.counts.end());
                exchange(call.send.data, out, call.receive.data, in);
                break;
            }
            default: messages(call);
        }
        return std::exchange(m_memory.failed, {});
    }

private:
    Result<NcclGroup*> groupOf(const DeviceGroup& devices, std::size_t rank) {
        auto& group = m_groups[devices];
        if (!group) {
            std::string error;
            group = m_device->joinNccl(m_meetings->idOf(devices), static_cast<int>(rank),
                                       static_cast<int>(devices.size()), error);
            if (!group)
                return Error{error, "GPU " + std::to_string(m_device->gpu())};
        }
        return group.get();
    }

    std::size_t rankOf(DeviceId device) const {
        return static_cast<std::size_t>(
            std::lower_bound(m_devices->begin(), m_devices->end(), device) - m_devices->begin());
    }

    static bool even(std::span<const std::size_t> counts) {
        return std::all_of(counts.begin(), counts.end(),
                           [&](std::size_t count) { return count == counts.front(); });
    }

    /// Blocks between all; with `sameToAll` there is one block to send.
    void exchange(const std::byte* send, std::span<const std::size_t> out, std::byte* receive,
                  std::span<const std::size_t> in, bool sameToAll = false) {
        std::size_t from = 0, to = 0;
        m_nccl->begin();
        for (std::size_t r = 0; r < out.size(); ++r) {
            if (r == m_rank) {
                if (in[r] > 0)
                    m_device->copy(receive + to, send + from, in[r]);
            } else {
                if (out[r] > 0)
                    m_nccl->send(send + from, out[r], static_cast<int>(r));
                if (in[r] > 0)
                    m_nccl->receive(receive + to, in[r], static_cast<int>(r));
            }
            from += sameToAll ? 0 : out[r];
            to += in[r];
        }
        m_nccl->end();
    }

    /// Everybody's block for this device, joined in the order of the devices.
    void collectAndJoin(const CollectiveCall& call, const Counts& out, const Counts& in,
                        std::size_t bytes, bool sameToAll = false) {
        std::byte* blocks = m_blocks.of(sum(in));
        if (!blocks && sum(in) > 0) {
            m_memory.failed = m_blocks.missing(sum(in));
            return;
        }
        exchange(call.send.data, out, blocks, in, sameToAll);
        std::vector<const std::byte*> inputs;
        std::size_t offset = 0;
        for (const std::size_t count : in) {
            if (count > 0)
                inputs.push_back(blocks + offset);
            offset += count;
        }
        std::byte* const output = call.receive.data;
        const std::int32_t type = call.receive.elementType;
        if (!inputs.empty() && bytes > 0)
            m_memory.join(call.reduce, type, inputs, {&output, 1},
                          static_cast<std::int64_t>(bytes / sizeOf(type)));
    }

    void allReduce(const CollectiveCall& call, std::size_t n) {
        const std::int32_t type = call.send.elementType;
        const Join join = joinOf(call.reduce, type);
        if (m_nccl->joins(join, type))
            m_nccl->allReduce(call.send.data, call.receive.data, call.send.bytes / sizeOf(type),
                              type, join);
        else
            collectAndJoin(call, Counts(n, call.send.bytes), Counts(n, call.send.bytes),
                           call.send.bytes, true);
    }

    void reduceScatter(const CollectiveCall& call, std::size_t n) {
        const std::int32_t type = call.send.elementType;
        const Join join = joinOf(call.reduce, type);
        const std::size_t own = call.counts[m_rank];
        if (m_nccl->joins(join, type) && even(call.counts))
            m_nccl->reduceScatter(call.send.data, call.receive.data, own / sizeOf(type), type,
                                  join);
        else
            collectAndJoin(call, {call.counts.begin(), call.counts.end()}, Counts(n, own), own);
    }

    void broadcast(Calls calls, std::size_t root) {
        const CollectiveCall& call = *calls[m_rank];
        const std::size_t bytes = calls[root]->send.bytes;
        // A root that keeps its own needs no second copy.
        const bool keeps = m_rank == root && !call.receive.data;
        void* target = keeps ? const_cast<std::byte*>(call.send.data) : call.receive.data;
        m_nccl->broadcast(m_rank == root ? call.send.data : call.receive.data, target, bytes,
                          static_cast<int>(root));
    }

    void messages(const CollectiveCall& call) {
        m_nccl->begin();
        for (const SendMessage& message : call.sends)
            m_nccl->send(message.data.data, message.data.bytes,
                         static_cast<int>(rankOf(message.to)));
        for (const ReceiveMessage& message : call.receives)
            m_nccl->receive(message.data.data, message.data.bytes,
                            static_cast<int>(rankOf(message.from)));
        m_nccl->end();
    }

    std::shared_ptr<CudaDevice> m_device;
    std::shared_ptr<NcclMeetings> m_meetings;
    DeviceMemory m_memory;
    Scratch m_blocks;
    std::map<DeviceGroup, std::unique_ptr<NcclGroup>> m_groups;
    NcclGroup* m_nccl = nullptr;  ///< Of the present call, like the next two.
    std::size_t m_rank = 0;
    const DeviceGroup* m_devices = nullptr;
};

}  // namespace

Join joinOf(ReduceKind kind, std::int32_t elementType) {
    const bool isBool = elementType == onnx::TensorProto::BOOL;
    switch (kind) {
        case ReduceKind::Prod: return isBool ? Join::And : Join::Prod;
        case ReduceKind::Min: return isBool ? Join::And : Join::Min;
        case ReduceKind::Max: return isBool ? Join::Or : Join::Max;
        case ReduceKind::And: return Join::And;
        case ReduceKind::Or: return Join::Or;
        default: return isBool ? Join::Or : Join::Sum;
    }
}

NcclId NcclMeetings::idOf(const DeviceGroup& devices) {
    const std::lock_guard lock(m_mutex);
    const auto it = m_ids.find(devices);
    return it != m_ids.end() ? it->second
                             : m_ids.emplace(devices, m_library.newNcclId()).first->second;
}

std::unique_ptr<DataMover> makeDeviceMemoryMover(std::shared_ptr<CudaDevice> device) {
    return std::make_unique<DeviceMemoryMover>(std::move(device));
}

std::unique_ptr<DataMover> makeNcclMover(std::shared_ptr<CudaDevice> device,
                                         std::shared_ptr<NcclMeetings> meetings) {
    return std::make_unique<NcclMover>(std::move(device), std::move(meetings));
}

}  // namespace shardwright
