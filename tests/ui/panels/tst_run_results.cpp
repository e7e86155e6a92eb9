// SPDX-License-Identifier: Apache-2.0
// The tables and the timeline of a run, and what the options ask the worker for.
#include "ui/panels/run_results.h"

#include "support/ui/run_fixture.h"
#include "ui/panels/hardware_box.h"
#include "ui/panels/run_settings.h"
#include "ui/panels/run_timeline.h"
#include "ui/window/calibration_client.h"
#include "ui/window/text.h"

#include <QAbstractItemModelTester>
#include <QCheckBox>
#include <QComboBox>
#include <QLineEdit>
#include <QSpinBox>

using namespace shardwright;
using namespace shardwright::test;
using Fixture = RunFixture;

namespace {

RunOperator operatorOf(int device, const RunPlace& node, const std::string& op, int calls,
                       double total) {
    return {device, 0, node, op, node.name, calls, total / calls, total};
}

RunReport observedReport() {
    RunReport full = report();
    full.operators = {operatorOf(0, {"mm1", 0, ""}, "MatMul", 2, 50),
                      operatorOf(0, {"act", 1, ""}, "Gelu", 2, 950),
                      operatorOf(0, {"mm2", 2, ""}, "MatMul", 2, 1000),
                      operatorOf(1, {"mm1", 0, ""}, "MatMul", 2, 70),
                      operatorOf(1, {}, "ReorderInput", 2, 30)};
    full.collectives = {
        {"all-reduce", "y", {"mm2", 2, ""}, {0, 1}, 32768, 1, 12.5, 2.5, 2.6e9, 6.5, "2 a + ..."},
        {"all-gather", "h", {"act", 1, ""}, {0, 1}, 1024, 0, 40, 2.5, 1e9, 8, "a + ..."}};
    full.hardware = "wire";
    return full;
}

}  // namespace

class TstRunResults : public QObject {
    Q_OBJECT
private slots:
    void operatorsAreSortedByTimeAndAClickLeadsToTheNode() {
        Fixture f;
        f.events({observedReport()});
        f.answer();
        f.panel.start();
        QVERIFY(f.finish());
        f.panel.showTab("operators");
        RowsView* rows = f.panel.results()->operators();
        QCOMPARE(rows->rowCount(), 5);
        QCOMPARE(rows->text(0, OperatorNode), QString("mm2"));
        QCOMPARE(rows->text(0, OperatorShare), QString("50 %"));
        QCOMPARE(rows->text(0, OperatorCalls), QString("2"));
        QCOMPARE(rows->text(0, OperatorTotal), QString("1.00 ms"));
        QCOMPARE(rows->text(1, OperatorNode), QString("act"));
        Fixture::click(rows, 1);
        QCOMPARE(f.lastNode(), nodeNamed(f.session.document().graph(), "act"));
        // By number, not as text: 950 before 1000.
        rows->sortBy(OperatorTotal, Qt::AscendingOrder);
        QCOMPARE(rows->text(3, OperatorNode), QString("act"));
        QCOMPARE(rows->text(4, OperatorNode), QString("mm2"));
    }
    void operatorsAreSummedAndFiltered() {
        Fixture f;
        f.events({observedReport()});
        f.answer();
        f.panel.start();
        QVERIFY(f.finish());
        f.panel.showTab("operators");
        RowsView* rows = f.panel.results()->operators();
        auto* tab = rows->parentWidget();
        auto* grouping = tab->findChild<QComboBox*>();
        grouping->setCurrentIndex(1);
        emit grouping->activated(1);
        QCOMPARE(rows->rowCount(), 4);
        QCOMPARE(rows->text(0, OperatorName), QString("MatMul"));
        QCOMPARE(rows->text(0, OperatorCalls), QString("4"));
        QCOMPARE(rows->text(0, OperatorTotal), QString("1.05 ms"));
        tab->findChild<QLineEdit*>()->setText("reorder");
        QCOMPARE(rows->rowCount(), 1);
        tab->findChild<QLineEdit*>()->setText("no such");
        QCOMPARE(rows->rowCount(), 0);
    }
    void collectivesShowPredictedBesideMeasured() {
        Fixture f;
        f.events({observedReport()});
        f.answer();
        f.panel.start();
        QVERIFY(f.finish());
        f.panel.showTab("collectives");
        RowsView* rows = f.panel.results()->collectives();
        rows->sortBy(CollectiveMeasured, Qt::DescendingOrder);
        QCOMPARE(rows->text(0, CollectiveKindName), QString("all-gather"));
        QCOMPARE(rows->text(1, CollectivePredicted), QString("6.5 µs"));
        QCOMPARE(rows->text(1, CollectiveBandwidth), QString("2.60 GB/s"));
        QVERIFY(!rows->view()->isColumnHidden(CollectivePredicted));
        const auto* summary = f.panel.findChild<QLabel*>("collectivesSummary");
        QVERIFY2(summary->text().contains("wire") && summary->text().contains("As predicted"),
                 qPrintable(summary->text()));
        Fixture::click(rows, 0);
        QCOMPARE(f.lastNode(), nodeNamed(f.session.document().graph(), "act"));
    }
    void withoutAProfileNothingIsPredicted() {
        Fixture f;
        RunReport plain = observedReport();
        plain.hardware.clear();
        for (RunCollective& one : plain.collectives)
            one.predictedUs = -1;
        f.events({plain});
        f.answer();
        f.panel.start();
        QVERIFY(f.finish());
        QVERIFY(f.panel.results()->collectives()->view()->isColumnHidden(CollectivePredicted));
    }
    void memoryIsShownBesideThePredictionWhileItRuns() {
        Fixture f;
        f.events({RunMemory{0, 1024, 2048, 4096}, RunMemory{1, 512, 2048, 4096}});
        f.worker("cat $DIR/events; sleep 60 & wait");
        f.panel.start();
        const RowsView* rows = f.panel.results()->devices();
        QTRY_COMPARE(rows->rowCount(), 2);
        QVERIFY(!rows->view()->isColumnHidden(DeviceMemory));
        QCOMPARE(rows->text(0, DeviceMemory), byteText(1024));
        QCOMPARE(rows->text(0, DevicePeak), byteText(2048));
        QCOMPARE(rows->text(0, DevicePredicted), byteText(4096));
        f.panel.cancel();
        QTRY_COMPARE(f.finished.count(), 1);
        QVERIFY(rows->view()->isColumnHidden(DeviceMemory));
    }
    void theTimelineShowsTheStepsAndLeadsToTheirNodes() {
        Fixture f;
        f.events(
            {RunSegmentTiming{0, 0, 2, {"mm1", 0, ""}, 0, 50},
             RunSegmentTiming{1, 0, 2, {"mm1", 0, ""}, 0, 30},
             RunExchangeTiming{0, 1, "all-reduce", "y", {"mm2", 2, ""}, {0, 1}, 99, 50, 50, 0},
             RunExchangeTiming{1, 1, "all-reduce", "y", {"mm2", 2, ""}, {0, 1}, 99, 30, 70, 20},
             report()});
        f.answer();
        f.panel.start();
        QVERIFY(f.finish());
        QCOMPARE(f.panel.results()->devices()->text(0, DeviceSegments), QString("1"));
        f.panel.showTab("timeline");
        RunTimeline* timeline = f.panel.results()->timeline();
        QCOMPARE(timeline->bars().size(), std::size_t(4));
        const QPointF exchange = timeline->barRect(3).center();
        QCOMPARE(timeline->barAt(exchange), 3);
        QTest::mouseClick(timeline->viewport(), Qt::LeftButton, {}, exchange.toPoint());
        QCOMPARE(f.lastNode(), nodeNamed(f.session.document().graph(), "mm2"));
        // Half of the pass is half of the width; what is under the pointer stays there.
        QCOMPARE(qRound(timeline->barRect(0).width()), qRound(timeline->barRect(2).width()));
        const double width = timeline->barRect(0).width();
        const double before = timeline->barRect(2).left();
        timeline->zoom(2, before);
        QVERIFY(std::abs(timeline->barRect(0).width() - 2 * width) < 1);
        QVERIFY(std::abs(timeline->barRect(2).left() - before) < 2);
    }
    void theOptionsReachTheWorker() {
        Fixture f;
        f.events({report()});
        f.answer();
        f.panel.findChild<QSpinBox*>("warmups")->setValue(3);
        f.panel.findChild<QSpinBox*>("repeats")->setValue(5);
        f.panel.findChild<QCheckBox*>("operatorTimes")->setChecked(true);
        const QString profile = f.box.write("wire.json", "a profile");
        f.panel.settings()->hardware()->choose(profile);
        f.panel.start();
        const auto request = f.request();
        QVERIFY(request);
        QCOMPARE(request->warmups, 3);
        QCOMPARE(request->repeats, 5);
        QVERIFY(request->profile);
        QCOMPARE(request->hardware, std::string("a profile"));
        QCOMPARE(request->hardwareName, profile.toStdString());
        QVERIFY(f.finish());
        // A profile that is gone by then is said, and nothing is started.
        QFile::remove(profile);
        f.panel.start();
        QVERIFY(!f.panel.isRunning());
        QVERIFY2(f.panel.statusText().contains("wire.json"), qPrintable(f.panel.statusText()));
    }
    void theMachineIsMeasuredByTheCommandLine() {
        Fixture f;
        qputenv(
            "SHARDWRIGHT_CLI",
            f.program("cli.sh", "echo \"$*\" > $DIR/words; echo measured > \"$3\"").toLocal8Bit());
        QFile::remove(CalibrationClient::profilePath());
        HardwareBox* box = f.panel.settings()->hardware();
        emit box->measureWanted();
        QVERIFY(f.panel.isRunning());
        QTRY_VERIFY(!f.panel.isRunning());
        QVERIFY(Sandbox::read(f.box.path("words")).startsWith("calibrate -o"));
        QCOMPARE(box->currentText(), QString("This machine"));
        QCOMPARE(*box->text(), std::string("measured\n"));
        // A failure is said in the program's words and keeps what there was.
        f.program("cli.sh", "echo 'no kernels' >&2; exit 1");
        emit box->measureWanted();
        QTRY_VERIFY(!f.panel.isRunning());
        QCOMPARE(f.panel.statusText(), QString("no kernels"));
        QCOMPARE(*box->text(), std::string("measured\n"));
    }
    void measuringTheMachineIsCancelled() {
        Fixture f;
        qputenv("SHARDWRIGHT_CLI", f.program("cli.sh", "sleep 60 & wait").toLocal8Bit());
        emit f.panel.settings()->hardware()->measureWanted();
        QVERIFY(f.panel.isRunning());
        f.panel.cancel();
        QVERIFY(!f.panel.isRunning());
        QCOMPARE(f.panel.statusText(), QString("Cancelled"));
    }
    void theTraceOfTheLastRunIsSaved() {
        Fixture f;
        f.events({report()});
        f.answer();
        f.panel.start();
        const auto request = f.request();
        QVERIFY(request && !request->tracePath.empty());
        QFile trace(QString::fromStdString(request->tracePath));
        QVERIFY(trace.open(QIODevice::WriteOnly));
        trace.write("[]");
        trace.close();
        QVERIFY(f.finish());
        const QString path = f.box.write("mine.json", "old");
        QVERIFY(f.panel.saveTrace(path));
        QCOMPARE(Sandbox::read(path), QByteArray("[]"));
        QVERIFY(!f.panel.saveTrace(f.box.path("no/such/folder.json")));
        QVERIFY(f.panel.statusText().contains("could not be written"));
    }
    void shardsAreSavedByAFurtherRun() {
        Fixture f;
        f.events({report()});
        f.answer();
        f.panel.saveShards(f.box.path("pieces"));
        const auto request = f.request();
        QVERIFY(request);
        QCOMPARE(request->saveShardsFolder, f.box.path("pieces").toStdString());
        QVERIFY(f.finish());
        QVERIFY(f.panel.statusText().contains(f.box.path("pieces")));
        f.panel.start();
        QVERIFY(f.request()->saveShardsFolder.empty());
        QVERIFY(f.finish());
    }
    void theOptionsWrapInANarrowPanel() {
        Fixture f;
        // What has room for one line of them has room for the panel.
        QVERIFY2(f.panel.minimumSizeHint().height() < 260,
                 qPrintable(QString::number(f.panel.minimumSizeHint().height())));
        f.panel.resize(380, 500);
        QTRY_COMPARE(f.panel.width(), 380);
        for (const QWidget* child :
             f.panel.settings()->findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
            if (child->isVisible())
                QVERIFY2(f.panel.settings()->rect().contains(child->geometry()),
                         qPrintable(child->accessibleName() + child->objectName()));
    }
    void rowsAreAModelThatViewsCanTrust() {
        RowsModel model(operatorColumns());
        const QAbstractItemModelTester tester(
            &model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        const NodesByPlace nodes(nullptr);
        const auto operators = observedReport().operators;
        model.setRows(operatorRows(operators, nodes, false));
        model.setRows(operatorRows(operators, nodes, true));
        model.setRows(operatorRows(operators, nodes, true));
        model.setRows({});
        QCOMPARE(model.rowCount(), 0);
    }
};

QTEST_MAIN(TstRunResults)
#include "tst_run_results.moc"
