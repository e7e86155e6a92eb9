// SPDX-License-Identifier: Apache-2.0
// A worker that dies, hangs, lacks memory or computes something else, from the client and from the
// command line: a clear report in time, and no process is left.
#include "run/ort_api.h"
#include "run/worker_client.h"
#include "sharding/edit.h"
#include "sharding/shard_text.h"
#include "support/model_builder.h"
#include "support/sanitizer.h"

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

#include <fstream>
#include <set>
#include <thread>

#include <csignal>
#include <unistd.h>

using namespace shardwright;
using namespace shardwright::test;

namespace {

/// What a cancel may take, times three for a machine that does other things, too.
constexpr int kCancelMs = 3 * 200 * kSlowness;

std::filesystem::path programs() {
    return qgetenv("SHARDWRIGHT_BIN").toStdString();
}

Document megatron(std::int64_t tokens, std::int64_t hidden) {
    ModelBuilder builder;
    builder.input("x", {tokens, hidden}).weight("w1", {hidden, 2 * hidden});
    builder.weight("w2", {2 * hidden, hidden});
    builder.op("MatMul", {"x", "w1"}, {"h"}, "mm1")
        .op("Relu", {"h"}, {"a"}, "act")
        .op("MatMul", {"a", "w2"}, {"y"}, "mm2");
    Document document = builder.output("y", {tokens, hidden}).document();
    LayoutPool pool;
    AnnotateRequest annotation;
    annotation.mesh = "tp=2";
    annotation.shards = {"w1:1=tp", "w2:0=tp"};
    apply(
        document.annotations,
        annotate(document, *ShapeTable::build(document.model, {}), annotation, pool).value().edit);
    return document;
}

RunRequest endless() {
    RunRequest request;
    request.modelBytes = megatron(4, 16).toBytes().value();
    request.repeats = 1'000'000'000;
    return request;
}

WorkerOptions worker() {
    WorkerOptions options;
    options.program = programs() / "shardwright-worker";
    return options;
}

void write(const std::filesystem::path& path, const std::string& body) {
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

/// Processes whose parent this is, without those that have ended and are not yet waited for.
std::set<pid_t> childrenOf(pid_t parent) {
    std::set<pid_t> children;
    for (const QString& name : QDir("/proc").entryList(QDir::Dirs)) {
        QFile file("/proc/" + name + "/stat");
        if (name.toInt() == 0 || !file.open(QIODevice::ReadOnly))
            continue;
        const QByteArray text = file.readAll();
        const QList<QByteArray> fields = text.mid(text.lastIndexOf(')') + 2).split(' ');
        if (fields.size() > 1 && fields[1].toInt() == parent && fields[0] != "Z")
            children.insert(name.toInt());
    }
    return children;
}

bool ends(pid_t process, int ms) {
    QElapsedTimer timer;
    timer.start();
    while (QFile::exists("/proc/" + QString::number(process))) {
        QFile file("/proc/" + QString::number(process) + "/stat");
        if (file.open(QIODevice::ReadOnly) && file.readAll().contains(") Z "))
            return true;
        if (timer.elapsed() > ms)
            return false;
        QTest::qSleep(5);
    }
    return true;
}

QString messageOf(const std::variant<RunReport, RunFailure>& outcome) {
    const auto* failure = std::get_if<RunFailure>(&outcome);
    return failure ? QString::fromStdString(failure->message) : QString("no failure");
}

/// Calls a function, once, when kernels run.
class WhenItRuns {
public:
    explicit WhenItRuns(std::function<void()> call) : m_call(std::move(call)) {}
    void operator()(const RunEvent& event) {
        const auto* progress = std::get_if<RunProgress>(&event);
        if (progress && progress->stage == RunStage::Run && progress->share > 0 && !m_called) {
            m_called = true;
            m_call();
        }
    }

private:
    std::function<void()> m_call;
    bool m_called = false;
};

}  // namespace

class TstWorkerFaults : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        if (!std::filesystem::exists(worker().program) || !OrtRuntime::find())
            QSKIP("needs shardwright-worker and ONNX Runtime");
        m_children = childrenOf(getpid());
    }
    void cleanup() { QCOMPARE(childrenOf(getpid()), m_children); }

    void aCancelTakesLessThan200Ms() {
        const auto cancel = CancelToken::create();
        QElapsedTimer since;
        WhenItRuns sink([&] {
            since.start();
            cancel.cancel();
        });
        const auto outcome = runInWorker(endless(), std::ref(sink), cancel, worker());
        const qint64 elapsed = since.elapsed();
        QCOMPARE(messageOf(outcome), QString("cancelled"));
        QVERIFY2(elapsed < kCancelMs, qPrintable(QString::number(elapsed)));
    }

    void aWorkerThatIsKilledIsReported() {
        WhenItRuns sink([&] {
            for (const pid_t child : childrenOf(getpid()))
                if (!m_children.contains(child))
                    kill(child, SIGKILL);
        });
        const auto outcome = runInWorker(endless(), std::ref(sink), {}, worker());
        QCOMPARE(messageOf(outcome), QString("the worker was killed, probably for lack of memory"));
    }

    void aWorkerThatCrashesIsReported() {
        WhenItRuns sink([&] {
            for (const pid_t child : childrenOf(getpid()))
                if (!m_children.contains(child))
                    kill(child, SIGABRT);
        });
        const auto outcome = runInWorker(endless(), std::ref(sink), {}, worker());
        QCOMPARE(messageOf(outcome), QString("the worker crashed: Aborted (signal 6)"));
    }

    /// Stopped, it answers to nothing but SIGKILL.
    void aWorkerThatHangsIsKilledAtItsTimeLimit() {
        RunRequest request = endless();
        request.timeLimitSeconds = 2;
        WhenItRuns sink([&] {
            for (const pid_t child : childrenOf(getpid()))
                if (!m_children.contains(child))
                    kill(child, SIGSTOP);
        });
        WorkerOptions options = worker();
        options.cancelGraceSeconds = 0.5;
        QElapsedTimer timer;
        timer.start();
        const auto outcome = runInWorker(request, std::ref(sink), {}, options);
        QVERIFY2(messageOf(outcome).contains("did not end within its time limit"),
                 qPrintable(messageOf(outcome)));
        QVERIFY2(timer.elapsed() < 10'000, qPrintable(QString::number(timer.elapsed())));
    }

    void aHungWorkerIsNoticedWithoutATimeLimit() {
        RunRequest request = endless();
        request.timeLimitSeconds = 0;
        request.silenceLimitSeconds = 2.5;
        WhenItRuns sink([&] {
            for (const pid_t child : childrenOf(getpid()))
                if (!m_children.contains(child))
                    kill(child, SIGSTOP);
        });
        QElapsedTimer timer;
        timer.start();
        const auto outcome = runInWorker(request, std::ref(sink), {}, worker());
        QCOMPARE(messageOf(outcome),
                 QString("the worker hangs: it has given no sign of life for 3 s"));
        QVERIFY2(timer.elapsed() < 15'000, qPrintable(QString::number(timer.elapsed())));
    }

    void aHangingWorkerIsKilledWhenItIsCancelled() {
        const auto cancel = CancelToken::create();
        QElapsedTimer since;
        WhenItRuns sink([&] {
            for (const pid_t child : childrenOf(getpid()))
                if (!m_children.contains(child))
                    kill(child, SIGSTOP);
            since.start();
            cancel.cancel();
        });
        WorkerOptions options = worker();
        options.cancelGraceSeconds = 0.1;
        const auto outcome = runInWorker(endless(), std::ref(sink), cancel, options);
        QCOMPARE(messageOf(outcome), QString("cancelled"));
        QVERIFY2(since.elapsed() < kCancelMs, qPrintable(QString::number(since.elapsed())));
    }

    /// 400 MB of address space, a model that needs more than a gigabyte.
    void aLackOfMemoryIsReported() {
        if (kSanitized)
            QSKIP("a sanitizer needs more than any limit of the address space");
        QTemporaryDir folder;
        const std::filesystem::path limited = folder.filePath("worker").toStdString();
        write(limited, "ulimit -v 400000\nexec '" + worker().program.string() + "'");
        ModelBuilder builder;
        builder.input("x", {8192, 8192}).op("Relu", {"x"}, {"a"}, "r");
        builder.op("MatMul", {"a", "x"}, {"y"}, "mm").output("y", {8192, 8192});
        RunRequest request;
        request.modelBytes = builder.bytes();
        request.timeLimitSeconds = 60;
        const auto outcome = runInWorker(request, [](const RunEvent&) {}, {}, {limited, 2});
        const QString message = messageOf(outcome);
        QVERIFY2(message.contains("memory") || message.contains("alloc"), qPrintable(message));
    }

    void aResultThatDiffersIsReported() {
        RunRequest request;
        request.modelBytes = megatron(16, 64).toBytes().value();
        request.verify = VerifyMode::Outputs;
        request.tolerance = 0;  // Sums of halves are rounded otherwise.
        const auto outcome = runInWorker(
            request, [](const RunEvent&) {}, {}, worker());
        const auto* report = std::get_if<RunReport>(&outcome);
        QVERIFY2(report, qPrintable(messageOf(outcome)));
        QVERIFY(report->verified == false);
        QVERIFY(report->firstDivergent.has_value());
        QCOMPARE(report->firstDivergent->node.name, std::string("mm2"));
    }

    void theCommandLineReportsWhatAWorkerDoes_data() {
        QTest::addColumn<QString>("body");
        QTest::addColumn<QString>("message");
        QTest::newRow("crash") << "kill -SEGV $$"
                               << "the worker crashed: Segmentation fault";
        QTest::newRow("killed") << "kill -KILL $$"
                                << "the worker was killed";
        QTest::newRow("hang") << "exec sleep 600"
                              << "the worker did not end within its time limit";
        QTest::newRow("words") << "echo nonsense that is no event at all"
                               << "the worker wrote something that is no event";
        QTest::newRow("nothing") << "exit 0"
                                 << "the worker ended without a result";
    }
    void theCommandLineReportsWhatAWorkerDoes() {
        QFETCH(QString, body);
        QFETCH(QString, message);
        // The command line starts the worker beside it.
        QTemporaryDir folder;
        const QString cli = folder.filePath("shardwright-cli");
        QVERIFY(
            QFile::copy(QString::fromStdString((programs() / "shardwright-cli").string()), cli));
        write(folder.filePath("shardwright-worker").toStdString(), body.toStdString());
        const QString model = folder.filePath("m.onnx");
        std::ofstream(model.toStdString(), std::ios::binary) << megatron(4, 16).toBytes().value();
        QProcess process;
        QElapsedTimer timer;
        timer.start();
        process.start(cli, {"run", model, "--time-limit", "0.5", "--format", "json"});
        QVERIFY(process.waitForFinished(60'000));
        QVERIFY2(timer.elapsed() < 15'000, qPrintable(QString::number(timer.elapsed())));
        QCOMPARE(process.exitCode(), 1);
        const QString error = QString::fromUtf8(process.readAllStandardError());
        QVERIFY2(error.contains(message), qPrintable(error));
        const QJsonObject failure =
            QJsonDocument::fromJson(process.readAllStandardOutput()).object()["failure"].toObject();
        QCOMPARE(failure["kind"].toString(), QString("failed"));
        QVERIFY(failure["message"].toString().contains(message));
    }

    void aWorkerEndsWithTheCommandLine() {
        QTemporaryDir folder;
        const QString model = folder.filePath("m.onnx");
        std::ofstream(model.toStdString(), std::ios::binary) << megatron(4, 16).toBytes().value();
        QProcess process;
        process.start(QString::fromStdString((programs() / "shardwright-cli").string()),
                      {"run", model, "--repeat", "100000", "--warm-up", "100000"});
        QVERIFY(process.waitForStarted());
        const auto parent = static_cast<pid_t>(process.processId());
        std::set<pid_t> workers;
        QTRY_VERIFY_WITH_TIMEOUT(!(workers = childrenOf(parent)).empty(), 20'000);
        QTest::qSleep(300);
        process.kill();
        process.waitForFinished();
        for (const pid_t each : workers)
            QVERIFY2(ends(each, 3000), "the worker is still there");
    }

private:
    std::set<pid_t> m_children;
};

QTEST_GUILESS_MAIN(TstWorkerFaults)
#include "tst_worker_faults.moc"
