// SPDX-License-Identifier: Apache-2.0
#include "support/ui/held_job.h"
#include "ui/window/job_tracker.h"

#include <QSemaphore>
#include <QSignalSpy>
#include <QTest>

using namespace shardwright;
using namespace shardwright::test;
using Kind = JobTracker::Kind;

class TstJobTracker : public QObject {
    Q_OBJECT
private slots:
    void theResultArrivesInTheCallersThread() {
        JobTracker tracker;
        int result = 0;
        QThread* workThread = nullptr;
        QThread* doneThread = nullptr;
        tracker.start<int>(
            Kind::Search,
            [&](const CancelToken&) {
                workThread = QThread::currentThread();
                return 7;
            },
            [&](int value) {
                doneThread = QThread::currentThread();
                result = value;
            });
        QVERIFY(tracker.isRunning(Kind::Search));
        QTRY_COMPARE(result, 7);
        QVERIFY(!tracker.isRunning(Kind::Search));
        QVERIFY(workThread != QThread::currentThread());
        QCOMPARE(doneThread, QThread::currentThread());
    }
    void aNewJobCancelsTheOldAndItsResultIsDropped() {
        JobTracker tracker;
        QSemaphore begun, go;
        QList<int> results;
        bool sawCancel = false;
        tracker.start<int>(
            Kind::Analysis,
            [&](const CancelToken& token) {
                begun.release();
                go.acquire();
                sawCancel = token.cancelled();
                return 1;
            },
            [&](int value) { results << value; });
        begun.acquire();
        tracker.start<int>(
            Kind::Analysis, [](const CancelToken&) { return 2; },
            [&](int value) { results << value; });
        go.release();
        QTRY_COMPARE(results, QList<int>{2});
        QVERIFY(sawCancel);
    }
    void aJobThatWasOvertakenInTheQueueIsNotBegun() {
        JobTracker tracker;
        std::atomic<int> begunJobs = 0;
        int result = 0;
        HeldJob before(tracker, Kind::Analysis);
        for (int i = 1; i <= 20; ++i)
            tracker.start<int>(
                Kind::Analysis,
                [&begunJobs, i](const CancelToken&) {
                    ++begunJobs;
                    return i;
                },
                [&](int value) { result = value; });
        before.letGo();
        QTRY_COMPARE(result, 20);
        QCOMPARE(begunJobs.load(), 1);
    }
    void kindsDoNotDisturbEachOther() {
        JobTracker tracker;
        int sum = 0;
        for (const Kind kind : {Kind::Open, Kind::Save, Kind::Export})
            tracker.start<int>(
                kind, [](const CancelToken&) { return 1; }, [&](int value) { sum += value; });
        QTRY_COMPARE(sum, 3);
    }
    void cancellingDropsTheResultAndTellsOfIt() {
        JobTracker tracker;
        QSignalSpy running(&tracker, &JobTracker::runningChanged);
        bool arrived = false;
        tracker.start<int>(
            Kind::Open, [](const CancelToken&) { return 1; }, [&](int) { arrived = true; });
        tracker.cancel(Kind::Open);
        QCOMPARE(running.count(), 2);
        bool other = false;
        tracker.start<int>(
            Kind::Open, [](const CancelToken&) { return 1; }, [&](int) { other = true; });
        QTRY_VERIFY(other);
        QVERIFY(!arrived);
    }
    void theEndWaitsForJobsAndDropsThem() {
        bool arrived = false;
        {
            JobTracker tracker;
            tracker.start<int>(
                Kind::Save,
                [](const CancelToken&) {
                    QThread::msleep(30);
                    return 1;
                },
                [&](int) { arrived = true; });
        }
        QCoreApplication::processEvents();
        QVERIFY(!arrived);
    }
};

QTEST_MAIN(TstJobTracker)
#include "tst_job_tracker.moc"
