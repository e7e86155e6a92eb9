// SPDX-License-Identifier: Apache-2.0
#include "run/ort_api.h"
#include "run/worker_client.h"
#include "sharding/edit.h"
#include "sharding/shard_text.h"
#include "support/model_builder.h"
#include "support/sanitizer.h"

#include <QElapsedTimer>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <fstream>
#include <thread>

#include <signal.h>

using namespace shardwright;
using namespace shardwright::test;

namespace {

WorkerOptions worker() {
    WorkerOptions options;
    options.program =
        std::filesystem::path(qgetenv("SHARDWRIGHT_BIN").toStdString()) / "shardwright-worker";
    return options;
}

RunRequest request() {
    ModelBuilder builder;
    builder.input("x", {4, 16}).weight("w1", {16, 32}).weight("w2", {32, 16});
    builder.op("MatMul", {"x", "w1"}, {"h"}, "mm1")
        .op("Relu", {"h"}, {"a"}, "act")
        .op("MatMul", {"a", "w2"}, {"y"}, "mm2");
    Document document = builder.output("y", {4, 16}).document();
    LayoutPool pool;
    AnnotateRequest annotation;
    annotation.mesh = "tp=2";
    annotation.shards = {"w1:1=tp", "w2:0=tp"};
    apply(
        document.annotations,
        annotate(document, *ShapeTable::build(document.model, {}), annotation, pool).value().edit);
    RunRequest request;
    request.modelBytes = document.toBytes().value();
    request.verify = VerifyMode::Outputs;
    return request;
}

/// A program that stands in for the worker.
std::filesystem::path script(const QTemporaryDir& folder, const std::string& body) {
    const std::filesystem::path path = folder.filePath("worker").toStdString();
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
}

void ignore(const RunEvent&) {}

}  // namespace

class TstWorker : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        if (!std::filesystem::exists(worker().program) || !OrtRuntime::find())
            QSKIP("needs shardwright-worker and ONNX Runtime");
    }

    void aRunInAnotherProcessVerifies() {
        int events = 0;
        const auto outcome = runInWorker(
            request(), [&](const RunEvent&) { ++events; }, {}, worker());
        const auto* report = std::get_if<RunReport>(&outcome);
        QVERIFY2(report, report ? "" : std::get<RunFailure>(outcome).message.c_str());
        QVERIFY(report->verified == true);
        QVERIFY(report->predicted == report->executed);
        QVERIFY(events > 8);
    }

    void aCancelEndsIt() {
        RunRequest endless = request();
        endless.repeats = 1'000'000'000;
        const auto cancel = CancelToken::create();
        QElapsedTimer sinceCancel;
        const auto sink = [&](const RunEvent& event) {
            const auto* progress = std::get_if<RunProgress>(&event);
            if (progress && progress->stage == RunStage::Run && !cancel.cancelled()) {
                sinceCancel.start();
                cancel.cancel();
            }
        };
        const auto outcome = runInWorker(endless, sink, cancel, worker());
        QVERIFY(std::get<RunFailure>(outcome).kind == RunFailure::Kind::Cancelled);
        QVERIFY(sinceCancel.elapsed() < 4000);
    }

    void theTimeLimitIsReported() {
        RunRequest endless = request();
        endless.repeats = 1'000'000'000;
        endless.timeLimitSeconds = 0.5;
        const auto outcome = runInWorker(endless, ignore, {}, worker());
        QVERIFY(std::get<RunFailure>(outcome).message.find("longer than its limit") !=
                std::string::npos);
    }

    void whatElseAWorkerMayDoIsReported_data() {
        QTest::addColumn<QString>("body");
        QTest::addColumn<QString>("message");
        QTest::newRow("crash") << "kill -SEGV $$"
                               << "the worker crashed: Segmentation fault (signal 11)";
        QTest::newRow("killed") << "kill -KILL $$"
                                << "the worker was killed, probably for lack of memory";
        QTest::newRow("nothing") << "exit 0"
                                 << "the worker ended without a result";
        QTest::newRow("words") << "echo Hello, I am another program altogether"
                               << "the worker wrote something that is no event";
        QTest::newRow("code") << "exit 127"
                              << "the worker ended with code 127";
    }
    void whatElseAWorkerMayDoIsReported() {
        QFETCH(QString, body);
        QFETCH(QString, message);
        QTemporaryDir folder;
        const auto outcome =
            runInWorker(request(), ignore, {}, {script(folder, body.toStdString()), 1});
        QCOMPARE(QString::fromStdString(std::get<RunFailure>(outcome).message), message);
    }

    void aDeafWorkerIsKilledAtTheTimeLimit() {
        QTemporaryDir folder;
        RunRequest limited = request();
        limited.timeLimitSeconds = 0.2;
        QElapsedTimer timer;
        timer.start();
        const auto outcome =
            runInWorker(limited, ignore, {}, {script(folder, "exec sleep 60"), 0.3});
        QVERIFY(std::get<RunFailure>(outcome).message.find("did not end within its time limit") !=
                std::string::npos);
        QVERIFY(timer.elapsed() < 10'000);
    }

    void aMissingProgramIsReported() {
        const auto outcome = runInWorker(request(), ignore, {}, {"/nonexistent/worker", 1});
        QVERIFY(std::get<RunFailure>(outcome).message.find("cannot be started") !=
                std::string::npos);
    }

    void standardOutputHasEventsOnly() {
        QProcess process;
        process.start(QString::fromStdString(worker().program.string()), QStringList());
        const std::string bytes = encodeRequest(request());
        process.write(bytes.data(), static_cast<qint64>(bytes.size()));
        QVERIFY(process.waitForFinished(30'000));
        QCOMPARE(process.exitCode(), 0);
        EventParser parser;
        const auto events = parser.feed(process.readAllStandardOutput().toStdString());
        QVERIFY(events && !parser.partial());
        QVERIFY(std::holds_alternative<RunReport>(events->back()));
        QCOMPARE(process.readAllStandardError(), QByteArray());
    }

    void sigtermCancels() {
        RunRequest endless = request();
        endless.repeats = 1'000'000'000;
        QProcess process;
        process.start(QString::fromStdString(worker().program.string()), QStringList());
        const std::string bytes = encodeRequest(endless);
        process.write(bytes.data(), static_cast<qint64>(bytes.size()));
        EventParser parser;
        bool running = false;
        while (!running && process.waitForReadyRead(30'000)) {
            const auto events = parser.feed(process.readAllStandardOutput().toStdString());
            QVERIFY(events);
            for (const RunEvent& event : *events)
                if (const auto* progress = std::get_if<RunProgress>(&event))
                    running |= progress->stage == RunStage::Run;
        }
        QVERIFY(running);
        process.terminate();
        QVERIFY(process.waitForFinished(30'000));
        QCOMPARE(process.exitCode(), 2);
        const auto events = parser.feed(process.readAllStandardOutput().toStdString());
        QVERIFY(events);
        QVERIFY(std::get<RunFailure>(events->back()).kind == RunFailure::Kind::Cancelled);
    }

    /// Kernels cannot be interrupted: one product here takes seconds.
    void aKernelThatRunsOnIsNotWaitedFor() {
        constexpr int kSize = 5000;
        ModelBuilder builder;
        builder.input("x", {kSize, kSize}).input("w", {kSize, kSize});
        builder.op("MatMul", {"x", "w"}, {"y"}, "mm").output("y", {kSize, kSize});
        RunRequest slow;
        slow.modelBytes = builder.bytes();
        slow.repeats = 1'000'000;
        const auto cancel = CancelToken::create();
        QElapsedTimer sinceCancel;
        std::thread later;
        const auto sink = [&](const RunEvent& event) {
            const auto* progress = std::get_if<RunProgress>(&event);
            if (progress && progress->stage == RunStage::Run && !later.joinable())
                later = std::thread([&] {
                    QTest::qSleep(300);  // Into the product.
                    sinceCancel.start();
                    cancel.cancel();
                });
        };
        WorkerOptions patient = worker();
        patient.cancelGraceSeconds = 60;  // It must end by itself.
        const auto outcome = runInWorker(slow, sink, cancel, patient);
        const qint64 elapsed = sinceCancel.elapsed();
        later.join();
        QVERIFY(std::get<RunFailure>(outcome).kind == RunFailure::Kind::Cancelled);
        QCOMPARE(std::get<RunFailure>(outcome).message, std::string("cancelled"));
        QVERIFY2(elapsed < 1000 * kSlowness, qPrintable(QString::number(elapsed)));
    }

    void aBrokenRequestIsRefused() {
        QProcess process;
        process.start(QString::fromStdString(worker().program.string()), QStringList());
        process.write("\x05hello and goodbye");
        process.closeWriteChannel();
        QVERIFY(process.waitForFinished(30'000));
        QCOMPARE(process.exitCode(), 2);
        EventParser parser;
        const auto events = parser.feed(process.readAllStandardOutput().toStdString());
        QVERIFY(events && events->size() == 1);
        QVERIFY(std::get<RunFailure>(events->front()).kind == RunFailure::Kind::Usage);
    }
};

QTEST_GUILESS_MAIN(TstWorker)
#include "tst_worker.moc"
