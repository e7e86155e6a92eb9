// SPDX-License-Identifier: Apache-2.0
// Weights are in memory once. bench_cli_memory measures the same on a gigabyte.
#include "memory_run.h"

#include <QTemporaryDir>
#include <QtTest>

using namespace shardwright::test;

class TstCliMemorySlow : public QObject {
    Q_OBJECT
private slots:
    void aRunTakesLittleMoreThanItsWeights_data() {
        QTest::addColumn<bool>("inside");
        QTest::newRow("weights in a file of their own") << false;
        QTest::newRow("weights inside of the model") << true;
    }
    void aRunTakesLittleMoreThanItsWeights() {
        QFETCH(bool, inside);
        QTemporaryDir dir;
        TransformerSizes sizes;
        sizes.layers = 8;
        sizes.hidden = 512;
        sizes.heads = 8;
        sizes.mlp = 2048;
        const MemoryRun run = measureMemory(dir.path(), sizes, 4, inside);
        QVERIFY2(run.problem.isEmpty(), qPrintable(run.problem));
        QVERIFY(run.weights > 100'000'000);
        qInfo("weights %lld, peak %lld over an empty %lld: %.2f times", run.weights, run.peak,
              run.empty, run.growth());
        QVERIFY2(run.growth() < 1.6, qPrintable(QString::number(run.growth())));
        QVERIFY(run.growth() > 0.8);  // Else something else was measured.
        QVERIFY(run.predicted > run.weights);
    }

    /// 2.2 GB of weights, in a file that takes no room.
    void aModelOverTwoGigabytesRuns() {
        QTemporaryDir dir;
        constexpr qint64 rows = 16384, columns = 17000;
        QFile weights(dir.filePath("zeros.bin"));
        QVERIFY(weights.open(QIODevice::WriteOnly) && weights.resize(2 * rows * columns * 4));
        QFile model(dir.filePath("m.onnx"));
        QVERIFY(model.open(QIODevice::WriteOnly));
        model.write(QByteArray::fromStdString(
            ModelBuilder(17)
                .input("x", {1, rows})
                .externalWeight("w1", {rows, columns}, "zeros.bin")
                .externalWeight("w2", {columns, rows}, "zeros.bin", rows * columns * 4)
                .op("MatMul", {"x", "w1"}, {"h"}, "mm1")
                .op("MatMul", {"h", "w2"}, {"y"}, "mm2")
                .output("y", {1, rows})
                .bytes()));
        model.close();
        const CliResult annotated =
            runCli({"annotate", model.fileName(), "-o", dir.filePath("a.onnx"), "--mesh", "tp=2",
                    "--shard", "w1:1=tp", "--shard", "w2:0=tp"});
        QVERIFY2(annotated.exitCode == 0, qPrintable(annotated.err));
        const CliResult result =
            runCli({"run", dir.filePath("a.onnx"), "--format", "json"}, 600000);
        if (result.err.contains("bytes of memory"))
            QSKIP("a model of 2 GB: this machine has not enough memory");
        QVERIFY2(result.exitCode == 0, qPrintable(result.err));
        QCOMPARE(result.json()["predicted"], result.json()["executed"]);
    }
};

QTEST_GUILESS_MAIN(TstCliMemorySlow)
#include "tst_cli_memory_slow.moc"
