// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/cuda_library.h"
#include "run/run_processes.h"
#include "run/thread_communicator.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shardwright::test {

using Bytes = std::vector<std::byte>;

/// What became of a body on each device.
struct WorldResult {
    std::vector<std::string> errors;  ///< By device, empty where it went well.
    std::vector<Bytes> results;
    CollectiveCounts executed;  ///< The sum over all devices.
};

/// A transport under test: threads of this process, or, in a process that mpirun started, this and
/// the other processes. All of those run the same test, and all get the same results to look at.
///
/// $SHARDWRIGHT_TEST_TRANSPORT says what the threads work in: `device`, the memory of a stand-in
/// for GPUs; `nccl`, the same, connected by a stand-in for NCCL; `gpu`, the memory of the first
/// GPU.
class DeviceWorld {
public:
    using Body = std::function<Result<Bytes>(int device, Communicator&)>;

    /// Over mpi, what has more than `largestMessage` bytes is cut.
    explicit DeviceWorld(std::size_t largestMessage = 0);
    /// In a process of mpirun?
    static bool isMpi();
    /// What the main function of a test of one transport does before and after the tests.
    static void begin();
    static int end(int status);
    /// Devices that there can be.
    int size() const;

    WorldResult run(int devices, const Body& body, const ThreadCommunicatorOptions& options = {});

private:
    WorldResult runThreads(int devices, const Body& body, ThreadCommunicatorOptions options);

    std::unique_ptr<RunProcesses> m_all;  ///< Over mpi.
    std::unique_ptr<CudaLibrary> m_standIn;
    CudaLibrary* m_cuda = nullptr;  ///< Where the threads work in device memory.
    bool m_nccl = false;
};

}  // namespace shardwright::test

// Like QTEST_GUILESS_MAIN, for a test that mpirun may start, too.
#define SHARDWRIGHT_WORLD_TEST_MAIN(Test)                                                          \
    int main(int argc, char** argv) {                                                              \
        const QCoreApplication application(argc, argv);                                            \
        shardwright::test::DeviceWorld::begin();                                                   \
        Test test;                                                                                 \
        return shardwright::test::DeviceWorld::end(QTest::qExec(&test, argc, argv));               \
    }
