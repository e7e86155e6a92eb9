// SPDX-License-Identifier: Apache-2.0
#include "run/mpi_launch.h"

#include "model/document.h"
#include "run/plugins.h"
#include "sharding/configuration_choice.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <sys/uio.h>
#include <unistd.h>

namespace shardwright {

namespace {

namespace fs = std::filesystem;

Result<fs::path> findMpirun() {
    std::error_code error;
    if (const char* own = std::getenv("SHARDWRIGHT_MPIRUN"); own && *own)
        return fs::exists(own, error) ? Result<fs::path>(own)
                                      : Error{"there is no such file", "SHARDWRIGHT_MPIRUN"};
    const char* path = std::getenv("PATH");
    std::istringstream folders(path ? path : "/usr/bin");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (access((folder + "/mpirun").c_str(), X_OK) == 0)
            return fs::path(folder) / "mpirun";
    return Error{"Open MPI's mpirun is not there: install it (Debian: openmpi-bin)", "PATH"};
}

/// Devices of the configuration that is meant; 1 without any.
Result<int> devicesOf(const RunRequest& request) {
    auto model = request.modelBytes.empty()
                     ? Model::load(request.modelPath)
                     : Model::fromBytes(request.modelBytes, request.modelPath);
    if (!model)
        return model.error();
    const Annotations annotations = (*model)->annotations();
    const auto meant = configurationMeant(annotations, request.configuration);
    if (!meant)
        return meant.error();
    for (const auto& configuration : annotations.configurations)
        if (configuration.name() == *meant)
            return std::clamp(configuration.num_devices(), 1, 1024);
    return 1;
}

/// Containers may forbid what Open MPI uses to copy between processes; a process that asks to read
/// itself finds out.
bool mayReadProcesses() {
    char from = 1, to = 0;
    const iovec source{&from, 1}, target{&to, 1};
    return process_vm_readv(getpid(), &target, 1, &source, 1, 0) == 1;
}

std::string makeScratch() {
    std::error_code error;
    const std::string base =
        access("/dev/shm", W_OK) == 0 ? "/dev/shm" : fs::temp_directory_path(error).string();
    std::string folder = base + "/shardwright-XXXXXX";
    return mkdtemp(folder.data()) ? folder : std::string();
}

}  // namespace

Result<MpiLaunch> MpiLaunch::prepare(const RunRequest& request, const fs::path& worker,
                                     const std::vector<std::string>& own) {
    const auto mpirun = findMpirun();
    if (!mpirun)
        return mpirun.error();
    const auto count = devicesOf(request);
    if (!count)
        return count.error();
    MpiLaunch launch;
    auto& words = launch.m_command;
    // More devices than cores are fine, and where they run is the kernel's business.
    words = {mpirun->string(),
             "-n",
             std::to_string(*count),
             "--oversubscribe",
             "--bind-to",
             "none",
             "--mca",
             "orte_abort_print_stack",
             "0"};
    if (geteuid() == 0)
        words.emplace_back("--allow-run-as-root");  // In a container there is nobody else.
    if (!mayReadProcesses())
        words.insert(words.end(), {"--mca", "btl_vader_single_copy_mechanism", "none"});
    for (const char* name : {"SHARDWRIGHT_ONNXRUNTIME", "SHARDWRIGHT_PLUGINS"})
        if (std::getenv(name))
            words.insert(words.end(), {"-x", name});
    // Other hosts need not have our folder.
    if (own.empty())
        launch.m_scratch = makeScratch();
    if (!launch.m_scratch.empty())
        words.insert(words.end(), {"--mca", "orte_tmpdir_base", launch.m_scratch, "--mca",
                                   "btl_vader_backing_directory", launch.m_scratch});
    words.insert(words.end(), own.begin(), own.end());
    words.insert(words.end(), {worker.string(), "--mpi"});
    return launch;
}

MpiLaunch::~MpiLaunch() {
    std::error_code ignored;
    if (!m_scratch.empty())
        fs::remove_all(m_scratch, ignored);
}

std::string mpirunWords(const std::string& standardError) {
    std::istringstream lines(standardError);
    std::string words;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream pieces(line);
        for (std::string piece; pieces >> piece;)
            if (piece.find_first_not_of('-') != std::string::npos)
                words += (words.empty() ? "" : " ") + piece;
    }
    // What went before is of processes that noticed the end of another one.
    for (const char* begin : {"mpirun noticed", "mpirun detected"})
        if (const auto at = words.find(begin); at != std::string::npos)
            return words.substr(at);
    constexpr std::size_t kMost = 1000;
    return words.size() > kMost ? words.substr(0, kMost) + " ..." : words;
}

}  // namespace shardwright
