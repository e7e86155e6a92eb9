// SPDX-License-Identifier: Apache-2.0
#include "run/gpus.h"

#include "run/cuda_engine.h"
#include "run/cuda_mover.h"
#include "run/plugins.h"
#include "run/thread_communicator.h"

namespace shardwright {

Result<CudaLibrary*> loadCuda() {
    auto library = findPlugin("cuda");
    if (!library)
        return Error{"this installation was built without CUDA: " + library.error().message +
                         " (it is built where the CUDA toolkit and NCCL are: packaging/setup.sh "
                         "--cuda fetches them)",
                     library.error().place};
    auto entry = loadPlugin(*library, "shardwrightCuda");
    if (!entry)
        return entry.error();
    return reinterpret_cast<CudaEntry*>(*entry)();
}

Result<void> checkCombination(Backend backend, Transport transport) {
    if (transport == Transport::Nccl && backend != Backend::Cuda)
        return Error{"nccl connects GPUs: it needs --backend cuda", "--transport nccl"};
    if (transport == Transport::Mpi && backend == Backend::Cuda)
        return Error{"mpi moves memory of the host: with --backend cuda use nccl, or threads",
                     "--transport mpi"};
    return {};
}

Result<std::shared_ptr<Gpus>> Gpus::prepare(CudaLibrary& library, const OrtRuntime& runtime,
                                            Transport transport, int devices) {
    std::string error;
    const int found = library.gpuCount(error);
    const auto gpus = std::to_string(found) + (found == 1 ? " GPU found" : " GPUs found");
    if (found < 0)
        return Error{error, "--backend cuda"};
    if (found == 0)
        return Error{gpus, "--backend cuda"};
    if (transport == Transport::Nccl && found < devices)
        return Error{gpus + ", the configuration needs " + std::to_string(devices) +
                         "; with --transport threads devices share a GPU",
                     "--transport nccl"};
    if (!runtime.hasProvider("CUDAExecutionProvider"))
        return Error{"ONNX Runtime " + runtime.version() +
                         " was built without CUDA; set SHARDWRIGHT_ONNXRUNTIME to the "
                         "libonnxruntime.so of onnxruntime-gpu",
                     "--backend cuda"};
    std::shared_ptr<Gpus> result(new Gpus(library, transport));
    for (int device = 0; device < devices; ++device) {
        std::shared_ptr<CudaDevice> opened = library.open(device % found, error);
        if (!opened)
            return Error{error, "GPU " + std::to_string(device % found)};
        result->m_devices.push_back(std::move(opened));
    }
    return result;
}

std::unique_ptr<KernelEngine> Gpus::engine(DeviceId device,
                                           std::shared_ptr<const OrtRuntime> runtime,
                                           const OrtEngineOptions& options) const {
    return makeCudaEngine(m_devices[static_cast<std::size_t>(device)], std::move(runtime), options);
}

decltype(RunOptions::makeCommunicators) Gpus::communicators() const {
    return [devices = m_devices, transport = m_transport, library = &m_library](int count) {
        auto meetings = std::make_shared<NcclMeetings>(*library);
        ThreadCommunicatorOptions connection;
        connection.makeMover = [devices, meetings,
                                transport](DeviceId device) -> std::unique_ptr<DataMover> {
            const auto& own = devices[static_cast<std::size_t>(device)];
            return transport == Transport::Nccl ? makeNcclMover(own, meetings)
                                                : makeDeviceMemoryMover(own);
        };
        return makeThreadCommunicators(count, connection);
    };
}

std::string Gpus::version() const {
    return m_library.version();
}

}  // namespace shardwright
