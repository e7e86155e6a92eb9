// SPDX-License-Identifier: Apache-2.0
#include "run/calibrate.h"
#include "run/executor.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace shardwright {

namespace {

using Clock = std::chrono::steady_clock;

/// y = op(a, b), both of one shape.
std::string modelOf(const char* op, std::int32_t type, const std::vector<std::int64_t>& dims) {
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    auto* graph = model.mutable_graph();
    graph->set_name(op);
    const auto describe = [&](onnx::ValueInfoProto* info, const char* name) {
        info->set_name(name);
        auto* tensor = info->mutable_type()->mutable_tensor_type();
        tensor->set_elem_type(type);
        for (const std::int64_t size : dims)
            tensor->mutable_shape()->add_dim()->set_dim_value(size);
    };
    describe(graph->add_input(), "a");
    describe(graph->add_input(), "b");
    describe(graph->add_output(), "y");
    auto* node = graph->add_node();
    node->set_op_type(op);
    node->add_input("a");
    node->add_input("b");
    node->add_output("y");
    return model.SerializeAsString();
}

class KernelTimer {
public:
    KernelTimer(KernelEngine& engine, bool quick) : m_engine(engine), m_rounds(quick ? 3 : 7) {}

    /// Median seconds of one call.
    Result<double> time(const char* op, std::int32_t type, const std::vector<std::int64_t>& dims) {
        const std::string model = modelOf(op, type, dims);
        auto session = m_engine.createSession({model, {"a", "b"}, {"y"}, 1, op});
        if (!session)
            return session.error();
        std::vector<Buffer> inputs, outputs;
        for (int i = 0; i < 3; ++i) {
            auto buffer = Buffer::host(type, dims);
            if (!buffer)
                return buffer.error();
            std::memset(buffer->data(), 0, buffer->bytes());
            (i < 2 ? inputs : outputs).push_back(std::move(*buffer));
        }
        std::vector<double> rounds;
        int times = 1;
        for (int round = 0; round <= m_rounds; ++round) {
            const auto begin = Clock::now();
            for (int i = 0; i < times; ++i)
                if (auto ran = (*session)->run(inputs, outputs); !ran)
                    return ran.error();
            const double seconds =
                std::chrono::duration<double>(Clock::now() - begin).count() / times;
            // The first one is a warm-up.
            if (round > 0)
                rounds.push_back(seconds);
            times = std::clamp(static_cast<int>(0.003 / std::max(seconds, 1e-8)), 1, 1000);
        }
        std::sort(rounds.begin(), rounds.end());
        return rounds[rounds.size() / 2];
    }

private:
    KernelEngine& m_engine;
    const int m_rounds;
};

void fit(KernelFit& kernel) {
    kernel.fit = fitLinear(kernel.samples);
    kernel.overhead = kernel.fit.constant;
    kernel.perSecond = kernel.fit.variable > 0 ? 1 / kernel.fit.variable : 0;
}

}  // namespace

Result<std::vector<KernelFit>> measureKernels(const CalibrationOptions& options,
                                              const CancelToken& cancel) {
    const auto engine = options.makeEngine();
    KernelTimer timer(*engine, options.quick);
    std::vector<KernelFit> kernels;
    const std::vector<std::int64_t> sizes = options.quick
                                                ? std::vector<std::int64_t>{64, 256}
                                                : std::vector<std::int64_t>{64, 128, 256, 512, 768};
    for (const auto& [type, name] : {std::pair{onnx::TensorProto::FLOAT, "MatMul, float"},
                                     std::pair{onnx::TensorProto::DOUBLE, "MatMul, double"}}) {
        KernelFit kernel{name, 0, 0, {}, {}};
        for (const std::int64_t n : sizes) {
            if (cancel.cancelled())
                return Error{kCancelled, {}};
            const auto seconds = timer.time("MatMul", type, {n, n});
            if (!seconds)
                return seconds.error();
            kernel.samples.push_back({"MatMul of " + std::to_string(n) + " x " + std::to_string(n),
                                      1, 2.0 * static_cast<double>(n * n * n), *seconds});
        }
        fit(kernel);
        kernels.push_back(std::move(kernel));
    }
    // Beyond the caches: two are read, one is written.
    KernelFit memory{"Add, float", 0, 0, {}, {}};
    for (const std::int64_t elements : {std::int64_t(4) << 20, std::int64_t(12) << 20}) {
        if (cancel.cancelled())
            return Error{kCancelled, {}};
        const auto seconds = timer.time("Add", onnx::TensorProto::FLOAT, {elements});
        if (!seconds)
            return seconds.error();
        memory.samples.push_back({"Add of " + std::to_string(elements) + " elements", 1,
                                  12.0 * static_cast<double>(elements), *seconds});
    }
    fit(memory);
    kernels.push_back(std::move(memory));
    return kernels;
}

}  // namespace shardwright
