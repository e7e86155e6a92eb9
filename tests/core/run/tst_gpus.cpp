// SPDX-License-Identifier: Apache-2.0
// What can be tried of runs on GPUs without one: what is refused and in which words, and the engine
// on a stand-in for CUDA. tests/gpu has what needs a GPU.
#include "run/cuda_engine.h"
#include "run/element_types.h"
#include "run/gpus.h"
#include "run/reduce.h"
#include "run/run_job.h"
#include "support/fake_cuda.h"
#include "support/model_builder.h"

#include <QTest>

#include <cstring>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

std::shared_ptr<const OrtRuntime> runtime() {
    static const auto loaded = [] {
        auto path = OrtRuntime::find();
        auto result = path ? OrtRuntime::load(*path)
                           : Result<std::shared_ptr<const OrtRuntime>>(path.error());
        return result ? *result : nullptr;
    }();
    return loaded;
}

QString refusal(int gpus, Transport transport, int devices) {
    const auto library = gpus < 0 ? makeCudaWithoutDriver() : makeFakeCuda(gpus);
    const auto prepared = Gpus::prepare(*library, *runtime(), transport, devices);
    return prepared ? QString() : QString::fromStdString(prepared.error().message);
}

/// Elements 0, 1, 2, ...
template <class E>
std::vector<E> numbers(std::size_t count) {
    std::vector<E> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<E>(i);
    return values;
}

}  // namespace

class TstGpus : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        if (!runtime())
            QSKIP("needs ONNX Runtime");
        qputenv("SHARDWRIGHT_PLUGINS", qgetenv("SHARDWRIGHT_BIN") + "/../lib/shardwright");
    }

    void combinationsThatCannotBeAreRefused() {
        QVERIFY(checkCombination(Backend::Cpu, Transport::Threads));
        QVERIFY(checkCombination(Backend::Cpu, Transport::Mpi));
        QVERIFY(checkCombination(Backend::Cuda, Transport::Threads));
        QVERIFY(checkCombination(Backend::Cuda, Transport::Nccl));
        QCOMPARE(checkCombination(Backend::Cpu, Transport::Nccl).error().message,
                 std::string("nccl connects GPUs: it needs --backend cuda"));
        QVERIFY(!checkCombination(Backend::Cuda, Transport::Mpi));
    }

    void tooFewGpusAreCounted() {
        QVERIFY(
            refusal(2, Transport::Nccl, 4).startsWith("2 GPUs found, the configuration needs 4"));
        QVERIFY(
            refusal(1, Transport::Nccl, 2).startsWith("1 GPU found, the configuration needs 2"));
        QCOMPARE(refusal(0, Transport::Nccl, 2), QString("0 GPUs found"));
        QCOMPARE(refusal(0, Transport::Threads, 2), QString("0 GPUs found"));
        QCOMPARE(refusal(-1, Transport::Nccl, 2), QString("no driver"));
        // Threads may share one: the next thing that is missing is named.
        QVERIFY(!refusal(2, Transport::Threads, 4).contains("GPU"));
    }

    void anOnnxRuntimeWithoutCudaIsRefused() {
        if (runtime()->hasProvider("CUDAExecutionProvider"))
            QSKIP("this ONNX Runtime has CUDA");
        const QString message = refusal(4, Transport::Nccl, 4);
        QVERIFY2(message.contains("was built without CUDA; set SHARDWRIGHT_ONNXRUNTIME"),
                 qPrintable(message));
        QVERIFY(runtime()->hasProvider("CPUExecutionProvider"));
    }

    void anInstallationWithoutThePluginIsRefused() {
        const QByteArray plugins = qgetenv("SHARDWRIGHT_PLUGINS");
        qputenv("SHARDWRIGHT_PLUGINS", "/nonexistent");
        const auto library = loadCuda();
        qputenv("SHARDWRIGHT_PLUGINS", plugins);
        QVERIFY(!library);
        const QString message = QString::fromStdString(library.error().message);
        QVERIFY2(message.startsWith("this installation was built without CUDA"),
                 qPrintable(message));
    }

    /// The real plug-in, loaded: it must not need a driver for that.
    void thePluginLoadsAndSaysWhetherThereIsADriver() {
        const auto library = loadCuda();
        if (!library && library.error().message.find("without CUDA") != std::string::npos)
            QSKIP("built without CUDA");
        QVERIFY2(library, library ? "" : library.error().text().c_str());
        const std::string version = (*library)->version();
        QVERIFY2(version.find("CUDA 1") == 0 && version.find("NCCL 2") != std::string::npos,
                 version.c_str());
        std::string error;
        const int gpus = (*library)->gpuCount(error);
        if (gpus >= 0)
            QSKIP("there is a driver");
        QVERIFY2(error.find("no driver") == 0, error.c_str());
    }

    void aRunSaysWhyItCannotUseGpus() {
        ModelBuilder builder;
        builder.input("x", {4}).op("Relu", {"x"}, {"y"}).output("y", {4});
        RunRequest request;
        request.modelBytes = builder.bytes();
        request.backend = Backend::Cuda;
        auto outcome = runJob(request, [](const RunEvent&) {});
        if (std::holds_alternative<RunReport>(outcome))
            QSKIP("there is a GPU");
        QVERIFY(std::get<RunFailure>(outcome).kind == RunFailure::Kind::Usage);
        const QString message = QString::fromStdString(std::get<RunFailure>(outcome).message);
        QVERIFY2(message.contains("driver") || message.contains("GPU") ||
                     message.contains("without CUDA"),
                 qPrintable(message));
        request.backend = Backend::Cpu;
        request.transport = Transport::Nccl;
        outcome = runJob(request, [](const RunEvent&) {});
        QCOMPARE(std::get<RunFailure>(outcome).message,
                 std::string("nccl connects GPUs: it needs --backend cuda"));
    }

    /// The stand-in's memory cannot be read: what is right came through CudaDevice.
    void theEngineCopiesRegionsAndJoinsThemOnTheDevice() {
        const auto library = makeFakeCuda(1);
        std::string error;
        const auto engine = makeCudaEngine(library->open(0, error), runtime(), {});
        QVERIFY(engine->memory() == MemoryKind::Device);
        // Columns 1 and 2 of a 3x4 tensor.
        Box whole = Box::whole({3, 4}), region = Box::whole({3, 4});
        region.dims[1] = IndexSet(1, 3);
        const auto copy = RegionCopy::make(whole, region, region, 32);
        QVERIFY(copy);
        const auto in = numbers<float>(12);
        const auto source = engine->allocate(48), target = engine->allocate(24);
        BufferView from{source.get(), 48, T::FLOAT, MemoryKind::Device},
            to{target.get(), 24, T::FLOAT, MemoryKind::Device};
        QVERIFY(engine->fromHost(reinterpret_cast<const std::byte*>(in.data()), from));
        engine->copyRegion(*copy, from, to.data);
        std::vector<float> out(6);
        QVERIFY(engine->toHost(to, reinterpret_cast<std::byte*>(out.data())));
        QCOMPARE(out, (std::vector<float>{1, 2, 5, 6, 9, 10}));

        engine->fillIdentity(ReduceKind::Sum, to);
        engine->accumulateRegion(ReduceKind::Sum, *copy, from, to);
        engine->accumulateRegion(ReduceKind::Sum, *copy, from, to);
        QVERIFY(engine->toHost(to, reinterpret_cast<std::byte*>(out.data())));
        QCOMPARE(out, (std::vector<float>{2, 4, 10, 12, 18, 20}));
    }

    void theEngineSumsHalvesInFloat() {
        const auto library = makeFakeCuda(1);
        std::string error;
        const auto engine = makeCudaEngine(library->open(0, error), runtime(), {});
        const auto copy = RegionCopy::make(Box::whole({2}), Box::whole({2}), Box::whole({2}), 16);
        QVERIFY(copy);
        const Half big[] = {toHalf(2048), toHalf(1)}, one[] = {toHalf(1), toHalf(1)};
        const auto a = engine->allocate(4), sum = engine->allocate(8);
        const BufferView half{a.get(), 4, T::FLOAT16, MemoryKind::Device},
            wide{sum.get(), 8, T::FLOAT, MemoryKind::Device};
        engine->fillIdentity(ReduceKind::Sum, wide);
        for (const Half* values : {big, one, one, one}) {
            QVERIFY(engine->fromHost(reinterpret_cast<const std::byte*>(values), half));
            engine->accumulateRegion(ReduceKind::Sum, *copy, half, wide);
        }
        engine->roundAccumulator(wide, half);
        Half out[2];
        QVERIFY(engine->toHost(half, reinterpret_cast<std::byte*>(out)));
        QCOMPARE(toFloat(out[0]), 2052.0f);
        QCOMPARE(toFloat(out[1]), 4.0f);
    }

    /// Reaches ONNX Runtime's functions for CUDA by their places in the table.
    void sessionsAskForTheCudaProvider() {
        if (runtime()->hasProvider("CUDAExecutionProvider"))
            QSKIP("this ONNX Runtime has CUDA");
        const auto library = makeFakeCuda(1);
        std::string error;
        const auto engine = makeCudaEngine(library->open(0, error), runtime(), {});
        const std::string model =
            ModelBuilder{}.input("x", {4}).op("Relu", {"x"}, {"y"}).output("y", {4}).bytes();
        const auto session = engine->createSession({model, {"x"}, {"y"}, 1, "a model"});
        QVERIFY(!session);
        const QString message = QString::fromStdString(session.error().message);
        QVERIFY2(message.contains("CUDA"), qPrintable(message));
    }
};

QTEST_GUILESS_MAIN(TstGpus)
#include "tst_gpus.moc"
