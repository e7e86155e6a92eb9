// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

// ONNX Runtime's C interface (include/onnxruntime/core/session/onnxruntime_c_api.h), without its
// header: the wheels do not have it. OrtApi is a table of function pointers that only ever grows at
// its end, so a function is known by its place.
struct OrtStatus;
struct OrtEnv;
struct OrtSession;
struct OrtSessionOptions;
struct OrtRunOptions;
struct OrtValue;
struct OrtMemoryInfo;
struct OrtAllocator;
struct OrtTensorTypeAndShapeInfo;
struct OrtPrepackedWeightsContainer;
struct OrtCudaOptions;  // OrtCUDAProviderOptionsV2

namespace shardwright {

/// Version of the table that is asked for; every library since 1.18 has it.
inline constexpr std::uint32_t kOrtApiVersion = 18;

// clang-format off
// name, place in OrtApi, result, parameters
#define SHARDWRIGHT_ORT_FUNCTIONS(X)                                                                                    \
    X(CreateStatus, 0, OrtStatus*, (int code, const char* message))                                                     \
    X(GetErrorCode, 1, int, (const OrtStatus* status))                                                                  \
    X(GetErrorMessage, 2, const char*, (const OrtStatus* status))                                                       \
    X(CreateEnv, 3, OrtStatus*, (int severity, const char* id, OrtEnv** out))                                           \
    X(CreateSessionFromArray, 8, OrtStatus*,                                                                            \
      (const OrtEnv* env, const void* data, std::size_t bytes, const OrtSessionOptions* options, OrtSession** out))     \
    X(Run, 9, OrtStatus*,                                                                                               \
      (OrtSession* session, const OrtRunOptions* options, const char* const* inputNames, const OrtValue* const* inputs, \
       std::size_t inputCount, const char* const* outputNames, std::size_t outputCount, OrtValue** outputs))            \
    X(CreateSessionOptions, 10, OrtStatus*, (OrtSessionOptions** out))                                                  \
    X(SetSessionExecutionMode, 13, OrtStatus*, (OrtSessionOptions* options, int mode))                                  \
    X(EnableProfiling, 14, OrtStatus*, (OrtSessionOptions* options, const char* filePrefix))                            \
    X(SetSessionLogSeverityLevel, 22, OrtStatus*, (OrtSessionOptions* options, int severity))                           \
    X(SetSessionGraphOptimizationLevel, 23, OrtStatus*, (OrtSessionOptions* options, int level))                        \
    X(SetIntraOpNumThreads, 24, OrtStatus*, (OrtSessionOptions* options, int threads))                                  \
    X(SetInterOpNumThreads, 25, OrtStatus*, (OrtSessionOptions* options, int threads))                                  \
    X(CreateRunOptions, 39, OrtStatus*, (OrtRunOptions** out))                                                          \
    X(RunOptionsSetTerminate, 46, OrtStatus*, (OrtRunOptions* options))                                                 \
    X(CreateTensorAsOrtValue, 48, OrtStatus*,                                                                           \
      (OrtAllocator* allocator, const std::int64_t* dims, std::size_t rank, int elementType, OrtValue** out))           \
    X(CreateTensorWithDataAsOrtValue, 49, OrtStatus*,                                                                   \
      (const OrtMemoryInfo* memory, void* data, std::size_t bytes, const std::int64_t* dims, std::size_t rank,          \
       int elementType, OrtValue** out))                                                                                \
    X(GetTensorMutableData, 51, OrtStatus*, (OrtValue* value, void** out))                                              \
    X(FillStringTensor, 52, OrtStatus*, (OrtValue* value, const char* const* strings, std::size_t count))               \
    X(GetStringTensorDataLength, 53, OrtStatus*, (const OrtValue* value, std::size_t* bytes))                           \
    X(GetStringTensorContent, 54, OrtStatus*,                                                                           \
      (const OrtValue* value, void* text, std::size_t bytes, std::size_t* offsets, std::size_t count))                  \
    X(GetTensorElementType, 60, OrtStatus*, (const OrtTensorTypeAndShapeInfo* info, int* out))                          \
    X(GetDimensionsCount, 61, OrtStatus*, (const OrtTensorTypeAndShapeInfo* info, std::size_t* out))                    \
    X(GetDimensions, 62, OrtStatus*,                                                                                    \
      (const OrtTensorTypeAndShapeInfo* info, std::int64_t* dims, std::size_t rank))                                    \
    X(GetTensorTypeAndShape, 65, OrtStatus*, (const OrtValue* value, OrtTensorTypeAndShapeInfo** out))                  \
    X(CreateMemoryInfo, 68, OrtStatus*,                                                                                 \
      (const char* name, int allocator, int device, int kind, OrtMemoryInfo** out))                                     \
    X(CreateCpuMemoryInfo, 69, OrtStatus*, (int allocator, int kind, OrtMemoryInfo** out))                              \
    X(AllocatorFree, 76, OrtStatus*, (OrtAllocator* allocator, void* data))                                             \
    X(GetAllocatorWithDefaultOptions, 78, OrtStatus*, (OrtAllocator** out))                                             \
    X(ReleaseEnv, 92, void, (OrtEnv* env))                                                                              \
    X(ReleaseStatus, 93, void, (OrtStatus* status))                                                                     \
    X(ReleaseMemoryInfo, 94, void, (OrtMemoryInfo* memory))                                                             \
    X(ReleaseSession, 95, void, (OrtSession* session))                                                                  \
    X(ReleaseValue, 96, void, (OrtValue* value))                                                                        \
    X(ReleaseRunOptions, 97, void, (OrtRunOptions* options))                                                            \
    X(ReleaseTensorTypeAndShapeInfo, 99, void, (OrtTensorTypeAndShapeInfo* info))                                       \
    X(ReleaseSessionOptions, 100, void, (OrtSessionOptions* options))                                                   \
    X(SessionEndProfiling, 110, OrtStatus*, (OrtSession* session, OrtAllocator* allocator, char** file))                \
    X(GetAvailableProviders, 125, OrtStatus*, (char*** names, int* count))                                              \
    X(ReleaseAvailableProviders, 126, OrtStatus*, (char** names, int count))                                            \
    X(AddSessionConfigEntry, 130, OrtStatus*, (OrtSessionOptions* options, const char* key, const char* value))         \
    X(AddInitializer, 150, OrtStatus*, (OrtSessionOptions* options, const char* name, const OrtValue* value))           \
    X(CreatePrepackedWeightsContainer, 166, OrtStatus*, (OrtPrepackedWeightsContainer** out))                           \
    X(ReleasePrepackedWeightsContainer, 167, void, (OrtPrepackedWeightsContainer* container))                           \
    X(CreateSessionFromArrayWithPrepackedWeightsContainer, 169, OrtStatus*,                                             \
      (const OrtEnv* env, const void* data, std::size_t bytes, const OrtSessionOptions* options,                        \
       OrtPrepackedWeightsContainer* container, OrtSession** out))                                                      \
    X(AppendExecutionProviderCuda, 204, OrtStatus*, (OrtSessionOptions* options, const OrtCudaOptions* cuda))           \
    X(CreateCudaOptions, 205, OrtStatus*, (OrtCudaOptions** out))                                                       \
    X(UpdateCudaOptions, 206, OrtStatus*,                                                                               \
      (OrtCudaOptions* options, const char* const* keys, const char* const* values, std::size_t count))                 \
    X(ReleaseCudaOptions, 208, void, (OrtCudaOptions* options))                                                         \
    X(AddExternalInitializers, 210, OrtStatus*,                                                                         \
      (OrtSessionOptions* options, const char* const* names, const OrtValue* const* values, std::size_t count))         \
    X(UpdateCudaOptionsWithValue, 263, OrtStatus*, (OrtCudaOptions* options, const char* key, void* value))
// clang-format on

struct OrtFunctions {
#define SHARDWRIGHT_ORT_MEMBER(name, place, result, parameters) result(*name) parameters = nullptr;
    SHARDWRIGHT_ORT_FUNCTIONS(SHARDWRIGHT_ORT_MEMBER)
#undef SHARDWRIGHT_ORT_MEMBER
};

/// A loaded ONNX Runtime with its one environment. Shared by all sessions; thread safe.
class OrtRuntime {
public:
    /// Loads the library and checks that the functions at these places are the ones meant: a status
    /// makes the way to and fro, and a model of one node computes the right numbers. Errors: not a
    /// library, no answer for kOrtApiVersion.
    static Result<std::shared_ptr<const OrtRuntime>> load(const std::filesystem::path& library);
    /// $SHARDWRIGHT_ONNXRUNTIME, else `../lib/shardwright/libonnxruntime.so` beside the program,
    /// else the one known when this was built. Error: where it was looked for and how to get it.
    static Result<std::filesystem::path> find();

    ~OrtRuntime();
    OrtRuntime(const OrtRuntime&) = delete;
    OrtRuntime& operator=(const OrtRuntime&) = delete;

    const OrtFunctions& api() const { return m_api; }
    OrtEnv* environment() const { return m_environment; }
    const OrtMemoryInfo* hostMemory() const { return m_hostMemory; }
    const std::string& version() const { return m_version; }
    /// Whether it was built with a provider of kernels: "CUDAExecutionProvider".
    bool hasProvider(const std::string& name) const;
    /// Takes the status. Its message, in one line, or success.
    Result<void> check(OrtStatus* status, const std::string& place) const;

private:
    OrtRuntime() = default;
    OrtFunctions m_api;
    OrtEnv* m_environment = nullptr;
    OrtMemoryInfo* m_hostMemory = nullptr;
    std::string m_version;
};

}  // namespace shardwright
