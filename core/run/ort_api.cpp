// SPDX-License-Identifier: Apache-2.0
#include "run/ort_api.h"

#include "run/ort_engine.h"

#include <onnx/onnx_pb.h>

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

namespace shardwright {

namespace {

struct OrtApiBase {
    const void* (*GetApi)(std::uint32_t version);
    const char* (*GetVersionString)();
};

OrtFunctions functionsOf(const void* table) {
    OrtFunctions functions;
    const auto* places = static_cast<void* const*>(table);
#define SHARDWRIGHT_ORT_TAKE(name, place, result, parameters)                                      \
    functions.name = reinterpret_cast<decltype(functions.name)>(places[place]);
    SHARDWRIGHT_ORT_FUNCTIONS(SHARDWRIGHT_ORT_TAKE)
#undef SHARDWRIGHT_ORT_TAKE
    return functions;
}

/// y = x + x for two floats.
std::string smallestModel() {
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    auto* graph = model.mutable_graph();
    graph->set_name("check");
    for (auto* info : {graph->add_input(), graph->add_output()}) {
        auto* type = info->mutable_type()->mutable_tensor_type();
        type->set_elem_type(onnx::TensorProto::FLOAT);
        type->mutable_shape()->add_dim()->set_dim_value(2);
    }
    graph->mutable_input(0)->set_name("x");
    graph->mutable_output(0)->set_name("y");
    auto* node = graph->add_node();
    node->set_op_type("Add");
    node->add_input("x");
    node->add_input("x");
    node->add_output("y");
    return model.SerializeAsString();
}

/// Runs the smallest model, with an output given and with one allocated by ONNX Runtime.
Result<void> computes(const std::shared_ptr<const OrtRuntime>& runtime) {
    auto engine = makeOrtEngine(runtime, {});
    auto x = Buffer::host(onnx::TensorProto::FLOAT, {2});
    auto y = Buffer::host(onnx::TensorProto::FLOAT, {2});
    if (!x || !y)
        return (x ? y : x).error();
    auto* values = reinterpret_cast<float*>(x->data());
    values[0] = 1.5f;
    values[1] = -3.0f;
    const std::string model = smallestModel();
    auto session = engine->createSession({model, {"x"}, {"y"}, 1, "the check model"});
    if (!session)
        return session.error();
    const Buffer inputs[] = {*x};
    for (Buffer output : {*y, Buffer()}) {
        Buffer* outputs = &output;
        if (auto ran = (*session)->run(inputs, {outputs, 1}); !ran)
            return ran;
        const auto* sums = reinterpret_cast<const float*>(output.data());
        if (output.bytes() != 2 * sizeof(float) || sums[0] != 3.0f || sums[1] != -6.0f)
            return Error{"it does not add two numbers", {}};
    }
    return {};
}

}  // namespace

Result<void> OrtRuntime::check(OrtStatus* status, const std::string& place) const {
    if (!status)
        return {};
    std::string message = m_api.GetErrorMessage(status);
    m_api.ReleaseStatus(status);
    std::replace(message.begin(), message.end(), '\n', ' ');
    return Error{"ONNX Runtime: " + message, place};
}

Result<std::shared_ptr<const OrtRuntime>> OrtRuntime::load(const std::filesystem::path& library) {
    const auto refuse = [&](const std::string& why) {
        return Error{"not a usable ONNX Runtime: " + why, library.string()};
    };
    // Never unloaded: its threads and statics do not survive that.
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle)
        return refuse(dlerror());
    const auto getBase = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(handle, "OrtGetApiBase"));
    const OrtApiBase* base = getBase ? getBase() : nullptr;
    if (!base)
        return refuse("it has no OrtGetApiBase");
    const std::string version = base->GetVersionString();
    const void* table = base->GetApi(kOrtApiVersion);
    if (!table)
        return refuse("version " + version + " has no interface " + std::to_string(kOrtApiVersion));

    std::shared_ptr<OrtRuntime> runtime(new OrtRuntime);
    runtime->m_version = version;
    runtime->m_api = functionsOf(table);
    const OrtFunctions& api = runtime->m_api;
    constexpr int anyCode = 3;
    OrtStatus* status = api.CreateStatus(anyCode, "to and fro");
    if (!status || api.GetErrorCode(status) != anyCode ||
        api.GetErrorMessage(status) != std::string("to and fro"))
        return refuse("version " + version + " answers with another status than it was given");
    api.ReleaseStatus(status);
    // Errors come back as statuses; only fatal ones need to be on standard error, too.
    constexpr int fatal = 4, arena = 1, defaultMemory = 0;
    if (auto made =
            runtime->check(api.CreateEnv(fatal, "shardwright", &runtime->m_environment), {});
        !made)
        return refuse(made.error().message);
    if (auto made = runtime->check(
            api.CreateCpuMemoryInfo(arena, defaultMemory, &runtime->m_hostMemory), {});
        !made)
        return refuse(made.error().message);
    if (auto works = computes(runtime); !works)
        return refuse("version " + version + ": " + works.error().text());
    return std::shared_ptr<const OrtRuntime>(runtime);
}

bool OrtRuntime::hasProvider(const std::string& name) const {
    char** names = nullptr;
    int count = 0;
    if (!check(m_api.GetAvailableProviders(&names, &count), {}))
        return false;
    const bool found = std::find(names, names + count, name) != names + count;
    (void)check(m_api.ReleaseAvailableProviders(names, count), {});
    return found;
}

OrtRuntime::~OrtRuntime() {
    if (m_hostMemory)
        m_api.ReleaseMemoryInfo(m_hostMemory);
    if (m_environment)
        m_api.ReleaseEnv(m_environment);
}

Result<std::filesystem::path> OrtRuntime::find() {
    std::vector<std::filesystem::path> candidates;
    if (const char* own = std::getenv("SHARDWRIGHT_ONNXRUNTIME"); own && *own)
        candidates.emplace_back(own);
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error)
        candidates.push_back(program.parent_path().parent_path() /
                             "lib/shardwright/libonnxruntime.so");
#ifdef SHARDWRIGHT_ONNXRUNTIME_DEFAULT
    candidates.emplace_back(SHARDWRIGHT_ONNXRUNTIME_DEFAULT);
#endif
    std::string looked;
    for (const auto& candidate : candidates) {
        if (std::filesystem::exists(candidate, error))
            return candidate;
        looked += (looked.empty() ? "" : ", ") + candidate.string();
    }
    return Error{"ONNX Runtime is not there (looked for " + looked +
                     "); packaging/setup.sh fetches it, or set SHARDWRIGHT_ONNXRUNTIME to a "
                     "libonnxruntime.so",
                 {}};
}

}  // namespace shardwright
