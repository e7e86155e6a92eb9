// SPDX-License-Identifier: Apache-2.0
#include "run/ort_engine.h"

#include "model/shapes.h"
#include "run/bfloat16_segments.h"
#include "run/element_types.h"
#include "run/reduce.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>

namespace shardwright {

namespace {

using Runtime = std::shared_ptr<const OrtRuntime>;

/// An OrtValue for the time of one run.
struct Value {
    const OrtFunctions* api = nullptr;
    OrtValue* value = nullptr;

    explicit Value(const OrtFunctions& functions) : api(&functions) {}
    Value(Value&& other) noexcept : api(other.api), value(std::exchange(other.value, nullptr)) {}
    Value& operator=(Value&&) = delete;
    ~Value() {
        if (value)
            api->ReleaseValue(value);
    }
};

/// Weights as ONNX Runtime takes them.
struct LoadedWeights {
    std::shared_ptr<WeightStore> store;
    std::vector<std::shared_ptr<std::byte>> bytes;
    std::vector<const char*> names;
    std::vector<Value> values;
    std::vector<bool> shared;

    bool anyShared() const { return std::find(shared.begin(), shared.end(), true) != shared.end(); }
    /// ONNX Runtime has made copies of the others.
    void keepShared() {
        for (std::size_t i = 0; i < bytes.size(); ++i)
            if (!shared[i])
                bytes[i].reset();
    }
};

class OrtKernelSession : public KernelSession {
public:
    OrtKernelSession(Runtime runtime, LoadedWeights kept, OrtSession* session,
                     OrtRunOptions* options, const SegmentSource& source)
        : m_runtime(std::move(runtime)), m_kept(std::move(kept)), m_session(session),
          m_options(options), m_inputs(source.inputs), m_outputs(source.outputs),
          m_stringInputs(source.stringInputs), m_stringOutputs(source.stringOutputs),
          m_place(source.place) {
        for (const std::string& name : m_inputs)
            m_inputNames.push_back(name.c_str());
        for (const std::string& name : m_outputs)
            m_outputNames.push_back(name.c_str());
    }
    ~OrtKernelSession() override {
        if (m_profiled)
            endProfile();
        m_runtime->api().ReleaseSession(m_session);
    }
    void setProfiled() { m_profiled = true; }
    void useStrings(std::shared_ptr<StringPool> strings) { m_strings = std::move(strings); }
    /// Of buffers that are not in the host's memory. Outlives this.
    void useDeviceMemory(std::shared_ptr<const OrtMemoryInfo> memory) {
        m_deviceMemory = std::move(memory);
    }

    Result<void> run(std::span<const Buffer> inputs, std::span<Buffer> outputs) override {
        if (inputs.size() != m_inputs.size() || outputs.size() != m_outputs.size())
            return Error{"a segment was given another number of tensors than it has", m_place};
        const OrtFunctions& api = m_runtime->api();
        std::vector<Value> values;
        values.reserve(inputs.size() + outputs.size());
        std::vector<OrtValue*> in(inputs.size()), out(outputs.size());
        for (std::size_t i = 0; i < inputs.size(); ++i)
            if (auto bound = isSet(m_stringInputs, i)
                                 ? bindStrings(values.emplace_back(api), inputs[i], in[i])
                                 : bind(values.emplace_back(api), inputs[i], in[i]);
                !bound)
                return bound;
        // ONNX Runtime allocates strings itself.
        for (std::size_t i = 0; i < outputs.size(); ++i)
            if (auto bound = isSet(m_stringOutputs, i)
                                 ? Result<void>()
                                 : bind(values.emplace_back(api), outputs[i], out[i]);
                !bound)
                return bound;
        auto ran =
            m_runtime->check(api.Run(m_session, m_options, m_inputNames.data(), in.data(),
                                     in.size(), m_outputNames.data(), out.size(), out.data()),
                             m_place);
        for (std::size_t i = 0; ran && i < outputs.size(); ++i)
            if (isSet(m_stringOutputs, i))
                ran = takeStrings(out[i], outputs[i], i);
            else if (!outputs[i])
                ran = adopt(out[i], outputs[i]);
        for (std::size_t i = 0; i < outputs.size(); ++i)
            if (isSet(m_stringOutputs, i) && out[i])
                api.ReleaseValue(out[i]);
        return ran;
    }

private:
    /// Writes the file; who wants it finds it by its name, or not.
    void endProfile() {
        OrtAllocator* allocator = nullptr;
        char* name = nullptr;
        const OrtFunctions& api = m_runtime->api();
        if (m_runtime->check(api.GetAllocatorWithDefaultOptions(&allocator), m_place) &&
            m_runtime->check(api.SessionEndProfiling(m_session, allocator, &name), m_place) && name)
            (void)m_runtime->check(api.AllocatorFree(allocator, name), m_place);
    }

    Result<void> bind(Value& value, const Buffer& buffer, OrtValue*& out) const {
        if (!buffer)
            return {};  // ONNX Runtime allocates it.
        auto made = m_runtime->check(
            m_runtime->api().CreateTensorWithDataAsOrtValue(
                buffer.memory() == MemoryKind::Host ? m_runtime->hostMemory()
                                                    : m_deviceMemory.get(),
                const_cast<std::byte*>(buffer.data()), buffer.bytes(), buffer.dims().data(),
                buffer.dims().size(), buffer.elementType(), &value.value),
            m_place);
        out = value.value;
        return made;
    }

    static bool isSet(const std::vector<bool>& flags, std::size_t i) {
        return i < flags.size() && flags[i];
    }

    Result<void> bindStrings(Value& value, const Buffer& buffer, OrtValue*& out) const {
        const OrtFunctions& api = m_runtime->api();
        if (!m_strings || buffer.memory() != MemoryKind::Host)
            return Error{"strings are run in host memory only", m_place};
        const auto texts = m_strings->texts(buffer);
        if (!texts)
            return Error{texts.error().message, m_place};
        std::vector<const char*> strings;
        for (const std::string& text : *texts)
            strings.push_back(text.c_str());
        OrtAllocator* allocator = nullptr;
        auto made = m_runtime->check(api.GetAllocatorWithDefaultOptions(&allocator), m_place);
        if (made)
            made = m_runtime->check(
                api.CreateTensorAsOrtValue(allocator, buffer.dims().data(), buffer.dims().size(),
                                           onnx::TensorProto::STRING, &value.value),
                m_place);
        if (made)
            made = m_runtime->check(
                api.FillStringTensor(value.value, strings.data(), strings.size()), m_place);
        out = value.value;
        return made;
    }

    /// Writes the numbers of the strings of an output.
    Result<void> takeStrings(const OrtValue* value, Buffer& buffer, std::size_t output) const {
        const OrtFunctions& api = m_runtime->api();
        if (!m_strings || !buffer || buffer.memory() != MemoryKind::Host)
            return Error{"strings are run in host memory only", m_place};
        OrtTensorTypeAndShapeInfo* info = nullptr;
        auto got = m_runtime->check(api.GetTensorTypeAndShape(value, &info), m_place);
        std::size_t rank = 0, bytes = 0;
        if (got)
            got = m_runtime->check(api.GetDimensionsCount(info, &rank), m_place);
        std::vector<std::int64_t> dims(got ? rank : 0);
        if (got)
            got = m_runtime->check(api.GetDimensions(info, dims.data(), rank), m_place);
        if (info)
            api.ReleaseTensorTypeAndShapeInfo(info);
        if (got && dims != buffer.dims())
            return Error{"`" + m_outputs[output] + "` has the shape " + dimsText(dims) +
                             ", which depends on its data; expected " + dimsText(buffer.dims()),
                         m_place};
        if (got)
            got = m_runtime->check(api.GetStringTensorDataLength(value, &bytes), m_place);
        if (!got)
            return got;
        const auto count = static_cast<std::size_t>(buffer.count());
        if (count == 0)
            return {};
        std::string text(bytes, '\0');
        std::vector<std::size_t> offsets(count);
        got = m_runtime->check(
            api.GetStringTensorContent(value, text.data(), bytes, offsets.data(), count), m_place);
        std::vector<std::string> texts;
        for (std::size_t i = 0; got && i < count; ++i)
            texts.push_back(
                text.substr(offsets[i], (i + 1 < count ? offsets[i + 1] : bytes) - offsets[i]));
        if (!got)
            return got;
        const auto numbers = m_strings->buffer(texts, dims);
        if (!numbers)
            return Error{numbers.error().message, m_place};
        std::memcpy(buffer.data(), numbers->data(), numbers->bytes());
        return {};
    }

    /// Makes a buffer of a tensor that ONNX Runtime allocated.
    Result<void> adopt(OrtValue* value, Buffer& buffer) const {
        const OrtFunctions& api = m_runtime->api();
        OrtTensorTypeAndShapeInfo* info = nullptr;
        void* data = nullptr;
        int elementType = 0;
        std::size_t rank = 0;
        std::shared_ptr<OrtValue> owner(
            value, [runtime = m_runtime](OrtValue* v) { runtime->api().ReleaseValue(v); });
        if (auto got = m_runtime->check(api.GetTensorTypeAndShape(value, &info), m_place); !got)
            return got;
        std::vector<std::int64_t> dims;
        auto got = m_runtime->check(api.GetTensorElementType(info, &elementType), m_place);
        if (got)
            got = m_runtime->check(api.GetDimensionsCount(info, &rank), m_place);
        dims.resize(got ? rank : 0);
        if (got)
            got = m_runtime->check(api.GetDimensions(info, dims.data(), rank), m_place);
        if (got)
            got = m_runtime->check(api.GetTensorMutableData(value, &data), m_place);
        api.ReleaseTensorTypeAndShapeInfo(info);
        if (got)
            buffer = Buffer({owner, static_cast<std::byte*>(data)}, elementType, std::move(dims));
        return got;
    }

    Runtime m_runtime;
    LoadedWeights m_kept;  ///< What the session shares with others.
    OrtSession* m_session;
    OrtRunOptions* m_options;
    std::vector<std::string> m_inputs, m_outputs;
    std::vector<const char*> m_inputNames, m_outputNames;
    std::vector<bool> m_stringInputs, m_stringOutputs;
    std::shared_ptr<StringPool> m_strings;
    std::string m_place;
    bool m_profiled = false;
    std::shared_ptr<const OrtMemoryInfo> m_deviceMemory;
};

class OrtEngine : public KernelEngine {
public:
    OrtEngine(Runtime runtime, const OrtEngineOptions& options)
        : m_runtime(std::move(runtime)), m_settings(options) {
        if (!m_settings.weights)
            m_settings.weights = std::make_shared<WeightStore>(m_runtime, false);
        // Without run options nothing can be terminated, and all else works.
        (void)m_runtime->check(m_runtime->api().CreateRunOptions(&m_runOptions), {});
        if (m_settings.cuda.gpu >= 0)
            nameDeviceMemory();
    }
    ~OrtEngine() override {
        if (m_runOptions)
            m_runtime->api().ReleaseRunOptions(m_runOptions);
    }

    MemoryKind memory() const override { return MemoryKind::Host; }
    Stream stream() const override { return {}; }
    std::shared_ptr<std::byte> allocate(std::size_t bytes) override { return allocateHost(bytes); }

    Result<std::unique_ptr<KernelSession>> createSession(const SegmentSource& source) override {
        auto made = makeSession(source, false);
        if (made)
            return made;
        // The CPU provider lacks many kernels of bfloat16.
        const auto widened = inFloat32(std::string(source.modelBytes));
        if (!widened)
            return made;
        SegmentSource other = source;
        other.modelBytes = widened->modelBytes;
        for (auto* names : {&other.inputs, &other.outputs})
            for (std::string& name : *names)
                if (const auto port = widened->ports.find(name); port != widened->ports.end())
                    name = port->second;
        auto again = makeSession(other, true);
        return again ? std::move(again) : std::move(made);
    }

    Result<std::unique_ptr<KernelSession>> makeSession(const SegmentSource& source, bool widened) {
        const OrtFunctions& api = m_runtime->api();
        std::unique_lock large(m_settings.weights->largeSession(), std::defer_lock);
        if (weightBytes(source) > kLargeSession)
            large.lock();
        OrtSessionOptions* options = nullptr;
        OrtSession* session = nullptr;
        LoadedWeights weights;
        auto made = m_runtime->check(api.CreateSessionOptions(&options), source.place);
        if (made)
            made = configure(options, source);
        if (made)
            made = loadWeights(source, widened, weights);
        if (made)
            made = addWeights(options, weights, source.place);
        if (made && weights.anyShared())
            made = m_runtime->check(api.CreateSessionFromArrayWithPrepackedWeightsContainer(
                                        m_runtime->environment(), source.modelBytes.data(),
                                        source.modelBytes.size(), options,
                                        m_settings.weights->container(), &session),
                                    source.place);
        else if (made)
            made = m_runtime->check(
                api.CreateSessionFromArray(m_runtime->environment(), source.modelBytes.data(),
                                           source.modelBytes.size(), options, &session),
                source.place);
        if (options)
            api.ReleaseSessionOptions(options);
        if (!made)
            return made.error();
        weights.keepShared();
        auto kernels = std::make_unique<OrtKernelSession>(m_runtime, std::move(weights), session,
                                                          m_runOptions, source);
        if (!m_settings.profilePrefix.empty())
            kernels->setProfiled();
        kernels->useDeviceMemory(m_deviceMemory);
        kernels->useStrings(m_settings.strings);
        return std::unique_ptr<KernelSession>(std::move(kernels));
    }

    void copyRegion(const RegionCopy& copy, ConstBufferView source, std::byte* target) override {
        copy.run(source.data, target);
    }
    void fillIdentity(ReduceKind kind, BufferView target) override {
        shardwright::fillIdentity(kind, target.elementType, target.data, elements(target));
    }
    void accumulateRegion(ReduceKind kind, const RegionCopy& copy, ConstBufferView source,
                          BufferView accumulator) override {
        const std::size_t size = bytesOf(source.elementType),
                          wide = bytesOf(accumulator.elementType);
        copy.forEachRun([&](std::size_t from, std::size_t to, std::size_t bytes) {
            accumulate(kind, source.elementType, accumulator.data + to / size * wide,
                       source.data + from, static_cast<std::int64_t>(bytes / size));
        });
    }
    void roundAccumulator(ConstBufferView accumulator, BufferView target) override {
        shardwright::roundAccumulator(target.elementType, accumulator.data, target.data,
                                      elements(target));
    }
    Result<void> fromHost(const std::byte* source, BufferView target) override {
        std::memcpy(target.data, source, target.bytes);
        return {};
    }
    Result<void> toHost(ConstBufferView source, std::byte* target) override {
        std::memcpy(target, source.data, source.bytes);
        return {};
    }
    Result<void> synchronize() override { return {}; }

    void terminate() override {
        if (m_runOptions)
            (void)m_runtime->check(m_runtime->api().RunOptionsSetTerminate(m_runOptions), {});
    }

private:
    const Weight& weightOf(const SegmentSource& source, const Segment::WeightUse& use) const {
        return source.plan->weights[static_cast<std::size_t>(use.weight)];
    }
    /// Shared ones, too: while a session is made it has a copy of them.
    std::int64_t weightBytes(const SegmentSource& source) const {
        std::int64_t bytes = 0;
        for (const Segment::WeightUse& use : source.weights)
            bytes += weightOf(source, use).bytes;
        return bytes;
    }

    Result<void> loadWeights(const SegmentSource& source, bool widened,
                             LoadedWeights& weights) const {
        const auto folder = source.weights.empty() ? std::filesystem::path()
                                                   : source.plan->model->path().parent_path();
        weights.store = m_settings.weights;
        for (const Segment::WeightUse& use : source.weights) {
            const Weight& weight = weightOf(source, use);
            const bool widen = widened && weight.elementType == onnx::TensorProto::BFLOAT16;
            const bool shared = !widen && m_settings.weights->shares(weight);
            auto loaded =
                shared ? m_settings.weights->shared(weight, folder) : loadWeight(weight, folder);
            auto bytes = static_cast<std::size_t>(weight.bytes);
            if (loaded && widen) {
                loaded = widenedToFloat(*loaded, bytes);
                bytes *= 2;
            }
            if (!loaded)
                return Error{loaded.error().text(), source.place};
            Value value(m_runtime->api());
            if (auto made = m_runtime->check(
                    m_runtime->api().CreateTensorWithDataAsOrtValue(
                        m_runtime->hostMemory(), loaded->get(), bytes, weight.dims.data(),
                        weight.dims.size(), widen ? onnx::TensorProto::FLOAT : weight.elementType,
                        &value.value),
                    source.place);
                !made)
                return made;
            weights.bytes.push_back(std::move(*loaded));
            weights.names.push_back(use.name.c_str());
            weights.values.push_back(std::move(value));
            weights.shared.push_back(shared);
        }
        return {};
    }

    /// External initializers are copied, and let go of once they are packed. Where the same is
    /// given as an initializer, too, the copy is only there for the optimiser: kernels share ours,
    /// and the container what they pack.
    Result<void> addWeights(OrtSessionOptions* options, const LoadedWeights& weights,
                            const std::string& place) const {
        if (weights.values.empty())
            return {};
        const OrtFunctions& api = m_runtime->api();
        std::vector<const OrtValue*> values;
        for (const Value& value : weights.values)
            values.push_back(value.value);
        auto added = m_runtime->check(api.AddExternalInitializers(options, weights.names.data(),
                                                                  values.data(), values.size()),
                                      place);
        for (std::size_t i = 0; added && i < values.size(); ++i)
            if (weights.shared[i])
                added = m_runtime->check(api.AddInitializer(options, weights.names[i], values[i]),
                                         place);
        return added;
    }

    static Result<std::shared_ptr<std::byte>>
    widenedToFloat(const std::shared_ptr<std::byte>& narrow, std::size_t bytes) {
        auto wide = allocatePages(bytes * 2);  // Zeros; the upper half of a float is the number.
        if (!wide)
            return Error{"no memory for a weight of " + std::to_string(bytes * 2) + " bytes", {}};
        for (std::size_t i = 0; i + 1 < bytes; i += 2)
            std::memcpy(wide.get() + i * 2 + 2, narrow.get() + i, 2);
        return wide;
    }

    static std::size_t bytesOf(std::int32_t type) {
        return static_cast<std::size_t>(std::max(1, elementBits(type) / 8));
    }
    static std::int64_t elements(ConstBufferView view) {
        return static_cast<std::int64_t>(view.bytes / bytesOf(view.elementType));
    }

    Result<void> configure(OrtSessionOptions* options, const SegmentSource& source) const {
        const OrtFunctions& api = m_runtime->api();
        constexpr int sequential = 0, noOptimisation = 0, allOptimisations = 99, fatal = 4;
        const bool optimise = m_settings.optimisation == GraphOptimisation::Automatic
                                  ? source.nodeCount <= kManyNodes
                                  : m_settings.optimisation == GraphOptimisation::Full;
        OrtStatus* const statuses[] = {
            api.SetSessionExecutionMode(options, sequential),
            api.SetSessionGraphOptimizationLevel(options,
                                                 optimise ? allOptimisations : noOptimisation),
            api.SetIntraOpNumThreads(options, m_settings.intraOpThreads),
            api.SetInterOpNumThreads(options, 1),
            api.SetSessionLogSeverityLevel(options, fatal),
            api.AddSessionConfigEntry(options, "session.intra_op.allow_spinning",
                                      m_settings.spinning ? "1" : "0"),
        };
        Result<void> result;
        if (!m_settings.profilePrefix.empty())
            result = m_runtime->check(
                api.EnableProfiling(
                    options,
                    (m_settings.profilePrefix + "s" + std::to_string(source.index) + "_").c_str()),
                source.place);
        for (OrtStatus* status : statuses)
            if (auto set = m_runtime->check(status, source.place); !set)
                result = set;
        return result && m_settings.cuda.gpu >= 0 ? addCuda(options, source.place) : result;
    }

    Result<void> addCuda(OrtSessionOptions* options, const std::string& place) const {
        const OrtFunctions& api = m_runtime->api();
        OrtCudaOptions* cuda = nullptr;
        const std::string gpu = std::to_string(m_settings.cuda.gpu);
        const char *const keys[] = {"device_id"}, *const values[] = {gpu.c_str()};
        auto added = m_runtime->check(api.CreateCudaOptions(&cuda), place);
        if (added)
            added = m_runtime->check(api.UpdateCudaOptions(cuda, keys, values, 1), place);
        if (added)
            added = m_runtime->check(
                api.UpdateCudaOptionsWithValue(cuda, "user_compute_stream", m_settings.cuda.stream),
                place);
        if (added)
            added = m_runtime->check(api.AppendExecutionProviderCuda(options, cuda), place);
        if (cuda)
            api.ReleaseCudaOptions(cuda);
        return added;
    }

    /// Where the device's buffers are.
    void nameDeviceMemory() {
        constexpr int deviceAllocator = 0, defaultMemory = 0;
        OrtMemoryInfo* memory = nullptr;
        // Without it, binding a buffer says so.
        (void)m_runtime->check(m_runtime->api().CreateMemoryInfo("Cuda", deviceAllocator,
                                                                 m_settings.cuda.gpu, defaultMemory,
                                                                 &memory),
                               {});
        m_deviceMemory = {memory, [runtime = m_runtime](OrtMemoryInfo* m) {
                              if (m)
                                  runtime->api().ReleaseMemoryInfo(m);
                          }};
    }

    Runtime m_runtime;
    OrtEngineOptions m_settings;
    std::shared_ptr<const OrtMemoryInfo> m_deviceMemory;
    OrtRunOptions* m_runOptions = nullptr;
};

}  // namespace

std::unique_ptr<KernelEngine> makeOrtEngine(std::shared_ptr<const OrtRuntime> runtime,
                                            const OrtEngineOptions& options) {
    return std::make_unique<OrtEngine>(std::move(runtime), options);
}

}  // namespace shardwright
