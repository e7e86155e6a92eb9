// SPDX-License-Identifier: Apache-2.0
#include "support/device_world.h"

#include "run/mpi_communicator.h"

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

WorldResult DeviceWorld::run(int devices, const Body& body,
                             const ThreadCommunicatorOptions& options) {
    WorldResult world;
    if (!m_all) {
        auto ends = makeThreadCommunicators(devices, options);
        world.errors.resize(static_cast<std::size_t>(devices));
        world.results.resize(static_cast<std::size_t>(devices));
        std::vector<std::thread> threads;
        for (int d = 0; d < devices; ++d)
            threads.emplace_back([&, d] {
                const auto at = static_cast<std::size_t>(d);
                auto result = body(d, *ends[at]);
                if (result)
                    world.results[at] = std::move(*result);
                else
                    world.errors[at] = result.error().text();
            });
        for (auto& thread : threads)
            thread.join();
        for (const auto& end : ends)
            add(world.executed, end->executed());
        return world;
    }
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
