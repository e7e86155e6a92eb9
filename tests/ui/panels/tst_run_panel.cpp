// SPDX-License-Identifier: Apache-2.0
#include "sharding/shard_text.h"
#include "ui/panels/run_panel.h"

#include "support/ui/editor_fixture.h"
#include "ui/panels/shard_view.h"
#include "ui/panels/timing_chart.h"
#include "ui/window/run_client.h"
#include "ui/window/theme.h"

#include <QFile>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QTreeWidget>

using namespace shardwright;
using namespace shardwright::test;

namespace {

struct Fixture {
    Sandbox box;
    EditorSession session;
    RunPanel panel{&session};
    QSignalSpy finished{&panel, &RunPanel::finished};

    Fixture() {
        applyTheme(ThemeChoice::Light);
        QObject::connect(&session, &EditorSession::analysisChanged, &panel, &RunPanel::setAnalysis);
        panel.resize(900, 260);
        panel.show();
        if (!openAndAnalyse(session, box.write("m.onnx", mlp().bytes())))
            qFatal("not opened");
        addMesh(session);
    }
    ~Fixture() { qunsetenv("SHARDWRIGHT_WORKER"); }

    /// A worker that does what the script says; `$DIR` is the test's folder.
    void worker(const QString& script) {
        const QString path = box.write(
            "worker.sh", ("#!/bin/sh\nDIR=" + box.path("") + "\n" + script + "\n").toStdString());
        QFile::setPermissions(path, QFile::permissions(path) | QFile::ExeOwner);
        qputenv("SHARDWRIGHT_WORKER", path.toLocal8Bit());
    }
    void events(const std::vector<RunEvent>& list) {
        std::string bytes;
        for (const RunEvent& event : list)
            bytes += encodeEvent(event);
        box.write("events", bytes);
    }
};

RunReport report() {
    RunReport report;
    report.verified = true;
    report.outputs = {{"y", 1e-7, 2e-7, 1e-5, true, ""}};
    report.devices = {{1, 1, 6, 1, 1, 1000}, {0, 1, 4, 1, 0, 1000}};
    report.predicted = {{"all-reduce", {1, 32768}}};
    report.executed = {{"all-reduce", {1, 32768}}};
    report.wallMs = 8;
    return report;
}

RunShard shard(int device) {
    RunShard result;
    result.tensor = "y";
    result.output = true;
    result.device = device;
    result.shape = result.dims = {8, 16, 64};
    result.min = -2;
    result.max = 2;
    result.values = {-2, 0, 2, 1};
    return result;
}

}  // namespace

class TstRunPanel : public QObject {
    Q_OBJECT
private slots:
    void aRunShowsWhatTheWorkerTells() {
        Fixture f;
        f.events({RunProgress{RunStage::Run, 0.5}, shard(0), shard(1), report()});
        f.worker("timeout 1 cat > $DIR/request; cat $DIR/events");
        f.panel.selectValue(valueNamed(f.session.document().graph(), "y"));
        f.panel.start();
        QVERIFY(f.panel.isRunning());
        QTRY_COMPARE(f.finished.count(), 1);
        QVERIFY2(f.panel.statusText().contains("agree"), qPrintable(f.panel.statusText()));
        // By number, however they are told and whichever is slow.
        QCOMPARE(f.panel.chart()->timings().size(), std::size_t(2));
        QCOMPARE(f.panel.chart()->timings()[0].device, 0);
        QCOMPARE(f.panel.chart()->timings()[1].device, 1);
        QCOMPARE(f.panel.shards()->cells().size(), std::size_t(2));
        QVERIFY(!f.panel.shards()->cells()[0].values.isNull());
        QVERIFY(f.panel.shards()->cells()[0].statistics.contains("-2"));
    }
    void theWorkerGetsThePresentDocument() {
        Fixture f;
        f.events({report()});
        f.worker("timeout 1 cat > $DIR/request; cat $DIR/events");
        f.panel.start();
        QTRY_COMPARE(f.finished.count(), 1);
        const QByteArray sent = Sandbox::read(f.box.path("request"));
        std::string_view bytes(sent.constData(), static_cast<std::size_t>(sent.size()));
        const auto message = takeMessage(bytes);
        QVERIFY(message && message->has_value());
        const auto request = decodeRequest(**message);
        QVERIFY(request);
        QCOMPARE(request->modelBytes, *f.session.document().toBytes());
        QCOMPARE(request->configuration, std::string("c"));
        QVERIFY(f.session.isModified());
    }
    void aDifferenceIsShownAndNamed() {
        Fixture f;
        RunReport bad = report();
        bad.verified = false;
        bad.outputs[0].agrees = false;
        bad.executed["all-reduce"].count = 2;
        bad.firstDivergent = RunDivergence{bad.outputs[0], {"mm2", 2, ""}, "MatMul", "[·, ·, tp]"};
        f.events({bad});
        f.worker("cat $DIR/events");
        f.panel.start();
        QTRY_COMPARE(f.finished.count(), 1);
        QVERIFY(f.panel.statusText().contains("DIFFER"));
        bool marked = false;
        for (auto* tree : f.panel.findChildren<QTreeWidget*>())
            for (int i = 0; i < tree->topLevelItemCount(); ++i)
                marked = marked ||
                         tree->topLevelItem(i)->text(tree->columnCount() - 1).contains("differs");
        QVERIFY(marked);
    }
    void failuresAreShownInTheWorkersWords() {
        Fixture f;
        f.events({RunFailure{RunFailure::Kind::ModelError, "a and w2 disagree", "mm2"}});
        f.worker("cat $DIR/events; exit 1");
        f.panel.start();
        QTRY_COMPARE(f.finished.count(), 1);
        QCOMPARE(f.panel.statusText(), QString("mm2: a and w2 disagree"));
    }
    void aCrashedWorkerLeavesTheDocumentAlone() {
        Fixture f;
        const auto before = *f.session.document().toBytes();
        f.worker("kill -9 $$");
        f.panel.start();
        QTRY_COMPARE(f.finished.count(), 1);
        QVERIFY2(f.panel.statusText().contains("crashed"), qPrintable(f.panel.statusText()));
        QCOMPARE(*f.session.document().toBytes(), before);
        QVERIFY(!f.panel.isRunning());
    }
    void garbageIsNoEvent() {
        Fixture f;
        f.worker("head -c 100000 /dev/zero | tr '\\000' '\\377'");
        f.panel.start();
        QTRY_COMPARE(f.finished.count(), 1);
        QVERIFY(!f.panel.statusText().isEmpty());
    }
    void aMissingWorkerIsSaid() {
        Fixture f;
        qputenv("SHARDWRIGHT_WORKER", "/no/such/worker");
        f.panel.start();
        QTRY_COMPARE(f.finished.count(), 1);
        QVERIFY(f.panel.statusText().contains("could not be started"));
    }
    void cancelEndsTheWorker() {
        Fixture f;
        f.worker("trap '' TERM; sleep 60 & wait");
        f.panel.start();
        QTRY_VERIFY(f.panel.client()->isRunning());
        auto* button = f.panel.findChild<QPushButton*>("run");
        QCOMPARE(button->text(), QString("Cancel"));
        QTest::mouseClick(button, Qt::LeftButton);
        QTRY_COMPARE_WITH_TIMEOUT(f.finished.count(), 1, 10000);
        QCOMPARE(f.panel.statusText(), QString("Cancelled"));
        QCOMPARE(button->text(), QString("Run"));
    }
    void aTensorThatTheRunDidNotKeepIsOfferedAgain() {
        Fixture f;
        f.events({shard(0), shard(1), report()});
        f.worker("timeout 1 cat > $DIR/request; cat $DIR/events");
        const GraphIndex& graph = f.session.document().graph();
        auto* again = f.panel.findChild<QPushButton*>("runAgain");
        f.panel.showTab("shards");
        f.panel.selectValue(valueNamed(graph, "h"));
        QVERIFY(!again->isVisible());  // Nothing was run.
        f.panel.selectValue(valueNamed(graph, "y"));
        f.panel.start();
        QTRY_COMPARE(f.finished.count(), 1);
        QVERIFY(!again->isVisible());
        f.panel.selectValue(valueNamed(graph, "h"));
        QVERIFY(again->isVisible());
        RunShard kept = shard(0);
        kept.tensor = "h";
        f.events({kept, report()});
        QTest::mouseClick(again, Qt::LeftButton);
        QTRY_COMPARE(f.finished.count(), 2);
        const QByteArray sent = Sandbox::read(f.box.path("request"));
        std::string_view bytes(sent.constData(), static_cast<std::size_t>(sent.size()));
        const auto request = decodeRequest(**takeMessage(bytes));
        QVERIFY(request);
        QCOMPARE(request->observe, std::vector<std::string>{"h"});
        QVERIFY(!again->isVisible());
        QVERIFY(f.panel.shards()->hasValues());
    }
    void aResultSaysThatItIsNotOfTheModelAsItIsNow() {
        Fixture f;
        f.events({report()});
        f.worker("timeout 1 cat > $DIR/request; cat $DIR/events");
        f.panel.start();
        QTRY_COMPARE(f.finished.count(), 1);
        QVERIFY(!f.panel.statusText().contains("changed"));
        f.session.push(editConfiguration(f.session.document(), "c", {{{"tp", 4}}}));
        QVERIFY(waitForAnalysis(f.session));
        QVERIFY2(f.panel.statusText().contains("changed"), qPrintable(f.panel.statusText()));
        f.session.undoStack()->undo();
        QVERIFY(waitForAnalysis(f.session));
        QVERIFY(!f.panel.statusText().contains("changed"));
    }
    void aWeightIsShownAsItLiesAtTheNode() {
        Fixture f;
        AnnotateRequest request;
        request.shards = {"w1:1=tp"};
        LayoutPool pool;
        auto outcome = annotate(f.session.document(), *f.session.analysis()->shapes, request, pool);
        QVERIFY(outcome);
        f.session.push(std::move(outcome->edit));
        QVERIFY(waitForAnalysis(f.session));
        const GraphIndex& graph = f.session.document().graph();
        const ValueId weight = valueNamed(graph, "w1");
        const TensorSlot slot{nodeNamed(graph, "mm1"), false, 1};
        f.panel.selectValue(weight, slot);
        QCOMPARE(f.panel.shards()->cells()[0].elements, QString("[0:64, 0:128]"));
        QCOMPARE(f.panel.shards()->cells()[1].elements, QString("[0:64, 128:256]"));
    }
    void onlyValuesOfTheLayoutThatIsShownAreShown() {
        Fixture f;
        AnnotateRequest request;
        request.shards = {"w1:1=tp"};
        LayoutPool pool;
        auto outcome = annotate(f.session.document(), *f.session.analysis()->shapes, request, pool);
        QVERIFY(outcome);
        f.session.push(std::move(outcome->edit));
        QVERIFY(waitForAnalysis(f.session));
        const GraphIndex& graph = f.session.document().graph();
        RunShard whole = shard(0), part = shard(1);
        whole.tensor = part.tensor = "w1";
        whole.box = {{{0, 64}}, {{0, 256}}};
        part.box = {{{0, 64}}, {{128, 256}}};
        f.panel.selectValue(valueNamed(graph, "w1"), {nodeNamed(graph, "mm1"), false, 1});
        f.panel.shards()->setShards({{"w1", {whole, part}}});
        QVERIFY(f.panel.shards()->cells()[0].statistics.isEmpty());
        QVERIFY(!f.panel.shards()->cells()[1].statistics.isEmpty());
    }
    void cancellingIsNoProblem() {
        Fixture f;
        f.worker("sleep 60 & wait");
        QSignalSpy running(&f.panel, &RunPanel::runningChanged);
        f.panel.start();
        QTRY_VERIFY(f.panel.client()->isRunning());
        f.panel.cancel();
        QTRY_COMPARE_WITH_TIMEOUT(f.finished.count(), 1, 10000);
        QCOMPARE(running.back().front().toBool(), false);
        QVERIFY(!f.panel.isRunning());
    }
    void theShardsOfATensorAreShownWithoutARun() {
        Fixture f;
        AnnotateRequest request;
        request.shards = {"w1:1=tp"};
        LayoutPool pool;
        auto outcome = annotate(f.session.document(), *f.session.analysis()->shapes, request, pool);
        QVERIFY(outcome);
        f.session.push(std::move(outcome->edit));
        QVERIFY(waitForAnalysis(f.session));
        f.panel.selectValue(valueNamed(f.session.document().graph(), "h"));
        const auto& cells = f.panel.shards()->cells();
        QCOMPARE(cells.size(), std::size_t(2));
        QCOMPARE(cells[0].elements, QString("[0:8, 0:16, 0:128]"));
        QCOMPARE(cells[1].elements, QString("[0:8, 0:16, 128:256]"));
        QVERIFY(cells[0].part != cells[1].part);
    }
};

QTEST_MAIN(TstRunPanel)
#include "tst_run_panel.moc"
