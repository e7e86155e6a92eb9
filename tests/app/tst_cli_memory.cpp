// SPDX-License-Identifier: Apache-2.0
// What a run needs is predicted, and refused where it is more than there is.
#include "cli_process.h"

#include "support/model_builder.h"

#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardwright::test;

class TstCliMemory : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        m_model = m_dir.filePath("m.onnx");
        QFile file(m_model);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QByteArray::fromStdString(ModelBuilder(17)
                                                 .input("x", {"batch", 64})
                                                 .weight("w1", {64, 128})
                                                 .weight("w2", {128, 64})
                                                 .op("MatMul", {"x", "w1"}, {"h"}, "mm1")
                                                 .op("MatMul", {"h", "w2"}, {"y"}, "mm2")
                                                 .output("y", {"batch", 64})
                                                 .bytes()));
        file.close();
        const CliResult result =
            runCli({"annotate", m_model, "-o", m_dir.filePath("a.onnx"), "--mesh", "tp=2",
                    "--shard", "w1:1=tp", "--shard", "w2:0=tp"});
        QCOMPARE(result.exitCode, 0);
        m_model = m_dir.filePath("a.onnx");
    }

    void whatIsPredictedIsReportedBesideWhatWasMeasured() {
        const QJsonObject json =
            runCli({"run", m_model, "--bind", "batch=16", "--format", "json"}).json();
        const QJsonObject memory = json["memory"].toObject();
        QCOMPARE(memory.keys(), (QStringList{"available_bytes", "peak_bytes", "predicted_bytes"}));
        QVERIFY(memory["peak_bytes"].toInteger() > 1'000'000);
        QVERIFY(memory["predicted_bytes"].toInteger() > 1'000'000);
        QVERIFY(memory["available_bytes"].toInteger() > memory["peak_bytes"].toInteger());
        const QJsonArray devices = json["devices"].toArray();
        QCOMPARE(devices.size(), 2);
        for (const QJsonValue& device : devices) {
            // Two halves of weights; x, h within the segment, y before and after its all-reduce.
            const qint64 least = 2 * 64 * 64 * 4 + 16 * (64 + 64 + 64) * 4;
            QVERIFY(device.toObject()["predicted_bytes"].toInteger() >= least);
            QVERIFY(device.toObject()["predicted_bytes"].toInteger() < 2 * least);
            QVERIFY(device.toObject()["peak_bytes"].toInteger() <=
                    device.toObject()["predicted_bytes"].toInteger());
        }
    }

    void whatDoesNotFitIsRefusedBeforeItStarts() {
        const CliResult result =
            runCli({"run", m_model, "--bind", "batch=100000000000", "--format", "json"}, 20000);
        QCOMPARE(result.exitCode, 1);
        QVERIFY2(result.err.contains("bytes of memory") && result.err.contains("--ignore-memory"),
                 qPrintable(result.err));
        QCOMPARE(result.json()["failure"].toObject()["kind"].toString(), "failed");
    }

    void theFlagIsTaken() {
        QCOMPARE(runCli({"run", m_model, "--bind", "batch=4", "--ignore-memory"}).exitCode, 0);
    }

private:
    QTemporaryDir m_dir;
    QString m_model;
};

QTEST_GUILESS_MAIN(TstCliMemory)
#include "tst_cli_memory.moc"
