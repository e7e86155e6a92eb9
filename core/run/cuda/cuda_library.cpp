// SPDX-License-Identifier: Apache-2.0
// libshardwright-cuda.so.
#include "run/cuda_library.h"

#include "kernels.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstring>
#include <optional>
#include <utility>

namespace shardwright {

namespace {

/// TensorProto's numbers. Nothing: NCCL does not know the type.
std::optional<ncclDataType_t> ncclType(std::int32_t type) {
    switch (type) {
        case 1: return ncclFloat32;
        case 2: return ncclUint8;
        case 3: return ncclInt8;
        case 6: return ncclInt32;
        case 7: return ncclInt64;
        case 10: return ncclFloat16;
        case 11: return ncclFloat64;
        case 12: return ncclUint32;
        case 13: return ncclUint64;
        case 16: return ncclBfloat16;
        default: return std::nullopt;
    }
}

std::optional<ncclRedOp_t> ncclJoin(Join join) {
    switch (join) {
        case Join::Sum: return ncclSum;
        case Join::Prod: return ncclProd;
        case Join::Min: return ncclMin;
        case Join::Max: return ncclMax;
        default: return std::nullopt;
    }
}

/// The first error since it was last asked.
class Errors {
public:
    void note(cudaError_t error) {
        if (error != cudaSuccess && m_words.empty())
            m_words = std::string("CUDA: ") + cudaGetErrorString(error);
    }
    void note(ncclResult_t error) {
        if (error != ncclSuccess && error != ncclInProgress && m_words.empty())
            m_words = std::string("NCCL: ") + ncclGetErrorString(error);
    }
    std::string take() { return std::exchange(m_words, {}); }

private:
    std::string m_words;
};

class Group : public NcclGroup {
public:
    Group(ncclComm_t communicator, cudaStream_t stream, int gpu, Errors& errors)
        : m_communicator(communicator), m_stream(stream), m_gpu(gpu), m_errors(errors) {}
    // Not destroyed in order: that would wait for the other devices, which may have failed.
    ~Group() override {
        cudaSetDevice(m_gpu);
        ncclCommAbort(m_communicator);
    }

    bool joins(Join join, std::int32_t type) const override {
        return ncclJoin(join) && ncclType(type);
    }
    void allReduce(const void* send, void* receive, std::size_t count, std::int32_t type,
                   Join join) override {
        cudaSetDevice(m_gpu);
        m_errors.note(ncclAllReduce(send, receive, count, *ncclType(type), *ncclJoin(join),
                                    m_communicator, m_stream));
    }
    void reduceScatter(const void* send, void* receive, std::size_t count, std::int32_t type,
                       Join join) override {
        cudaSetDevice(m_gpu);
        m_errors.note(ncclReduceScatter(send, receive, count, *ncclType(type), *ncclJoin(join),
                                        m_communicator, m_stream));
    }
    void allGather(const void* send, void* receive, std::size_t bytes) override {
        cudaSetDevice(m_gpu);
        m_errors.note(ncclAllGather(send, receive, bytes, ncclUint8, m_communicator, m_stream));
    }
    void broadcast(const void* send, void* receive, std::size_t bytes, int root) override {
        cudaSetDevice(m_gpu);
        m_errors.note(
            ncclBroadcast(send, receive, bytes, ncclUint8, root, m_communicator, m_stream));
    }
    void begin() override { m_errors.note(ncclGroupStart()); }
    void send(const void* data, std::size_t bytes, int to) override {
        cudaSetDevice(m_gpu);
        m_errors.note(ncclSend(data, bytes, ncclUint8, to, m_communicator, m_stream));
    }
    void receive(void* data, std::size_t bytes, int from) override {
        cudaSetDevice(m_gpu);
        m_errors.note(ncclRecv(data, bytes, ncclUint8, from, m_communicator, m_stream));
    }
    void end() override { m_errors.note(ncclGroupEnd()); }

private:
    ncclComm_t m_communicator;
    cudaStream_t m_stream;
    const int m_gpu;
    Errors& m_errors;
};

class Device : public CudaDevice {
public:
    Device(int gpu, cudaStream_t stream) : m_gpu(gpu), m_stream(stream) {}
    ~Device() override {
        select();
        cudaStreamSynchronize(m_stream);
        cudaFree(m_runs);
        cudaStreamDestroy(m_stream);
    }

    int gpu() const override { return m_gpu; }
    void* stream() const override { return m_stream; }

    void* allocate(std::size_t bytes) override {
        select();
        void* data = nullptr;
        if (cudaMalloc(&data, bytes) == cudaSuccess)
            return data;
        cudaGetLastError();  // Reported as a lack of memory.
        return nullptr;
    }
    void release(void* data) override {
        select();
        cudaFree(data);
    }

    void copy(void* target, const void* source, std::size_t bytes) override {
        select();
        m_errors.note(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, m_stream));
    }

    void copyRuns(void* target, const void* source, std::span<const CopyRun> runs) override {
        select();
        constexpr std::size_t kFew = 4;
        if (runs.size() <= kFew) {
            for (const CopyRun& run : runs)
                copy(static_cast<char*>(target) + run.target,
                     static_cast<const char*>(source) + run.source, run.bytes);
            return;
        }
        if (runs.size() > m_runCapacity) {
            cudaStreamSynchronize(m_stream);
            cudaFree(m_runs);
            m_runs = nullptr;
            m_errors.note(cudaMalloc(&m_runs, runs.size_bytes()));
            m_runCapacity = m_runs ? runs.size() : 0;
            if (!m_runs)
                return;
        }
        // From memory that may be paged, this returns when the runs have been read.
        m_errors.note(cudaMemcpyAsync(m_runs, runs.data(), runs.size_bytes(),
                                      cudaMemcpyHostToDevice, m_stream));
        copyRunsOnGpu(target, source, static_cast<const CopyRun*>(m_runs), runs.size(), m_stream);
        m_errors.note(cudaGetLastError());
    }

    void fillIdentity(Join join, std::int32_t type, void* target, std::size_t count) override {
        select();
        fillIdentityOnGpu(join, type, target, count, m_stream);
        m_errors.note(cudaGetLastError());
    }
    void accumulate(Join join, std::int32_t type, void* accumulator, const void* source,
                    std::size_t count) override {
        select();
        accumulateOnGpu(join, type, accumulator, source, count, m_stream);
        m_errors.note(cudaGetLastError());
    }
    void round(std::int32_t type, void* target, const void* accumulator,
               std::size_t count) override {
        select();
        roundOnGpu(type, target, accumulator, count, m_stream);
        m_errors.note(cudaGetLastError());
    }

    std::string synchronize() override {
        select();
        m_errors.note(cudaStreamSynchronize(m_stream));
        return m_errors.take();
    }

    std::unique_ptr<NcclGroup> joinNccl(const NcclId& id, int rank, int size,
                                        std::string& error) override {
        select();
        static_assert(sizeof(ncclUniqueId) == sizeof(NcclId));
        ncclUniqueId unique;
        std::memcpy(&unique, id.data(), sizeof unique);
        ncclComm_t communicator = nullptr;
        if (const auto made = ncclCommInitRank(&communicator, size, unique, rank);
            made != ncclSuccess) {
            error = std::string("NCCL: ") + ncclGetErrorString(made);
            return nullptr;
        }
        return std::make_unique<Group>(communicator, m_stream, m_gpu, m_errors);
    }

private:
    /// A thread's current GPU is its own business, and others call from this thread, too.
    void select() const { cudaSetDevice(m_gpu); }

    const int m_gpu;
    const cudaStream_t m_stream;
    Errors m_errors;
    void* m_runs = nullptr;
    std::size_t m_runCapacity = 0;
};

class Library : public CudaLibrary {
public:
    std::string version() const override {
        int cuda = 0, nccl = 0;
        cudaRuntimeGetVersion(&cuda);
        ncclGetVersion(&nccl);
        return "CUDA " + std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10) +
               ", NCCL " + std::to_string(nccl / 10000) + "." + std::to_string(nccl / 100 % 100) +
               "." + std::to_string(nccl % 100);
    }

    int gpuCount(std::string& error) const override {
        int driver = 0, count = 0;
        // 0: no libcuda.so.1.
        if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
            error = "no driver: this machine has no NVIDIA driver (libcuda.so.1)";
            return -1;
        }
        const cudaError_t found = cudaGetDeviceCount(&count);
        if (found == cudaErrorNoDevice)
            return 0;
        if (found != cudaSuccess) {
            error = std::string("CUDA: ") + cudaGetErrorString(found);
            return -1;
        }
        return count;
    }

    std::unique_ptr<CudaDevice> open(int gpu, std::string& error) override {
        cudaStream_t stream = nullptr;
        cudaError_t done = cudaSetDevice(gpu);
        if (done == cudaSuccess)
            done = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        if (done != cudaSuccess) {
            error = std::string("CUDA: ") + cudaGetErrorString(done);
            return nullptr;
        }
        return std::make_unique<Device>(gpu, stream);
    }

    NcclId newNcclId() override {
        ncclUniqueId unique{};
        NcclId id{};
        // What is wrong shows when a device joins.
        if (ncclGetUniqueId(&unique) == ncclSuccess)
            std::memcpy(id.data(), &unique, sizeof unique);
        return id;
    }
};

}  // namespace

}  // namespace shardwright

extern "C" __attribute__((visibility("default"))) shardwright::CudaLibrary* shardwrightCuda() {
    static shardwright::Library library;
    return &library;
}
