// SPDX-License-Identifier: Apache-2.0
#include "support/device_world.h"

#include "run/cuda_mover.h"
#include "run/gpus.h"
#include "run/mpi_processes.h"
#include "support/device_memory_end.h"
#include "support/fake_cuda.h"

#include <QtGlobal>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <sys/prctl.h>

namespace shardwright::test {

namespace {

MpiLibrary& library() {
    static MpiLibrary* const loaded = [] {
        auto mpi = loadMpi();
        if (!mpi) {
            std::fprintf(stderr, "%s\n", mpi.error().text().c_str());
            std::abort();
        }
        return *mpi;
    }();
    return *loaded;
}

void add(CollectiveCounts& total, const CollectiveCounts& part) {
    for (const auto& [kind, counted] : part) {
        total[kind].count += counted.count;
        total[kind].bytes += counted.bytes;
    }
}

/// One device's part of a WorldResult on its way to the others.
std::string packed(const std::string& error, const Bytes& result, const CollectiveCounts& counts) {
    std::string text = std::to_string(error.size()) + " " + std::to_string(counts.size()) + " ";
    for (const auto& [kind, total] : counts)
        text += std::to_string(static_cast<int>(kind)) + " " + std::to_string(total.count) + " " +
                std::to_string(total.bytes) + " ";
    return text + error + std::string(reinterpret_cast<const char*>(result.data()), result.size());
}

void unpack(const std::string& text, WorldResult& into) {
    const char* at = text.c_str();
    const auto number = [&] {
        char* end = nullptr;
        const long long value = std::strtoll(at, &end, 10);
        at = end + 1;
        return value;
    };
    const auto errorSize = static_cast<std::size_t>(number());
    for (auto left = number(); left > 0; --left) {
        auto& total = into.executed[static_cast<CollectiveKind>(number())];
        total.count += number();
        total.bytes += number();
    }
    into.errors.emplace_back(at, errorSize);
    at += errorSize;
    const auto* begin = reinterpret_cast<const std::byte*>(at);
    const auto* end = reinterpret_cast<const std::byte*>(text.data() + text.size());
    into.results.emplace_back(begin, end);
}

}  // namespace

DeviceWorld::DeviceWorld(std::size_t largestMessage) {
    const char* chosen = std::getenv("SHARDWRIGHT_TEST_TRANSPORT");
    const std::string transport = chosen ? chosen : "";
    m_nccl = transport == "nccl";
    if (transport == "gpu") {
        auto loaded = loadCuda();
        std::string error;
        if (!loaded || (*loaded)->gpuCount(error) < 1)
            qFatal("%s", loaded ? error.c_str() : loaded.error().text().c_str());
        m_cuda = *loaded;
    } else if (m_nccl || transport == "device") {
        m_standIn = makeFakeCuda(1);
        m_cuda = m_standIn.get();
    }
    if (!isMpi())
        return;
    library().largestMessage = largestMessage > 0 ? largestMessage : std::size_t{1} << 30;
    m_all = connectMpi(library());
}

bool DeviceWorld::isMpi() {
    return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
}

void DeviceWorld::begin() {
    if (!isMpi())
        return;
    // A test that runs out of time is ended by the end of mpirun.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // All find the same; one says so.
    if (library().rank() > 0 && !std::freopen("/dev/null", "w", stdout))
        std::abort();
}

int DeviceWorld::end(int status) {
    if (isMpi())
        library().finish();
    return status;
}

int DeviceWorld::size() const {
    return m_all ? m_all->size() : 1024;
}

WorldResult DeviceWorld::runThreads(int devices, const Body& body,
                                    ThreadCommunicatorOptions options) {
    std::vector<std::shared_ptr<CudaDevice>> gpus;
    std::string error;
    for (int d = 0; m_cuda && d < devices; ++d)
        gpus.push_back(m_cuda->open(0, error));
    if (m_cuda) {
        auto meetings = std::make_shared<NcclMeetings>(*m_cuda);
        options.makeMover = [this, gpus, meetings](DeviceId d) {
            const auto& gpu = gpus[static_cast<std::size_t>(d)];
            return m_nccl ? makeNcclMover(gpu, meetings) : makeDeviceMemoryMover(gpu);
        };
    }
    auto ends = makeThreadCommunicators(devices, options);
    for (std::size_t d = 0; d < gpus.size(); ++d)
        ends[d] = std::make_unique<DeviceMemoryEnd>(std::move(ends[d]), gpus[d]);
    WorldResult world;
    world.errors.resize(ends.size());
    world.results.resize(ends.size());
    std::vector<std::thread> threads;
    for (std::size_t d = 0; d < ends.size(); ++d)
        threads.emplace_back([&, d] {
            auto result = body(static_cast<int>(d), *ends[d]);
            if (result)
                world.results[d] = std::move(*result);
            else
                world.errors[d] = result.error().text();
        });
    for (auto& thread : threads)
        thread.join();
    for (const auto& end : ends)
        add(world.executed, end->executed());
    return world;
}

WorldResult DeviceWorld::run(int devices, const Body& body,
                             const ThreadCommunicatorOptions& options) {
    if (!m_all)
        return runThreads(devices, body, options);
    WorldResult world;
    std::string own;
    if (m_all->rank() < devices) {
        auto communicator = connectMpi(library(), devices, options.smallAllReduce)->communicator();
        auto result = body(m_all->rank(), *communicator);
        own = packed(result ? std::string() : result.error().text(), result ? *result : Bytes(),
                     communicator->executed());
    }
    // To the first, and from it to all.
    auto all = m_all->gather(std::move(own));
    for (int d = 0; d < devices; ++d) {
        auto text = m_all->broadcast(all && m_all->rank() == 0 ? (*all)[static_cast<std::size_t>(d)]
                                                               : std::string());
        if (text)
            unpack(*text, world);
    }
    return world;
}

}  // namespace shardwright::test
