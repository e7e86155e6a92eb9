// SPDX-License-Identifier: Apache-2.0
// Workers that hang. What else a worker may do is in the tests of the run panel.
#include "ui/window/run_client.h"

#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QtTest>

#include <csignal>

using namespace shardwright;

namespace {

/// A client whose worker is a shell script. `$DIR/worker` says which process it is.
struct Client {
    QTemporaryDir folder;
    RunClient client;
    QSignalSpy finished{&client, &RunClient::finished};

    explicit Client(const QByteArray& script) {
        const QString path = folder.filePath("worker.sh");
        QFile file(path);
        if (!file.open(QIODevice::WriteOnly))
            qFatal("not written");
        file.write("#!/bin/sh\nDIR=" + folder.path().toLocal8Bit() + "\necho $$ > $DIR/worker\n" +
                   script + "\n");
        file.close();
        QFile::setPermissions(path, QFile::permissions(path) | QFile::ExeOwner);
        qputenv("SHARDWRIGHT_WORKER", path.toLocal8Bit());
    }
    ~Client() { qunsetenv("SHARDWRIGHT_WORKER"); }

    QString failure() const { return finished.value(0).value(0).toString(); }
    bool workerIsGone() const {
        QFile file(folder.filePath("worker"));
        return file.open(QIODevice::ReadOnly) && kill(file.readAll().trimmed().toInt(), 0) != 0;
    }
};

constexpr int kLongMs = 60000;

}  // namespace

class TstRunClient : public QObject {
    Q_OBJECT
private slots:
    void aWorkerWithoutASignOfLifeIsEnded() {
        Client c("exec sleep 1000");
        c.client.start("request", {1, 0, 0});
        QTRY_COMPARE_WITH_TIMEOUT(c.finished.count(), 1, kLongMs);
        QCOMPARE(c.failure(), QString("The worker hangs: it has given no sign of life for 1 s. The "
                                      "model is as it was."));
        QVERIFY(!c.client.isRunning());
        QTRY_VERIFY_WITH_TIMEOUT(c.workerIsGone(), kLongMs);
    }
    void aWorkerThatWasStoppedIsEnded() {
        Client c("printf '\\000'; kill -STOP $$");
        c.client.start("request", {1, 0, 0});
        QTRY_COMPARE_WITH_TIMEOUT(c.finished.count(), 1, kLongMs);
        QVERIFY2(c.failure().contains("hangs"), qPrintable(c.failure()));
        QTRY_VERIFY_WITH_TIMEOUT(c.workerIsGone(), kLongMs);
    }
    void signsOfLifeKeepItGoing() {
        Client c("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf '\\000'; sleep 0.25; done");
        c.client.start("request", {2, 0, 0});
        QTRY_COMPARE_WITH_TIMEOUT(c.finished.count(), 1, kLongMs);
        QCOMPARE(c.failure(), QString("The worker ended without a result (exit code 0)."));
    }
    void itsTimeLimitHoldsWhateverItTells() {
        Client c("while :; do printf '\\000'; sleep 0.1; done");
        c.client.start("request", {20, 1, 0.5});
        QTRY_COMPARE_WITH_TIMEOUT(c.finished.count(), 1, kLongMs);
        QCOMPARE(c.failure(), QString("The worker did not end within its time limit of 1 s. The "
                                      "model is as it was."));
        QTRY_VERIFY_WITH_TIMEOUT(c.workerIsGone(), kLongMs);
    }
    void afterOneThatHungAnotherCanBeStarted() {
        Client c("if [ -e $DIR/second ]; then exit 3; fi; touch $DIR/second; exec sleep 1000");
        c.client.start("request", {1, 0, 0});
        QTRY_COMPARE_WITH_TIMEOUT(c.finished.count(), 1, kLongMs);
        c.client.start("request", {20, 0, 0});
        QTRY_COMPARE_WITH_TIMEOUT(c.finished.count(), 2, kLongMs);
        QVERIFY(c.finished.at(1).at(0).toString().contains("exit code 3"));
    }
};

QTEST_GUILESS_MAIN(TstRunClient)
#include "tst_run_client.moc"
