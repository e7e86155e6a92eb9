// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/run_events.h"

#include <filesystem>
#include <string>
#include <vector>

namespace shardwright {

/// How a run over MPI is started on this machine: mpirun with one worker a device.
class MpiLaunch {
public:
    /// `own` are further words for mpirun (--hostfile FILE). Errors: no mpirun, a worker without
    /// MPI, a model whose devices cannot be counted.
    static Result<MpiLaunch> prepare(const RunRequest& request, const std::filesystem::path& worker,
                                     const std::vector<std::string>& own);
    MpiLaunch(MpiLaunch&&) noexcept = default;
    MpiLaunch& operator=(MpiLaunch&&) = delete;
    /// Removes what a killed mpirun leaves behind.
    ~MpiLaunch();

    const std::vector<std::string>& command() const { return m_command; }

private:
    MpiLaunch() = default;
    std::vector<std::string> m_command;
    std::string m_scratch;
};

/// What mpirun said when it ended without a report, in one line.
std::string mpirunWords(const std::string& standardError);

}  // namespace shardwright
