// SPDX-License-Identifier: Apache-2.0
// What a run tells while it runs and of its single steps.
#include "comm/hardware_profile.h"
#include "run/ort_api.h"
#include "run/run_job.h"
#include "sharding/edit.h"
#include "sharding/shard_text.h"
#include "support/communicator_fault.h"
#include "support/model_builder.h"
#include "support/run_recorder.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>

#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <thread>

using namespace shardwright;
using namespace shardwright::test;

namespace {

/// mm1 and act, an all-reduce after mm2, and one more node behind it.
RunRequest megatron(const std::vector<std::string>& further = {}) {
    ModelBuilder builder;
    builder.input("x", {4, 16}).weight("w1", {16, 32}).weight("w2", {32, 16});
    builder.op("MatMul", {"x", "w1"}, {"h"}, "mm1")
        .op("Relu", {"h"}, {"a"}, "act")
        .op("MatMul", {"a", "w2"}, {"m"}, "mm2")
        .op("Tanh", {"m"}, {"y"}, "last");
    Document document = builder.output("y", {4, 16}).document();
    LayoutPool pool;
    AnnotateRequest annotation;
    annotation.mesh = "tp=2";
    annotation.shards = {"w1:1=tp", "w2:0=tp"};
    annotation.shards.insert(annotation.shards.end(), further.begin(), further.end());
    apply(
        document.annotations,
        annotate(document, *ShapeTable::build(document.model, {}), annotation, pool).value().edit);
    RunRequest request;
    request.modelBytes = document.toBytes().value();
    return request;
}

std::string wire() {
    HardwareProfile profile;
    profile.name = "wire";
    profile.links.push_back({"wire", {}, 0, 3e-6, 1e9, {}});
    return profile.text();
}

/// Does nothing of the collective before something is true, for up to ten seconds.
class Waiting : public CommunicatorFault {
public:
    Waiting(std::unique_ptr<Communicator> inner, const std::atomic<bool>& told,
            std::atomic<int>& late)
        : CommunicatorFault(std::move(inner), Fault::Drop, -1), m_told(told), m_late(late) {}
    Result<void> run(const CollectiveCall& call) override {
        for (int i = 0; i < 10'000 && !m_told; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        m_late += m_told ? 0 : 1;
        return CommunicatorFault::run(call);
    }

private:
    const std::atomic<bool>& m_told;
    std::atomic<int>& m_late;
};

}  // namespace

class TstObservation : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        if (!OrtRuntime::find())
            QSKIP("needs ONNX Runtime");
    }

    /// The devices are kept in the collective until the segment before it has been told.
    void eventsComeWhileItRuns() {
        std::atomic<bool> told{false};
        std::atomic<int> late{0};
        RunHooks hooks;
        hooks.decorate = [&](std::unique_ptr<Communicator> inner) {
            return std::make_unique<Waiting>(std::move(inner), told, late);
        };
        RunRequest request = megatron();
        request.warmups = 0;
        const auto sink = [&](const RunEvent& event) {
            if (std::holds_alternative<RunSegmentTiming>(event))
                told = true;
        };
        reportOf(runJob(request, sink, {}, hooks));
        QVERIFY(told);
        QCOMPARE(late.load(), 0);
    }

    void eachStepOfTheLastPassIsToldOnce() {
        RunRequest request = megatron();
        request.repeats = 5;
        Recorder recorder;
        reportOf(runJob(request, recorder.sink()));
        std::set<std::pair<int, int>> segments;
        for (const RunSegmentTiming& segment : recorder.all<RunSegmentTiming>())
            QVERIFY(segments.emplace(segment.device, segment.phase).second);
        QCOMPARE(segments.size(), std::size_t(4));
        QCOMPARE(recorder.all<RunExchangeTiming>().size(), std::size_t(2));
    }

    /// Nobody leaves an all-reduce before all have come.
    void devicesMeasureWithOneClock() {
        RunRequest request = megatron();
        request.repeats = 3;
        Recorder recorder;
        reportOf(runJob(request, recorder.sink()));
        double lastBegin = 0, firstEnd = 1e12;
        for (const RunExchangeTiming& exchange : recorder.all<RunExchangeTiming>()) {
            lastBegin = std::max(lastBegin, exchange.beginUs);
            firstEnd = std::min(firstEnd, exchange.beginUs + exchange.durationUs);
        }
        QVERIFY2(lastBegin > 0 && lastBegin <= firstEnd,
                 qPrintable(QString("%1 %2").arg(lastBegin).arg(firstEnd)));
    }

    void collectivesArePredictedBesideMeasured() {
        RunRequest request = megatron();
        request.hardware = wire();
        Recorder recorder;
        const RunReport report = reportOf(runJob(request, recorder.sink()));
        QCOMPARE(report.hardware, std::string("wire"));
        QCOMPARE(report.collectives.size(), std::size_t(1));
        const RunCollective& collective = report.collectives[0];
        QCOMPARE(collective.kind, std::string("all-reduce"));
        QCOMPARE(collective.tensor, std::string("m"));
        QCOMPARE(collective.node.name, std::string("mm2"));
        QCOMPARE(collective.bytes, std::int64_t(4 * 16 * 4));
        // Two devices: 2 a + S/B.
        QCOMPARE(collective.predictedUs, 2 * 3 + 256.0 / 1000);
        QVERIFY(collective.cost.find("2 x 3 us") != std::string::npos);
        QVERIFY(collective.measuredUs > 0);
        QVERIFY(std::abs(collective.bytesPerSecond - 256 / (collective.measuredUs * 1e-6)) <
                1e-6 * collective.bytesPerSecond);
    }

    void withoutAProfileNothingIsPredicted() {
        const RunReport report = reportOf(runJob(megatron(), [](const RunEvent&) {}));
        QCOMPARE(report.collectives.size(), std::size_t(1));
        QVERIFY(report.collectives[0].predictedUs < 0);
        QVERIFY(report.operators.empty());
    }

    void aProfileThatIsWrongIsRefused() {
        RunRequest request = megatron();
        request.hardware = "{";
        request.hardwareName = "p.json";
        const auto outcome = runJob(request, [](const RunEvent&) {});
        const auto* failure = std::get_if<RunFailure>(&outcome);
        QVERIFY(failure && failure->kind == RunFailure::Kind::Usage);
        QCOMPARE(failure->place, std::string("p.json:1"));
    }

    void operatorsHaveTimes() {
        RunRequest request = megatron();
        request.profile = true;
        request.warmups = 2;
        request.repeats = 3;
        Recorder recorder;
        const RunReport report = reportOf(runJob(request, recorder.sink()));
        QVERIFY(recorder.all<RunLog>().empty());
        std::map<int, std::set<std::string>> nodes;
        for (const RunOperator& one : report.operators) {
            QVERIFY2(one.node.index >= 0, one.kernel.c_str());
            QVERIFY(!one.op.empty());
            QCOMPARE(one.calls, 3);
            QVERIFY(one.medianUs >= 0 && one.medianUs < 1e6);
            nodes[one.device].insert(one.node.name);
        }
        for (const int device : {0, 1})
            for (const char* name : {"mm1", "mm2", "last"})
                QVERIFY2(nodes[device].contains(name), name);
        // The reference of a verified run is not profiled.
        request.verify = VerifyMode::Outputs;
        const RunReport verified = reportOf(runJob(request, recorder.sink()));
        QVERIFY(verified.verified == true);
        QCOMPARE(verified.operators.size(), report.operators.size());
    }

    void theTraceHasTracksAndArrows() {
        QTemporaryDir folder;
        RunRequest request = megatron();
        request.tracePath = folder.filePath("trace.json").toStdString();
        reportOf(runJob(request, [](const RunEvent&) {}));
        QFile file(folder.filePath("trace.json"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QJsonArray events =
            QJsonDocument::fromJson(file.readAll()).object()["traceEvents"].toArray();
        QStringList tracks;
        std::map<std::pair<int, int>, std::vector<QJsonObject>> slices;
        std::map<int, std::vector<QJsonObject>> flows;
        for (const QJsonValue& value : events) {
            const QJsonObject event = value.toObject();
            if (event["name"] == "thread_name")
                tracks << event["args"].toObject()["name"].toString();
            if (event["ph"] == "X")
                slices[{event["pid"].toInt(), event["tid"].toInt()}].push_back(event);
            if (event["ph"] == "s" || event["ph"] == "f")
                flows[event["id"].toInt()].push_back(event);
        }
        tracks.sort();
        QCOMPARE(tracks, (QStringList{"communication", "communication", "compute", "compute",
                                      "waiting", "waiting"}));
        // Each device sends to the other one.
        QCOMPARE(flows.size(), std::size_t(2));
        for (const auto& [id, ends] : flows) {
            QCOMPARE(ends.size(), std::size_t(2));
            QVERIFY(ends[0]["pid"].toInt() != ends[1]["pid"].toInt());
            QVERIFY(ends[0]["ts"].toDouble() <= ends[1]["ts"].toDouble());
            for (const QJsonObject& end : ends) {
                // Each end lies in a slice of the communication track.
                bool inside = false;
                for (const QJsonObject& slice : slices[{end["pid"].toInt(), end["tid"].toInt()}]) {
                    QCOMPARE(slice["cat"].toString(), QString("exchange"));
                    const double begin = slice["ts"].toDouble(), ts = end["ts"].toDouble();
                    inside |= ts >= begin && ts <= begin + slice["dur"].toDouble() + 1e-6;
                }
                QVERIFY(inside);
            }
        }
    }

    void anyTensorCanBeObserved_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QList<qlonglong>>("dims");
        QTest::addColumn<int>("pieces");
        QTest::newRow("a graph input") << "x" << QList<qlonglong>{4, 16} << 2;
        QTest::newRow("inside of a segment") << "a" << QList<qlonglong>{4, 16} << 2;
        QTest::newRow("a result of a collective") << "m" << QList<qlonglong>{4, 16} << 2;
        QTest::newRow("a weight, as it is cut") << "w1" << QList<qlonglong>{16, 16} << 2;
        QTest::newRow("a weight, as its reader has it")
            << "w2@mm2" << QList<qlonglong>{16, 16} << 2;
        QTest::newRow("an input after a reshard") << "m@last" << QList<qlonglong>{2, 16} << 2;
        QTest::newRow("an input as it comes") << "h@act" << QList<qlonglong>{4, 16} << 2;
    }
    void anyTensorCanBeObserved() {
        QFETCH(QString, name);
        QFETCH(QList<qlonglong>, dims);
        QFETCH(int, pieces);
        RunRequest request = megatron({"m@last:0=tp"});
        request.observe = {name.toStdString()};
        request.verify = VerifyMode::All;
        Recorder recorder;
        QVERIFY(reportOf(runJob(request, recorder.sink())).verified == true);
        std::map<int, RunShard> shards;
        for (const RunShard& shard : recorder.all<RunShard>())
            if (shard.tensor == name.toStdString())
                QVERIFY(shards.emplace(shard.device, shard).second);
        QCOMPARE(static_cast<int>(shards.size()), pieces);
        for (const auto& [device, shard] : shards) {
            QCOMPARE(QList<qlonglong>(shard.dims.begin(), shard.dims.end()), dims);
            QCOMPARE(static_cast<qlonglong>(shard.values.size()), dims[0] * dims[1]);
        }
        if (name == "m@last" || name.startsWith("w")) {
            QVERIFY(shards.at(0).box != shards.at(1).box);
            QVERIFY(shards.at(0).values != shards.at(1).values);
        }
    }

    void whatCannotBeObservedIsSaid_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("message");
        QTest::newRow("no tensor") << "nothing"
                                   << "there is no tensor `nothing` to observe";
        QTest::newRow("no reader") << "m@mm1"
                                   << "no node `mm1` reads the tensor `m`";
    }
    void whatCannotBeObservedIsSaid() {
        QFETCH(QString, name);
        QFETCH(QString, message);
        RunRequest request = megatron();
        request.observe = {name.toStdString()};
        const auto outcome = runJob(request, [](const RunEvent&) {});
        const auto* failure = std::get_if<RunFailure>(&outcome);
        QVERIFY(failure && failure->kind == RunFailure::Kind::Usage);
        QCOMPARE(QString::fromStdString(failure->message), message);
    }

    void memoryIsToldWhileItRuns() {
        RunRequest request = megatron();
        request.repeats = 1'000'000'000;
        const auto cancel = CancelToken::create();
        std::map<int, RunMemory> memory;
        const auto sink = [&](const RunEvent& event) {
            if (const auto* m = std::get_if<RunMemory>(&event))
                memory[m->device] = *m;
            if (memory.size() == 2)
                cancel.cancel();
        };
        const auto outcome = runJob(request, sink, cancel);
        QVERIFY(std::get<RunFailure>(outcome).kind == RunFailure::Kind::Cancelled);
        for (const auto& [device, m] : memory)
            // The halves of both weights at least.
            QVERIFY2(m.bytes >= 2 * 16 * 16 * 4 && m.peakBytes >= m.bytes,
                     qPrintable(QString::number(m.bytes)));
    }
};

QTEST_GUILESS_MAIN(TstObservation)
#include "tst_observation.moc"
