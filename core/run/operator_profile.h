// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/graph.h"
#include "plan/plan.h"
#include "run/run_events.h"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shardwright {

/// One kernel of a session, as ONNX Runtime's profiler has it.
struct KernelTime {
    std::string name;  ///< Of the node in the optimised graph.
    std::string op;    ///< Also of kernels that several nodes were fused into.
    std::vector<double> callsUs;
};
/// Reads a profile: kernels in the order of their first call. Error: not a profile.
Result<std::vector<KernelTime>> readKernelTimes(std::string_view json);

/// The node of the model that a kernel belongs to: by its name; the name that the kernel's begins
/// with where nodes were fused or copied; unnamed nodes by the order of their operators where all
/// of these are left. Invalid: none of them (a node that was put in).
std::vector<NodeId> nodesOfKernels(const std::vector<KernelTime>& kernels,
                                   const std::vector<NodeId>& nodes, const GraphIndex& graph);

/// A folder for profiles that is removed at the end.
class ProfileFolder {
public:
    static Result<std::unique_ptr<ProfileFolder>> make();
    ~ProfileFolder();
    ProfileFolder(const ProfileFolder&) = delete;
    ProfileFolder& operator=(const ProfileFolder&) = delete;
    const std::filesystem::path& path() const { return m_path; }
    /// What names of a device's profiles begin with.
    std::string prefix(DeviceId device) const;

private:
    explicit ProfileFolder(std::filesystem::path path) : m_path(std::move(path)) {}
    std::filesystem::path m_path;
};

/// Times of all kernels that the profiles in a folder have, without those of the first `warmups`
/// passes: the median call. Files that cannot be read are named in `problems`.
std::vector<RunOperator> operatorTimes(const std::filesystem::path& folder, const Plan& plan,
                                       const GraphIndex& graph, int warmups,
                                       std::vector<std::string>& problems);

}  // namespace shardwright
