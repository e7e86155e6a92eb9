// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime writes a profile of each session as Chrome trace events: {"cat": "Node", "name":
// "fused mm1/MatMulAddFusion_kernel_time", "dur": 13, "args": {"op_name": "FusedGemm", ...}}, in
// whole microseconds.
#include "run/operator_profile.h"

#include "run/run_reports.h"

#include <nlohmann/json.hpp>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>
#include <unordered_map>

namespace shardwright {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kKernel = "_kernel_time", kFused = "fused ";

std::string textOf(const Json& object, const char* name) {
    const auto it = object.find(name);
    return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

bool borders(char c) {
    return c == '/' || c == '_' || c == '.' || c == ' ' || c == ':';
}

/// The node of the longest name that `name` is or begins with.
NodeId byName(std::string_view name, const std::unordered_map<std::string_view, NodeId>& names) {
    if (name.starts_with(kFused))
        name.remove_prefix(kFused.size());
    for (std::size_t length = name.size(); length > 0; --length) {
        if (length < name.size() && !borders(name[length]))
            continue;
        if (const auto it = names.find(name.substr(0, length)); it != names.end())
            return it->second;
    }
    return {};
}

/// "MatMul_3" of operator MatMul: what ONNX Runtime calls a node without a name.
int unnamedIndex(const KernelTime& kernel) {
    if (!kernel.name.starts_with(kernel.op + "_"))
        return -1;
    int index = 0;
    for (std::size_t i = kernel.op.size() + 1; i < kernel.name.size(); ++i) {
        if (kernel.name[i] < '0' || kernel.name[i] > '9' || index > 100'000'000)
            return -1;
        index = index * 10 + (kernel.name[i] - '0');
    }
    return kernel.name.size() > kernel.op.size() + 1 ? index : -1;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[values.size() / 2];
}

const Segment* segmentOf(const Plan& plan, DeviceId device, std::size_t index) {
    for (const DeviceProgram& program : plan.devices)
        if (program.device == device && index < program.segments.size())
            return &program.segments[index];
    return nullptr;
}

/// "d1_s12_..." gives device 1, segment 12.
bool parseProfileName(const std::string& file, int& device, int& segment) {
    return std::sscanf(file.c_str(), "d%d_s%d_", &device, &segment) == 2 && segment >= 0;
}

}  // namespace

Result<std::vector<KernelTime>> readKernelTimes(std::string_view text) {
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_array())
        return Error{"not a profile of ONNX Runtime", {}};
    std::vector<KernelTime> kernels;
    std::unordered_map<std::string, std::size_t> known;
    for (const Json& event : json) {
        if (!event.is_object() || textOf(event, "cat") != "Node")
            continue;
        std::string name = textOf(event, "name");
        const auto duration = event.find("dur"), args = event.find("args");
        if (!name.ends_with(kKernel) || duration == event.end() || !duration->is_number() ||
            args == event.end() || !args->is_object())
            continue;
        name.resize(name.size() - kKernel.size());
        const auto [it, added] = known.emplace(name, kernels.size());
        if (added)
            kernels.push_back({name, textOf(*args, "op_name"), {}});
        kernels[it->second].callsUs.push_back(duration->get<double>());
    }
    return kernels;
}

std::vector<NodeId> nodesOfKernels(const std::vector<KernelTime>& kernels,
                                   const std::vector<NodeId>& nodes, const GraphIndex& graph) {
    std::unordered_map<std::string_view, NodeId> names;
    std::map<std::string, std::vector<NodeId>> unnamed;  // By operator, in order.
    for (const NodeId node : nodes) {
        const std::string& name = graph.node(node).proto->name();
        if (!name.empty())
            names.emplace(name, node);
        else
            unnamed[std::string(graph.opType(node))].push_back(node);
    }
    std::vector<NodeId> found(kernels.size());
    std::map<std::string, std::map<int, std::size_t>> left;  // By operator and index.
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        found[i] = byName(kernels[i].name, names);
        if (!found[i])
            if (const int index = unnamedIndex(kernels[i]); index >= 0)
                left[kernels[i].op][index] = i;
    }
    for (const auto& [op, byIndex] : left) {
        const auto it = unnamed.find(op);
        if (it == unnamed.end() || it->second.size() != byIndex.size())
            continue;
        auto node = it->second.begin();
        for (const auto& [index, kernel] : byIndex)
            found[kernel] = *node++;
    }
    return found;
}

Result<std::unique_ptr<ProfileFolder>> ProfileFolder::make() {
    std::error_code error;
    std::string name =
        (std::filesystem::temp_directory_path(error) / "shardwright-profile-XXXXXX").string();
    if (error || !mkdtemp(name.data()))
        return Error{"there is no place for profiles", name};
    return std::unique_ptr<ProfileFolder>(new ProfileFolder(name));
}

ProfileFolder::~ProfileFolder() {
    std::error_code error;
    std::filesystem::remove_all(m_path, error);
}

std::string ProfileFolder::prefix(DeviceId device) const {
    return (m_path / ("d" + std::to_string(device) + "_")).string();
}

std::vector<RunOperator> operatorTimes(const std::filesystem::path& folder, const Plan& plan,
                                       const GraphIndex& graph, int warmups,
                                       std::vector<std::string>& problems) {
    std::vector<RunOperator> operators;
    std::error_code error;
    std::map<std::pair<int, int>, std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        int device = 0, index = 0;
        if (parseProfileName(entry.path().filename().string(), device, index))
            files[{device, index}] = entry.path();
    }
    for (const auto& [key, path] : files) {
        const auto& [device, index] = key;
        const Segment* segment = segmentOf(plan, device, static_cast<std::size_t>(index));
        std::ifstream file(path, std::ios::binary);
        std::stringstream text;
        text << file.rdbuf();
        const auto kernels = readKernelTimes(text.str());
        if (!kernels || !segment) {
            problems.push_back("device " + std::to_string(device) + ", segment " +
                               std::to_string(index) + ": " +
                               (kernels ? "no such segment" : kernels.error().message));
            continue;
        }
        const std::vector<NodeId> nodes = nodesOfKernels(*kernels, segment->nodes, graph);
        for (std::size_t i = 0; i < kernels->size(); ++i) {
            const KernelTime& kernel = (*kernels)[i];
            // A kernel in a loop runs several times a pass; then its first calls are no warm-up.
            std::vector<double> calls = kernel.callsUs;
            if (static_cast<int>(calls.size()) > warmups)
                calls.erase(calls.begin(), calls.begin() + warmups);
            RunOperator one;
            one.device = device;
            one.phase = segment->phase;
            one.node = runPlaceOf(graph, nodes[i]);
            one.op = kernel.op;
            one.kernel = kernel.name;
            one.calls = static_cast<int>(calls.size());
            one.totalUs = std::accumulate(calls.begin(), calls.end(), 0.0);
            one.medianUs = median(std::move(calls));
            operators.push_back(std::move(one));
        }
    }
    return operators;
}

}  // namespace shardwright
