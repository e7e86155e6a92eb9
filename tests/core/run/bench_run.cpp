// SPDX-License-Identifier: Apache-2.0
// What cutting a model costs: against ONNX Runtime alone on the same cores, per segment, and per
// all-reduce. Blocks of both sides alternate; what is printed are medians and their ratios. Run it
// from a release build on a machine with two free cores.
#include "check/analysis.h"
#include "plan/plan.h"
#include "run/inputs.h"
#include "run/ort_engine.h"
#include "run/thread_communicator.h"
#include "sharding/shard_text.h"
#include "support/generated_transformer.h"
#include "support/shared_files.h"

#include <QTest>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

using namespace shardwright;
using namespace shardwright::test;

namespace {

using Clock = std::chrono::steady_clock;

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[values.size() / 2];
}
double microseconds(Clock::duration d) {
    return std::chrono::duration<double, std::micro>(d).count();
}

std::shared_ptr<const OrtRuntime> runtime() {
    static const std::shared_ptr<const OrtRuntime> runtime = [] {
        auto path = OrtRuntime::find();
        auto loaded = path ? OrtRuntime::load(*path)
                           : Result<std::shared_ptr<const OrtRuntime>>(path.error());
        return loaded ? *loaded : nullptr;
    }();
    return runtime;
}

/// An annotated model lowered for its devices, and whole for one.
struct Both {
    std::shared_ptr<const Plan> sharded, whole;
    InputSet inputs;
};

Result<Both> lowerBoth(Document document, const std::string& mesh, std::vector<std::string> shards,
                       std::map<std::string, std::int64_t> bindings = {}) {
    AnalysisOptions options;
    options.bindings.sizes = std::move(bindings);
    const auto shapes = ShapeTable::build(document.model, options.bindings);
    LayoutPool pool;
    AnnotateRequest request;
    request.mesh = mesh;
    request.shards = std::move(shards);
    auto outcome = annotate(document, *shapes, request, pool);
    if (!outcome)
        return outcome.error();
    apply(document.annotations, outcome->edit);
    auto analysis = Analyser().run(document, options);
    if (!analysis)
        return analysis.error();
    auto sharded = lower(**analysis);
    if (!sharded)
        return sharded.error();
    auto whole = lowerUnannotated(**analysis);
    if (!whole)
        return whole.error();
    auto inputs = randomInputs(*document.model, *(*analysis)->shapes, 1);
    if (!inputs)
        return inputs.error();
    return Both{*sharded, *whole, *inputs};
}

/// Microseconds of each measured pass of one block.
Result<std::vector<double>> block(const Plan& plan, const InputSet& inputs,
                                  const OrtEngineOptions& engine, int repeats) {
    RunOptions options;
    options.warmups = 3;
    options.repeats = repeats;
    options.makeEngine = [&](DeviceId) { return makeOrtEngine(runtime(), engine); };
    auto result = execute(plan, options, inputs);
    if (!result)
        return result.error();
    for (double& ms : result->passesMs)
        ms *= 1000;
    return result->passesMs;
}

struct Medians {
    double sharded = 0, whole = 0;  ///< Microseconds a pass.
};

/// Blocks of both in turn.
Result<Medians> alternate(const Both& both, const OrtEngineOptions& peer, int repeats) {
    std::vector<double> sharded, whole;
    for (int round = 0; round < 5; ++round) {
        auto a = block(*both.sharded, both.inputs, {}, repeats);
        if (!a)
            return a.error();
        auto b = block(*both.whole, both.inputs, peer, repeats);
        if (!b)
            return b.error();
        sharded.insert(sharded.end(), a->begin(), a->end());
        whole.insert(whole.end(), b->begin(), b->end());
    }
    return Medians{median(std::move(sharded)), median(std::move(whole))};
}

ModelBuilder wideMlp(std::int64_t tokens) {
    return std::move(ModelBuilder{}
                         .input("x", {tokens, 2048})
                         .weight("w1", {2048, 8192})
                         .weight("w2", {8192, 2048})
                         .op("MatMul", {"x", "w1"}, {"h"})
                         .op("Relu", {"h"}, {"a"})
                         .op("MatMul", {"a", "w2"}, {"y"})
                         .output("y", {tokens, 2048}));
}

ModelBuilder wideTransformer(std::int64_t tokens) {
    TransformerSizes sizes;
    sizes.layers = 4;
    sizes.batch = 1;
    sizes.tokens = tokens;
    sizes.hidden = 1024;
    sizes.heads = 16;
    sizes.mlp = 4096;
    return transformer(sizes);
}

/// Segments of two small products with an all-reduce of 4 KB after each.
ModelBuilder tinySegments(int count) {
    ModelBuilder builder;
    builder.input("x0", {1, 1024}).weight("in", {1024, 2}).weight("out", {2, 1024});
    for (int i = 0; i < count; ++i) {
        const std::string n = std::to_string(i);
        builder.op("MatMul", {"x" + n, "in"}, {"h" + n})
            .op("MatMul", {"h" + n, "out"}, {"x" + std::to_string(i + 1)});
    }
    return std::move(builder.output("x" + std::to_string(count), {1, 1024}));
}

std::size_t segmentsOf(const Plan& plan) {
    std::size_t most = 0;
    for (const DeviceProgram& device : plan.devices)
        most = std::max(most, device.segments.size());
    return most;
}

/// Median microseconds of an all-reduce of floats between threads of this process.
double allReduceMicroseconds(int devices, std::size_t bytes, int rounds) {
    auto ends = makeThreadCommunicators(devices);
    DeviceGroup group;
    for (int d = 0; d < devices; ++d)
        group.push_back(d);
    std::vector<double> times;
    std::vector<std::thread> threads;
    for (int d = 0; d < devices; ++d)
        threads.emplace_back([&, d] {
            auto send =
                Buffer::host(onnx::TensorProto::FLOAT, {static_cast<std::int64_t>(bytes / 4)});
            auto receive = Buffer::host(onnx::TensorProto::FLOAT, send->dims());
            std::memset(send->data(), 0, bytes);
            std::memset(receive->data(), 0, bytes);
            CollectiveCall call;
            call.kind = CollectiveKind::AllReduce;
            call.reduce = ReduceKind::Sum;
            call.devices = &group;
            call.send = send->view();
            call.receive = receive->view();
            // Several calls are timed together, since a clock costs as much as a small one.
            const int together = bytes > 1'000'000 ? 1 : 100;
            for (int round = -2; round < rounds; ++round) {
                (void)ends[static_cast<std::size_t>(d)]->barrier();
                const auto begin = Clock::now();
                for (int i = 0; i < together; ++i)
                    (void)ends[static_cast<std::size_t>(d)]->run(call);
                if (d == 0 && round >= 0)
                    times.push_back(microseconds(Clock::now() - begin) / together);
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    return median(std::move(times));
}

double memcpyMicroseconds(std::size_t bytes, int rounds) {
    std::vector<std::byte> source(bytes, std::byte{1}), target(bytes);
    std::vector<double> times;
    for (int round = 0; round < rounds; ++round) {
        const auto begin = Clock::now();
        std::memcpy(target.data(), source.data(), bytes);
        times.push_back(microseconds(Clock::now() - begin));
    }
    return median(std::move(times));
}

}  // namespace

class BenchRun : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        if (!runtime())
            QSKIP("run: ONNX Runtime is not here");
    }

    void twoDevicesAgainstOnnxRuntimeWithTwoThreads_data() {
        QTest::addColumn<bool>("mlp");
        QTest::addColumn<int>("tokens");
        for (const int tokens : {1, 64, 512}) {
            QTest::addRow("MLP 2048-8192-2048, %d tokens", tokens) << true << tokens;
            QTest::addRow("4-layer transformer of 1024, %d tokens", tokens) << false << tokens;
        }
    }
    void twoDevicesAgainstOnnxRuntimeWithTwoThreads() {
        QFETCH(bool, mlp);
        QFETCH(int, tokens);
        const auto both =
            mlp ? lowerBoth(wideMlp(tokens).document(), "tp=2", {"w1:1=tp", "w2:0=tp"})
                : lowerBoth(wideTransformer(tokens).document(), "tp=2", megatronShards("tp"));
        QVERIFY2(both, both ? "" : both.error().text().c_str());
        // As a user runs it: two threads, spinning.
        OrtEngineOptions peer;
        peer.intraOpThreads = 2;
        peer.spinning = true;
        const auto medians = alternate(*both, peer, tokens > 64 ? 5 : 15);
        QVERIFY2(medians, medians ? "" : medians.error().text().c_str());
        qInfo("%s: 2 devices %.2f ms, ONNX Runtime with 2 threads %.2f ms, ratio %.2f",
              QTest::currentDataTag(), medians->sharded / 1000, medians->whole / 1000,
              medians->sharded / medians->whole);
    }

    void aHotTinySegmentWithItsAllReduce() {
        constexpr int kSegments = 16;
        const auto both =
            lowerBoth(tinySegments(kSegments).document(), "tp=2", {"in:1=tp", "out:0=tp"});
        QVERIFY2(both, both ? "" : both.error().text().c_str());
        const auto medians = alternate(*both, {}, 500);
        QVERIFY2(medians, medians ? "" : medians.error().text().c_str());
        qInfo("%zu tiny segments, 4 KB all-reduce after each: %.2f us each, kernels included; the "
              "same nodes uncut %.2f us",
              segmentsOf(*both->sharded), medians->sharded / kSegments, medians->whole / kSegments);
    }

    void aSegmentOfTheModelOf32Layers() {
        const auto path = sharedFile("models/llama_32l_gqa_legacy.onnx");
        SKIP_WITHOUT(path, "models/llama_32l_gqa_legacy.onnx");
        auto model = Model::load(path->string());
        QVERIFY(model);
        std::vector<std::string> shards{"#in1@MatMul!*/o_proj/*:0=tp",
                                        "#in1@MatMul!*/down_proj/*:0=tp"};
        for (const char* name : {"q_proj", "k_proj", "v_proj", "gate_proj", "up_proj"})
            shards.push_back(std::string("#in1@MatMul!*/") + name + "/*:1=tp");
        const auto both = lowerBoth({*model, (*model)->annotations()}, "tp=2", std::move(shards));
        QVERIFY2(both, both ? "" : both.error().text().c_str());
        const auto medians = alternate(*both, {}, 20);
        QVERIFY2(medians, medians ? "" : medians.error().text().c_str());
        const std::size_t segments = segmentsOf(*both->sharded);
        qInfo("7343 nodes in %zu segments: %.2f ms, uncut %.2f ms: %.1f us a segment", segments,
              medians->sharded / 1000, medians->whole / 1000,
              (medians->sharded - medians->whole) / static_cast<double>(segments));
    }

    void anAllReduceBetweenThreads() {
        const double small = allReduceMicroseconds(2, 4096, 200);
        const double four = allReduceMicroseconds(4, 4096, 50);
        constexpr std::size_t kLarge = 64 << 20;
        std::vector<double> ratios;
        double large = 0, copy = 0;
        for (int round = 0; round < 5; ++round) {
            large = allReduceMicroseconds(2, kLarge, 5);
            copy = memcpyMicroseconds(kLarge, 5);
            ratios.push_back(copy / large);
        }
        qInfo(
            "all-reduce: 4 KB between 2 threads %.2f us, between 4 threads %.2f us; 64 MB between "
            "2 threads %.2f GB/s, memcpy of one thread %.2f GB/s, ratio %.2f",
            small, four, kLarge / large / 1000, kLarge / copy / 1000, median(ratios));
    }
};

QTEST_GUILESS_MAIN(BenchRun)
#include "bench_run.moc"
