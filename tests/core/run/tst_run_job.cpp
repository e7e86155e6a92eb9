// SPDX-License-Identifier: Apache-2.0
#include "run/ort_api.h"
#include "run/run_job.h"
#include "sharding/edit.h"
#include "sharding/shard_text.h"
#include "support/communicator_fault.h"
#include "support/model_builder.h"
#include "support/run_recorder.h"
#include "support/shared_files.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>

using namespace shardwright;
using namespace shardwright::test;

namespace {

/// The model with annotations, as bytes.
std::string annotated(Document document, const std::string& mesh,
                      const std::vector<std::string>& shards) {
    LayoutPool pool;
    AnnotateRequest request;
    request.mesh = mesh;
    request.shards = shards;
    auto outcome = annotate(document, *ShapeTable::build(document.model, {}), request, pool);
    if (!outcome)
        qFatal("%s", outcome.error().text().c_str());
    apply(document.annotations, outcome->edit);
    return document.toBytes().value();
}

ModelBuilder mlp() {
    ModelBuilder builder;
    builder.input("x", {4, 16}).weight("w1", {16, 32}).weight("w2", {32, 16});
    builder.op("MatMul", {"x", "w1"}, {"h"}, "mm1")
        .op("Relu", {"h"}, {"a"}, "act")
        .op("MatMul", {"a", "w2"}, {"y"}, "mm2");
    return builder.output("y", {4, 16});
}

QString failureOf(const RunOutcome& outcome) {
    const auto* failure = std::get_if<RunFailure>(&outcome);
    return failure ? QString::fromStdString(failure->message) : QString();
}

}  // namespace

class TstRunJob : public QObject {
    Q_OBJECT

    RunRequest megatron() {
        RunRequest request;
        request.modelBytes = annotated(mlp().document(), "tp=2", {"w1:1=tp", "w2:0=tp"});
        request.verify = VerifyMode::Outputs;
        return request;
    }

private slots:
    void initTestCase() {
        if (!OrtRuntime::find())
            QSKIP("needs ONNX Runtime, which is not there");
    }

    void anEmptyShardContributesTheIdentity_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<bool>("scattered");
        for (const char* op : {"ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceMean"})
            for (const bool scattered : {false, true})
                QTest::addRow("%s, %s", op, scattered ? "scattered" : "whole") << op << scattered;
    }
    /// 5 over 4 devices in blocks of 2: the last has nothing to add.
    void anEmptyShardContributesTheIdentity() {
        QFETCH(QString, op);
        QFETCH(bool, scattered);
        ModelBuilder builder;
        builder.input("x", {5, 8}).ints("axes", {0});
        builder.op(op.toStdString(), {"x", "axes"}, {"y"}, "r");
        std::vector<std::string> shards{"x:0=tp"};
        if (scattered)
            shards.push_back("y:1=tp");
        RunRequest request;
        request.modelBytes = annotated(builder.output("y", {1, 8}).document(), "tp=4", shards);
        request.verify = VerifyMode::Outputs;
        Recorder recorder;
        const RunReport report = reportOf(runJob(request, recorder.sink()));
        QVERIFY(report.verified == true);
        QVERIFY(report.executed == report.predicted);
        QVERIFY(report.executed == (std::map<std::string, RunKindTotal>{
                                       {scattered ? "reduce-scatter" : "all-reduce", {1, 32}}}));
    }

    void anAnnotatedModelRunsAndVerifies() {
        Recorder recorder;
        const RunOutcome outcome = runJob(megatron(), recorder.sink());
        const RunReport report = reportOf(outcome);
        QCOMPARE(exitCode(outcome), 0);
        QVERIFY(report.verified == true);
        QCOMPARE(report.outputs.size(), std::size_t(1));
        QCOMPARE(report.outputs[0].name, std::string("y"));
        QVERIFY(report.outputs[0].maxRel <= 1e-5);
        QVERIFY(report.predicted ==
                (std::map<std::string, RunKindTotal>{{"all-reduce", {1, 4 * 16 * 4}}}));
        QVERIFY(report.executed == report.predicted);
        QCOMPARE(report.devices.size(), std::size_t(2));
        QCOMPARE(report.mesh, std::string("tp=2"));
        QVERIFY(std::holds_alternative<RunReport>(recorder.events.back()));
        const auto shards = recorder.all<RunShard>();
        QCOMPARE(shards.size(), std::size_t(2));
        QVERIFY(shards[0].output && shards[0].values == shards[1].values);
        const auto exchanges = recorder.all<RunExchangeTiming>();
        QCOMPARE(exchanges.size(), std::size_t(2));
        QCOMPARE(exchanges[0].node.name, std::string("mm2"));
        QVERIFY(recorder.all<RunSegmentTiming>().size() >= 2);
    }

    void observedTensorsShowTheirShards() {
        RunRequest request = megatron();
        request.observe = {"h", "x"};
        Recorder recorder;
        QVERIFY(reportOf(runJob(request, recorder.sink())).verified == true);
        std::map<std::string, int> shards;
        for (const RunShard& shard : recorder.all<RunShard>()) {
            ++shards[shard.tensor];
            if (shard.tensor == "h")
                QCOMPARE(shard.dims, (std::vector<std::int64_t>{4, 16}));
        }
        QCOMPARE(shards, (std::map<std::string, int>{{"h", 2}, {"x", 2}, {"y", 2}}));
        request.observe = {"nonsense"};
        QVERIFY(failureOf(runJob(request, recorder.sink())).contains("`nonsense`"));
    }

    void verifyAllComparesEveryTensor() {
        RunRequest request = megatron();
        request.verify = VerifyMode::All;
        Recorder recorder;
        const RunReport report = reportOf(runJob(request, recorder.sink()));
        QVERIFY(report.verified == true);
        QCOMPARE(report.tensors.size(), std::size_t(3));
        QCOMPARE(report.tensors[0].name, std::string("h"));
        QVERIFY(!report.firstDivergent);
    }

    void faultsAreSeenAndNamed_data() {
        QTest::addColumn<int>("fault");
        QTest::addColumn<int>("nth");
        QTest::addColumn<QString>("tensor");
        for (int nth : {0, 1})
            for (const auto& [fault, name] : {std::pair{Fault::Drop, "drop"},
                                              {Fault::Double, "double"},
                                              {Fault::Shrink, "shrink"},
                                              {Fault::Exchange, "exchange"}})
                QTest::addRow("%s transfer %d", name, nth)
                    << int(fault) << nth << (nth == 0 ? "y1" : "y2");
    }
    void faultsAreSeenAndNamed() {
        QFETCH(int, fault);
        QFETCH(int, nth);
        QFETCH(QString, tensor);
        ModelBuilder builder;
        builder.input("x", {4, 16});
        std::string in = "x";
        for (const char* i : {"1", "2", "3"}) {
            const std::string n = i;
            builder.weight("a" + n, {16, 32}).weight("b" + n, {32, 16});
            builder.op("MatMul", {in, "a" + n}, {"h" + n})
                .op("MatMul", {"h" + n, "b" + n}, {"y" + n});
            in = "y" + n;
        }
        builder.output("y3", {4, 16});
        RunRequest request;
        request.modelBytes = annotated(builder.document(), "tp=2", {"a?:1=tp", "b?:0=tp"});
        request.verify = VerifyMode::Outputs;
        Recorder recorder;
        RunHooks hooks;
        hooks.decorate = [&](std::unique_ptr<Communicator> inner) {
            return std::make_unique<CommunicatorFault>(std::move(inner), static_cast<Fault>(fault),
                                                       nth);
        };
        const RunOutcome outcome = runJob(request, recorder.sink(), {}, hooks);
        const RunReport report = reportOf(outcome);
        QVERIFY(report.verified == false);
        QCOMPARE(exitCode(outcome), 1);
        QVERIFY(report.firstDivergent);
        QCOMPARE(QString::fromStdString(report.firstDivergent->check.name), tensor);
        QCOMPARE(report.firstDivergent->op, std::string("MatMul"));
        const RunTensorCheck& y3 = report.outputs.at(0);
        QVERIFY(!y3.agrees);
        QCOMPARE(QString::fromStdString(y3.becauseOf), tensor);
        QVERIFY2(y3.note.find("because `" + tensor.toStdString()) == 0, y3.note.c_str());
        const bool transfersDiffer = fault != int(Fault::Exchange);
        QCOMPARE(report.executed != report.predicted, transfersDiffer);
    }

    /// 10^6 times the difference of two products that are equal but for the order of their sums.
    std::string enlargedRounding() {
        ModelBuilder builder;
        builder.input("x", {4, 64}).weight("w", {64, 8}).real("much", 1e6f);
        builder.op("MatMul", {"x", "w"}, {"a"}, "mm1")
            .op("MatMul", {"x", "w"}, {"b"}, "mm2")
            .op("Sub", {"a", "b"}, {"d"}, "sub")
            .op("Mul", {"d", "much"}, {"y"}, "mul");
        return annotated(builder.output("y", {4, 8}).document(), "tp=2", {"w@mm1:0=tp"});
    }

    void roundingThatTheModelEnlargesIsNoFault() {
        for (const VerifyMode mode : {VerifyMode::Outputs, VerifyMode::All}) {
            RunRequest request;
            request.modelBytes = enlargedRounding();
            request.verify = mode;
            Recorder recorder;
            const RunReport report = reportOf(runJob(request, recorder.sink()));
            QVERIFY(report.verified == true);
            QVERIFY(!report.firstDivergent);
            const RunTensorCheck& y = report.outputs.at(0);
            QVERIFY(y.agrees && y.maxRel > 100 * y.tolerance);
            QVERIFY(QString::fromStdString(y.note).contains("rounding"));
            for (const RunTensorCheck& check : report.tensors)
                QVERIFY(check.agrees);
        }
    }

    void aFaultBeforeEnlargedRoundingIsNamed_data() {
        QTest::addColumn<int>("faultyRuns");
        QTest::newRow("every run") << 1000;
        QTest::newRow("the first run only") << 1;
    }
    void aFaultBeforeEnlargedRoundingIsNamed() {
        QFETCH(int, faultyRuns);
        RunRequest request;
        request.modelBytes = enlargedRounding();
        request.verify = VerifyMode::Outputs;
        RunHooks hooks;
        int devices = 0;
        hooks.decorate = [&](std::unique_ptr<Communicator> inner) -> std::unique_ptr<Communicator> {
            if (devices++ >= 2 * faultyRuns)
                return inner;
            return std::make_unique<CommunicatorFault>(std::move(inner), Fault::Drop, 0);
        };
        Recorder recorder;
        const RunReport report = reportOf(runJob(request, recorder.sink(), {}, hooks));
        QVERIFY(report.verified == false);
        QVERIFY(report.firstDivergent);
        QCOMPARE(report.firstDivergent->check.name, std::string(faultyRuns > 1 ? "a" : "y"));
        QVERIFY(!report.outputs.at(0).agrees);
        QCOMPARE(report.outputs.at(0).becauseOf, std::string(faultyRuns > 1 ? "a" : ""));
        if (faultyRuns > 1)
            QCOMPARE(report.firstDivergent->collectives,
                     std::string("all-reduce of `a` on devices 0, 1"));
    }

    /// A sum of 2^20 terms in four parts: further from one sum than a fixed 1e-6 would allow.
    void longSumsMayDifferMore() {
        ModelBuilder builder;
        builder.input("x", {2, 1 << 20}).ints("axes", {1});
        builder.op("ReduceSum", {"x", "axes"}, {"y"}, "sum");
        RunRequest request;
        request.modelBytes = annotated(builder.output("y", {2, 1}).document(), "tp=4", {"x:1=tp"});
        request.verify = VerifyMode::Outputs;
        Recorder recorder;
        const RunReport report = reportOf(runJob(request, recorder.sink()));
        QVERIFY(report.verified == true);
        qInfo("%g of %g", report.outputs[0].maxRel, report.outputs[0].tolerance);
        QVERIFY(report.outputs[0].tolerance > 4e-4);
    }

    void aModelWithErrorsIsRefusedInTheCheckersWords() {
        RunRequest request;
        request.modelBytes = annotated(mlp().document(), "tp=2", {"w1:1=tp", "w2:1=tp"});
        Recorder recorder;
        const RunOutcome outcome = runJob(request, recorder.sink());
        QCOMPARE(exitCode(outcome), 1);
        const QString text = failureOf(outcome);
        QVERIFY2(text.contains("`a`") && text.contains("`w2`"), qPrintable(text));
    }

    void theSameSeedGivesTheSameOutputs() {
        RunRequest request = megatron();
        Recorder first, second, third;
        runJob(request, first.sink());
        runJob(request, second.sink());
        request.seed = 2;
        runJob(request, third.sink());
        QVERIFY(first.all<RunShard>()[0].values == second.all<RunShard>()[0].values);
        QVERIFY(first.all<RunShard>()[0].values != third.all<RunShard>()[0].values);
    }

    /// Each device draws the numbers of y and of the mask by itself.
    static ModelBuilder drawing() {
        onnx::TensorProto yes;
        yes.set_data_type(onnx::TensorProto::BOOL);
        yes.add_int32_data(1);
        yes.set_name("training");
        const auto then = ModelBuilder()
                              .op("RandomUniformLike", {"y"}, {"t"}, "uniform")
                              .output("t")
                              .graph("then");
        const auto otherwise = ModelBuilder().op("Relu", {"y"}, {"e"}).output("e").graph("else");
        ModelBuilder builder;
        builder.input("x", {8, 16})
            .weight("w1", {16, 32})
            .weight("w2", {32, 16})
            .real("ratio", 0.5f)
            .initializer(yes);
        builder.op("MatMul", {"x", "w1"}, {"h"}, "mm1")
            .op("MatMul", {"h", "w2"}, {"a"}, "mm2")
            .op("RandomNormalLike", {"a"}, {"r"}, "noise")
            .op("Add", {"a", "r"}, {"s"}, "add")
            .op("Dropout", {"s", "ratio", "training"}, {"y", "m"}, "drop")
            .op("Sigmoid", {"s"}, {"p"}, "p")
            .op("Bernoulli", {"p"}, {"b"}, "bernoulli")
            .op("If", {"training"}, {"z"}, "if",
                {{"then_branch", then}, {"else_branch", otherwise}});
        return builder.output("y", {8, 16}).output("b", {8, 16}).output("z", {8, 16});
    }

    void devicesDrawTheSameRandomNumbers_data() {
        QTest::addColumn<int>("mode");
        QTest::addColumn<int>("warmups");
        for (const int warmups : {0, 1, 2}) {
            QTest::addRow("outputs, %d", warmups) << int(VerifyMode::Outputs) << warmups;
            QTest::addRow("all, %d", warmups) << int(VerifyMode::All) << warmups;
        }
    }
    void devicesDrawTheSameRandomNumbers() {
        QFETCH(int, mode);
        QFETCH(int, warmups);
        RunRequest request;
        request.modelBytes = annotated(drawing().document(), "tp=2", {"w1:1=tp", "w2:0=tp"});
        request.verify = static_cast<VerifyMode>(mode);
        request.warmups = warmups;
        std::vector<std::vector<double>> values;
        for (const std::uint64_t seed : {5, 5, 6}) {
            request.seed = seed;
            Recorder recorder;
            const RunReport report = reportOf(runJob(request, recorder.sink()));
            QVERIFY(report.verified == true);
            for (const RunShard& shard : recorder.all<RunShard>())
                if (shard.tensor == "b" || shard.tensor == "z")
                    values.push_back(shard.values);
        }
        QCOMPARE(values.size(), std::size_t{12});
        // Both devices, and both runs of a seed; another seed gives others.
        for (std::size_t i = 0; i < 8; ++i)
            QVERIFY(values[i] == values[i / 2 % 2 * 2]);
        QVERIFY(values[8] != values[0] && values[10] != values[2]);
    }

    void traceAndShardsAreWritten() {
        QTemporaryDir folder;
        RunRequest request = megatron();
        request.tracePath = folder.filePath("trace.json").toStdString();
        request.saveShardsFolder = folder.filePath("shards").toStdString();
        request.observe = {"h"};
        Recorder recorder;
        QVERIFY(reportOf(runJob(request, recorder.sink())).verified == true);
        QFile trace(folder.filePath("trace.json"));
        QVERIFY(trace.open(QIODevice::ReadOnly));
        const auto events =
            QJsonDocument::fromJson(trace.readAll()).object()["traceEvents"].toArray();
        int exchanges = 0;
        for (const auto& event : events)
            exchanges += event.toObject()["cat"].toString() == "exchange" ? 1 : 0;
        QCOMPARE(exchanges, 2);
        QVERIFY(QFile::exists(folder.filePath("shards/y.dev1.npy")));
        QVERIFY(QFile::exists(folder.filePath("shards/h.dev0.npy")));
        QVERIFY(QFile::exists(folder.filePath("shards/index.json")));
    }

    void whatDoesNotFitIntoMemoryIsRefusedUnlessThatIsToBeIgnored() {
        RunHooks hooks;
        hooks.availableMemory = [] { return 1000; };
        Recorder recorder;
        const RunOutcome refused = runJob(megatron(), recorder.sink(), {}, hooks);
        QVERIFY2(failureOf(refused).contains("and 1000 are available"),
                 qPrintable(failureOf(refused)));
        for (const RunProgress& progress : recorder.all<RunProgress>())
            QVERIFY(progress.stage != RunStage::Inputs && progress.stage != RunStage::Run);
        RunRequest request = megatron();
        request.ignoreMemory = true;
        const RunReport report = reportOf(runJob(request, recorder.sink(), {}, hooks));
        QVERIFY(report.verified.value_or(false));
        QCOMPARE(report.availableBytes, 1000);
        QVERIFY(report.predictedBytes > 1000);
        QVERIFY(report.peakResidentBytes > 1000);
        QVERIFY(report.startMs > 0);
    }

    void whatCannotBeReadIsSaid() {
        RunRequest request;
        request.modelPath = "/nonexistent.onnx";
        Recorder recorder;
        const RunOutcome outcome = runJob(request, recorder.sink());
        QCOMPARE(exitCode(outcome), 2);
        QVERIFY(std::get<RunFailure>(outcome).kind == RunFailure::Kind::Usage);
        request = megatron();
        request.inputsPath = "/nonexistent.npz";
        QVERIFY(failureOf(runJob(request, recorder.sink())).contains("no such file"));
    }

    void aCancelledRunSaysSo() {
        const auto cancel = CancelToken::create();
        cancel.cancel();
        Recorder recorder;
        const RunOutcome outcome = runJob(megatron(), recorder.sink(), cancel);
        QVERIFY(std::get<RunFailure>(outcome).kind == RunFailure::Kind::Cancelled);
    }
};

QTEST_GUILESS_MAIN(TstRunJob)
#include "tst_run_job.moc"
