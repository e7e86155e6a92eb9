// SPDX-License-Identifier: Apache-2.0
// Whole runs over MPI: started by mpirun, one worker a device; what they give, and how they end.
#include "cli_process.h"
#include "run/ort_api.h"
#include "run/worker_client.h"
#include "sharding/edit.h"
#include "sharding/shard_text.h"
#include "support/generated_transformer.h"

#include <QElapsedTimer>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QTest>

#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include <signal.h>

using namespace shardwright;
using namespace shardwright::test;
namespace fs = std::filesystem;

namespace {

WorkerOptions worker() {
    WorkerOptions options;
    options.program = fs::path(qgetenv("SHARDWRIGHT_BIN").toStdString()) / "shardwright-worker";
    return options;
}

std::string annotated(Document document, const std::string& mesh,
                      const std::vector<std::string>& shards) {
    LayoutPool pool;
    AnnotateRequest annotation;
    annotation.mesh = mesh;
    annotation.shards = shards;
    apply(
        document.annotations,
        annotate(document, *ShapeTable::build(document.model, {}), annotation, pool).value().edit);
    return document.toBytes().value();
}

RunRequest requestOf(std::string modelBytes, Transport transport = Transport::Mpi) {
    RunRequest request;
    request.modelBytes = std::move(modelBytes);
    request.verify = VerifyMode::Outputs;
    request.transport = transport;
    request.timeLimitSeconds = 60;
    return request;
}

std::string mlp(int devices) {
    ModelBuilder builder;
    builder.input("x", {4, 16}).weight("w1", {16, 32}).weight("w2", {32, 16});
    builder.op("MatMul", {"x", "w1"}, {"h"}, "mm1")
        .op("Relu", {"h"}, {"a"}, "act")
        .op("MatMul", {"a", "w2"}, {"y"}, "mm2");
    return annotated(builder.output("y", {4, 16}).document(), "tp=" + std::to_string(devices),
                     {"w1:1=tp", "w2:0=tp"});
}

/// Each process draws the numbers of r, y and b by itself.
std::string drawing() {
    onnx::TensorProto yes;
    yes.set_data_type(onnx::TensorProto::BOOL);
    yes.add_int32_data(1);
    yes.set_name("training");
    ModelBuilder builder;
    builder.input("x", {8, 16}).weight("w1", {16, 32}).weight("w2", {32, 16}).initializer(yes);
    builder.real("ratio", 0.5f)
        .op("MatMul", {"x", "w1"}, {"h"}, "mm1")
        .op("MatMul", {"h", "w2"}, {"a"}, "mm2")
        .op("RandomNormalLike", {"a"}, {"r"}, "noise")
        .op("Dropout", {"r", "ratio", "training"}, {"y"}, "drop")
        .op("Sigmoid", {"a"}, {"p"}, "p")
        .op("Bernoulli", {"p"}, {"b"}, "bernoulli");
    return annotated(builder.output("y", {8, 16}).output("b", {8, 16}).document(), "tp=2",
                     {"w1:1=tp", "w2:0=tp"});
}

/// Each process makes half of the strings s, which both want whole.
std::string strings() {
    onnx::TensorProto ending;
    ending.set_name("ending");
    ending.set_data_type(onnx::TensorProto::STRING);
    ending.add_dims(1);
    ending.add_string_data("!");
    ModelBuilder builder;
    builder.opset("ai.onnx.ml", 4)
        .input("x", {8, 2}, onnx::TensorProto::STRING)
        .initializer(ending)
        .op("StringConcat", {"x", "ending"}, {"s"}, "concat")
        .op("LabelEncoder", {"s"}, {"k"}, "label",
            {Attribute::strings("keys_strings", {"two words!", "red!"}),
             {"values_int64s", {1, 2}},
             {"default_int64", 0}},
            "ai.onnx.ml");
    return annotated(builder.output("s", {8, 2}, onnx::TensorProto::STRING)
                         .output("k", {8, 2}, onnx::TensorProto::INT64)
                         .document(),
                     "dp=2", {"x:0=dp", "s@label:replicated"});
}

/// Data parallel, too, where there are devices for it.
std::string decoder(int devices) {
    TransformerSizes sizes;
    sizes.layers = 2;
    std::vector<std::string> shards = megatronShards("tp");
    std::string mesh = "tp=2";
    if (devices == 4) {
        mesh = "dp=2,tp=2";
        shards.push_back("input_ids:0=dp");
    }
    return annotated(transformer(sizes).document(), mesh, shards);
}

/// Processes of ours that are workers over MPI, by rank. mpirun is in between.
std::map<int, pid_t> workers() {
    std::map<int, pid_t> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc", error)) {
        std::ifstream environment(entry.path() / "environ"), arguments(entry.path() / "cmdline");
        std::string command, variable;
        std::getline(arguments, command, '\0');
        if (command.find("shardwright-worker") == std::string::npos)
            continue;
        int rank = -1;
        bool own = false;
        while (std::getline(environment, variable, '\0')) {
            if (variable.rfind("OMPI_COMM_WORLD_RANK=", 0) == 0)
                rank = std::stoi(variable.substr(21));
            own |= variable == "SHARDWRIGHT_TEST_RUN=" + std::to_string(getpid());
        }
        if (own && rank >= 0)
            found[rank] = std::stoi(entry.path().filename().string());
    }
    return found;
}

/// Whether none is left; they are told to end when mpirun ends, which takes them a moment.
bool allGone() {
    for (int i = 0; i < 100; ++i, QTest::qSleep(10))
        if (workers().empty())
            return true;
    return false;
}

/// Runs until `signal` hits the process of `rank`, and then until that is noticed.
struct Struck {
    std::string message;
    qint64 milliseconds = -1;
};
Struck strike(RunRequest request, int rank, int signal, WorkerOptions options) {
    request.repeats = 1'000'000'000;
    QElapsedTimer since;
    const auto sink = [&](const RunEvent& event) {
        const auto* progress = std::get_if<RunProgress>(&event);
        if (!progress || progress->stage != RunStage::Run || since.isValid())
            return;
        const auto running = workers();
        if (running.count(rank) == 0 || progress->share == 0)
            return;
        since.start();
        kill(running.at(rank), signal);
    };
    const auto outcome = runInWorker(request, sink, {}, options);
    const auto* failure = std::get_if<RunFailure>(&outcome);
    return {failure ? failure->message : "no failure", since.isValid() ? since.elapsed() : -1};
}

}  // namespace

class TstMpiRuns : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        const fs::path plugins =
            worker().program.parent_path().parent_path() / "lib" / "shardwright";
        if (!fs::exists(worker().program) || !OrtRuntime::find())
            QSKIP("needs shardwright-worker and ONNX Runtime");
        if (!fs::exists(plugins / "libshardwright-mpi.so"))
            QSKIP("built without MPI");
        // How workers are told from those of other tests.
        qputenv("SHARDWRIGHT_TEST_RUN", QByteArray::number(getpid()));
    }

    void runsVerifyAndGiveTheBitsOfThreads_data() {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<int>("devices");
        QTest::newRow("MLP on 2") << "mlp" << 2;
        QTest::newRow("MLP on 4") << "mlp" << 4;
        QTest::newRow("transformer on 2") << "decoder" << 2;
        QTest::newRow("transformer on 4") << "decoder" << 4;
        QTest::newRow("random numbers on 2") << "drawing" << 2;
        QTest::newRow("strings on 2") << "strings" << 2;
    }
    void runsVerifyAndGiveTheBitsOfThreads() {
        QFETCH(QString, kind);
        QFETCH(int, devices);
        const std::string model = kind == "mlp"       ? mlp(devices)
                                  : kind == "decoder" ? decoder(devices)
                                  : kind == "strings" ? strings()
                                                      : drawing();
        std::vector<RunShard> shards[2];
        std::set<int> exchanging;
        for (const Transport transport : {Transport::Threads, Transport::Mpi}) {
            auto& own = shards[static_cast<int>(transport)];
            const auto sink = [&](const RunEvent& event) {
                if (const auto* shard = std::get_if<RunShard>(&event))
                    own.push_back(*shard);
                if (const auto* exchange = std::get_if<RunExchangeTiming>(&event);
                    exchange && transport == Transport::Mpi)
                    exchanging.insert(exchange->device);
            };
            const auto outcome = runInWorker(requestOf(model, transport), sink, {}, worker());
            const auto* report = std::get_if<RunReport>(&outcome);
            QVERIFY2(report, report ? "" : std::get<RunFailure>(outcome).message.c_str());
            QVERIFY(report->verified == true);
            QVERIFY(!report->executed.empty());
            QVERIFY(report->predicted == report->executed);
            QCOMPARE(report->devices.size(), static_cast<std::size_t>(devices));
            QCOMPARE(report->transport.rfind("Open MPI", 0) == 0, transport == Transport::Mpi);
        }
        QVERIFY(!shards[0].empty());
        QVERIFY(shards[0] == shards[1]);
        QCOMPARE(exchanging.size(), static_cast<std::size_t>(devices));
        QVERIFY(allGone());
    }

    void eachProcessTellsOfItsKernels() {
        RunRequest request = requestOf(mlp(2));
        request.profile = true;
        const auto outcome = runInWorker(
            request, [](const RunEvent&) {}, {}, worker());
        const auto* report = std::get_if<RunReport>(&outcome);
        QVERIFY2(report, report ? "" : std::get<RunFailure>(outcome).message.c_str());
        std::map<int, std::set<std::string>> nodes;
        for (const RunOperator& one : report->operators)
            nodes[one.device].insert(one.node.name);
        QCOMPARE(nodes.size(), std::size_t{2});
        for (const auto& [device, own] : nodes)
            QVERIFY(own.count("mm1") == 1 && own.count("mm2") == 1);
        QVERIFY(report->peakResidentBytes > 0 && report->predictedBytes > 0);
    }

    void theCommandLineStartsOne() {
        QTemporaryDir folder;
        const QString model = folder.filePath("m.onnx");
        std::ofstream(model.toStdString(), std::ios::binary) << mlp(2);
        const CliResult result =
            runCli({"run", model, "--transport", "mpi", "--verify", "--format", "json", "--trace",
                    folder.filePath("t.json"), "--save-shards", folder.filePath("shards")});
        QVERIFY2(result.exitCode == 0, qPrintable(result.err + result.out));
        QCOMPARE(result.err, QString());
        QCOMPARE(result.json()["verified"].toBool(), true);
        QCOMPARE(result.json()["predicted"], result.json()["executed"]);
        QVERIFY(result.json()["transport"].toString().startsWith("Open MPI"));
        QVERIFY(QFile::exists(folder.filePath("t.json")));
        QVERIFY(QFile::exists(folder.filePath("shards/y.dev1.npy")));
    }

    void whatDiffersIsLookedForInASecondRun() {
        RunRequest request = requestOf(decoder(2));
        request.tolerance = 0;
        const auto outcome = runInWorker(
            request, [](const RunEvent&) {}, {}, worker());
        const auto* report = std::get_if<RunReport>(&outcome);
        QVERIFY2(report, report ? "" : std::get<RunFailure>(outcome).message.c_str());
        QVERIFY(report->verified == false);
        QVERIFY(report->firstDivergent);
        QVERIFY(allGone());
    }

    void aModelWithErrorsIsRefusedInTheSameWords() {
        TransformerSizes sizes;
        RunRequest request = requestOf(annotated(transformer(sizes).document(), "tp=2", {}));
        request.bindings = {};
        request.observe = {"no such tensor"};
        const auto outcome = runInWorker(
            request, [](const RunEvent&) {}, {}, worker());
        QCOMPARE(std::get<RunFailure>(outcome).message,
                 std::string("there is no tensor `no such tensor` to observe"));
        QVERIFY(allGone());
    }

    void anotherNumberOfProcessesIsRefused() {
        WorkerOptions options = worker();
        options.mpiOptions = {"-n", "3"};
        const auto outcome = runInWorker(
            requestOf(mlp(2)), [](const RunEvent&) {}, {}, options);
        QCOMPARE(std::get<RunFailure>(outcome).message,
                 std::string("the configuration has 2 devices, the run 3 processes: each device is "
                             "one process"));
    }

    void aProcessThatDiesIsReported() {
        for (const int rank : {0, 1}) {
            const Struck struck = strike(requestOf(mlp(2)), rank, SIGKILL, worker());
            const std::string who = "rank " + std::to_string(rank);
            QVERIFY2(struck.message.find(who) != std::string::npos &&
                         struck.message.find("signal 9") != std::string::npos,
                     struck.message.c_str());
            QVERIFY2(struck.milliseconds < 5000, qPrintable(QString::number(struck.milliseconds)));
            QVERIFY(allGone());
        }
    }

    void aProcessThatHangsIsReportedAtTheTimeLimit() {
        RunRequest limited = requestOf(mlp(2));
        limited.timeLimitSeconds = 3;
        WorkerOptions patient = worker();
        patient.cancelGraceSeconds = 20;  // On a busy machine the processes need seconds to start.
        const Struck struck = strike(limited, 1, SIGSTOP, patient);
        QVERIFY2(struck.message.find("longer than its limit") != std::string::npos,
                 struck.message.c_str());
        QVERIFY(struck.milliseconds < 5000);
        QVERIFY(allGone());
    }

    void aHungProcessIsNoticedWithoutATimeLimit_data() {
        QTest::addColumn<int>("rank");
        QTest::newRow("the first") << 0;
        QTest::newRow("another") << 1;
    }
    void aHungProcessIsNoticedWithoutATimeLimit() {
        QFETCH(int, rank);
        RunRequest request = requestOf(mlp(2));
        request.timeLimitSeconds = 0;
        request.silenceLimitSeconds = 3;
        const Struck struck = strike(request, rank, SIGSTOP, worker());
        const std::string expected =
            rank == 0 ? "the first process of the run hangs: it has given no sign of life for 3 s"
                      : "process 1 of the run hangs: it has given no sign of life for 3 s";
        QCOMPARE(QString::fromStdString(struck.message), QString::fromStdString(expected));
        QVERIFY2(struck.milliseconds >= 2000 && struck.milliseconds < 8000,
                 qPrintable(QString::number(struck.milliseconds)));
        QVERIFY(allGone());
    }

    void memoryIsToldOfAllProcesses() {
        RunRequest request = requestOf(mlp(2));
        request.repeats = 1'000'000'000;
        request.timeLimitSeconds = 0;
        const CancelToken cancel = CancelToken::create();
        std::set<int> devices;
        const auto sink = [&](const RunEvent& event) {
            if (const auto* memory = std::get_if<RunMemory>(&event); memory && memory->bytes > 0)
                devices.insert(memory->device);
            if (devices.size() == 2)
                cancel.cancel();
        };
        const auto outcome = runInWorker(request, sink, cancel, worker());
        QCOMPARE(std::get<RunFailure>(outcome).kind, RunFailure::Kind::Cancelled);
        QVERIFY(allGone());
    }

    void theFirstProcessMayHangToo() {
        RunRequest limited = requestOf(mlp(2));
        limited.timeLimitSeconds = 3;
        WorkerOptions impatient = worker();
        impatient.cancelGraceSeconds = 0.3;
        const Struck struck = strike(limited, 0, SIGSTOP, impatient);
        QVERIFY2(struck.message.find("did not end within its time limit") != std::string::npos,
                 struck.message.c_str());
        QVERIFY(struck.milliseconds < 5000);
        QVERIFY(allGone());
    }

    void aCancelEndsAllProcesses() {
        RunRequest endless = requestOf(mlp(4));
        endless.repeats = 1'000'000'000;
        const auto cancel = CancelToken::create();
        QElapsedTimer since;
        const auto sink = [&](const RunEvent& event) {
            const auto* progress = std::get_if<RunProgress>(&event);
            if (progress && progress->stage == RunStage::Run && progress->share > 0 &&
                !cancel.cancelled()) {
                since.start();
                cancel.cancel();
            }
        };
        const auto outcome = runInWorker(endless, sink, cancel, worker());
        const qint64 elapsed = since.elapsed();
        QVERIFY(std::get<RunFailure>(outcome).kind == RunFailure::Kind::Cancelled);
        qInfo("cancelled after %lld ms", elapsed);
        QVERIFY(elapsed < 1000);
        QVERIFY(allGone());
    }

    void withoutMpirunOrThePluginItIsRefused() {
        qputenv("SHARDWRIGHT_MPIRUN", "/nonexistent/mpirun");
        auto outcome = runInWorker(
            requestOf(mlp(2)), [](const RunEvent&) {}, {}, worker());
        qunsetenv("SHARDWRIGHT_MPIRUN");
        QCOMPARE(std::get<RunFailure>(outcome).message, std::string("there is no such file"));
        qputenv("SHARDWRIGHT_PLUGINS", "/nonexistent");
        outcome = runInWorker(
            requestOf(mlp(2)), [](const RunEvent&) {}, {}, worker());
        qunsetenv("SHARDWRIGHT_PLUGINS");
        const std::string message = std::get<RunFailure>(outcome).message;
        QVERIFY2(message.find("this installation has no MPI") != std::string::npos,
                 message.c_str());
    }
};

QTEST_GUILESS_MAIN(TstMpiRuns)
#include "tst_mpi_runs.moc"
