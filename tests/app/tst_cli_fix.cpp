// SPDX-License-Identifier: Apache-2.0
// What a person is told of mistakes, and the fixes that mend them, on the command line.
#include "cli_process.h"
#include "support/model_builder.h"

#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardwright::test;

class TstCliFix : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        m_mlp = qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/resources/examples/mlp.onnx";
        m_annotated = runCli({"annotate", m_mlp, "--mesh", "tp=2", "--shard", "w1:1=tp", "--shard",
                              "w2:1=tp", "-o", file("bad.onnx")});
    }

    void infoListsWhatCanBeNamed() {
        const CliResult text = runCli({"info", m_mlp, "--nodes", "MatMul!mm1"});
        QCOMPARE(QString(text.out), QString("MatMul mm1\n"
                                            "    #in0 x [8,16,64]\n"
                                            "    #in1 w1 [64,256] weight\n"
                                            "    #out0 h [8,16,256]\n"
                                            "1 node\n"));
        const QJsonArray nodes =
            runCli({"info", m_mlp, "--nodes", "*", "--format", "json"}).json()["nodes"].toArray();
        QCOMPARE(nodes.size(), 3);
        const QJsonObject weight = nodes[0].toObject()["inputs"].toArray()[1].toObject();
        QCOMPARE(weight.keys(), (QStringList{"name", "shape", "slot", "type", "weight"}));
        QCOMPARE(weight["weight"].toBool(), true);
    }

    void annotateSaysWhatItNamedAndWhatIsWrongNow() {
        QCOMPARE(m_annotated.exitCode, 0);
        QVERIFY2(m_annotated.err.contains("w1:1=tp: 1 tensor at 1 node\n"),
                 qPrintable(m_annotated.err));
        QVERIFY(m_annotated.err.contains("the result has 1 error (see check), first:\nSW301"));
    }

    void communicationOfAModelWithErrorsIsNotSaidToBeAll() {
        const CliResult comm = runCli({"comm", file("bad.onnx")});
        QCOMPARE(comm.exitCode, 1);
        QVERIFY2(comm.err.contains("the model has errors (see check)"), qPrintable(comm.err));
    }

    void theFirstFixIsTheCheapest() {
        const CliResult fixed =
            runCli({"fix", file("bad.onnx"), "-o", file("good.onnx"), "--format", "json"});
        QCOMPARE(fixed.exitCode, 0);
        const QJsonObject json = fixed.json();
        QCOMPARE(json.keys(), (QStringList{"applied", "errors"}));
        QCOMPARE(json["errors"].toInt(-1), 0);
        const QJsonObject applied = json["applied"].toArray()[0].toObject();
        QCOMPARE(applied.keys(), (QStringList{"code", "fix", "node", "title"}));
        QCOMPARE(applied["code"].toString(), QString("SW301"));
        QCOMPARE(applied["title"].toString(), QString("Keep `w2` whole at `mm2` (32768 bytes)"));
        QCOMPARE(runCli({"check", file("good.onnx")}).exitCode, 0);
    }

    void anotherFixCanBeNamed() {
        const CliResult fixed = runCli({"fix", file("bad.onnx"), "-o", file("gather.onnx"),
                                        "--code", "SW301", "--node", "mm2", "--fix", "gather-a"});
        QCOMPARE(fixed.exitCode, 0);
        QCOMPARE(QString(fixed.out), QString("SW301 Gather `a` at `mm2` (131072 bytes)\n"));
        const QJsonObject comm = runCli({"comm", file("gather.onnx"), "--format", "json"}).json();
        QCOMPARE(comm["total_bytes"].toInt(), 131072);
    }

    void whereNothingIsMeantNothingIsWritten_data() {
        QTest::addColumn<QStringList>("more");
        QTest::newRow("another code") << QStringList{"--code", "SW999"};
        QTest::newRow("another node") << QStringList{"--node", "mm1"};
        QTest::newRow("another fix") << QStringList{"--fix", "nothing"};
    }
    void whereNothingIsMeantNothingIsWritten() {
        QFETCH(QStringList, more);
        const CliResult fixed =
            runCli(QStringList{"fix", file("bad.onnx"), "-o", file("none.onnx")} + more);
        QCOMPARE(fixed.exitCode, 2);
        QVERIFY(!QFile::exists(file("none.onnx")));
    }

    void whatDifferentStagesMadeIsSentByAFix() {
        // Two experts on two devices, and their sum in no stage.
        QFile model(file("experts.onnx"));
        QVERIFY(model.open(QIODevice::WriteOnly));
        const std::string bytes = ModelBuilder{}
                                      .input("x", {4, 8})
                                      .weight("w0", {8, 8})
                                      .weight("w1", {8, 8})
                                      .op("MatMul", {"x", "w0"}, {"a"}, "expert0")
                                      .op("MatMul", {"x", "w1"}, {"b"}, "expert1")
                                      .op("Add", {"a", "b"}, {"y"}, "sum")
                                      .output("y", {4, 8})
                                      .bytes();
        model.write(bytes.data(), static_cast<qint64>(bytes.size()));
        model.close();
        QCOMPARE(runCli({"annotate", model.fileName(), "--mesh", "pp=2", "--stage", "expert0=0",
                         "--stage", "expert1=1", "-o", file("staged.onnx")})
                     .exitCode,
                 0);
        const CliResult check = runCli({"check", file("staged.onnx")});
        QVERIFY2(check.out.contains("no device has all inputs: `a` is whole on device 0, and `b` "
                                    "is whole on device 1"),
                 check.out.constData());
        const CliResult fixed = runCli({"fix", file("staged.onnx"), "-o", file("sent.onnx")});
        QCOMPARE(fixed.exitCode, 0);
        QCOMPARE(QString(fixed.out),
                 QString("SW301 Send `a` to the devices of `sum` (128 bytes)\n"));
        const CliResult run = runCli({"run", file("sent.onnx"), "--verify", "--format", "json"});
        if (run.err.contains("ONNX Runtime is not there"))
            QSKIP("fix: needs ONNX Runtime's library");
        QCOMPARE(run.json()["verified"].toBool(), true);
        QCOMPARE(run.json()["predicted"], run.json()["executed"]);
    }

    void whatComesFirstIsMendedFirst() {
        // Each half lies on devices that have nothing of the other: there is no sum.
        QFile model(file("halves.onnx"));
        QVERIFY(model.open(QIODevice::WriteOnly));
        const std::string bytes = ModelBuilder{}
                                      .input("x", {4, 8})
                                      .ints("zero", {0})
                                      .ints("four", {4})
                                      .ints("eight", {8})
                                      .ints("axis", {1})
                                      .op("Relu", {"x"}, {"r"}, "relu")
                                      .op("Slice", {"r", "zero", "four", "axis"}, {"a"}, "low")
                                      .op("Slice", {"r", "four", "eight", "axis"}, {"b"}, "high")
                                      .op("Add", {"a", "b"}, {"y"}, "sum")
                                      .output("y", {4, 4})
                                      .bytes();
        model.write(bytes.data(), static_cast<qint64>(bytes.size()));
        model.close();
        QCOMPARE(runCli({"annotate", model.fileName(), "--mesh", "tp=4", "--shard", "x:1=tp", "-o",
                         file("split.onnx")})
                     .exitCode,
                 0);
        const CliResult fixed = runCli({"fix", file("split.onnx"), "-o", file("mended.onnx")});
        QCOMPARE(QString(fixed.out), QString("SW312 Gather `r` at `low` (128 bytes)\n"
                                             "SW312 Gather `r` at `high` (128 bytes)\n"));
        QCOMPARE(fixed.exitCode, 0);
        // Both halves need the same: one all-gather.
        const QJsonObject comm = runCli({"comm", file("mended.onnx"), "--format", "json"}).json();
        QCOMPARE(comm["total_bytes"].toInt(), 128);
    }

    void aStageWithoutDevicesIsTold() {
        QCOMPARE(runCli({"annotate", m_mlp, "--mesh", "tp=2", "--stage", "mm1=0", "--stage",
                         "mm2=1", "-o", file("stages.onnx")})
                     .exitCode,
                 0);
        const CliResult check = runCli({"check", file("stages.onnx")});
        QVERIFY2(check.out.contains("SW412 info: stage 0 (1 node) has no devices"),
                 check.out.constData());
        QCOMPARE(runCli({"annotate", m_mlp, "--mesh", "pp=2", "--stage", "mm1=0", "--stage",
                         "mm2=1", "-o", file("stages.onnx")})
                     .exitCode,
                 0);
        QVERIFY(!runCli({"check", file("stages.onnx")}).out.contains("SW412"));
    }

    void aViewThatTakesADimensionApartNamesItsParts() {
        QFile model(file("qkv.onnx"));
        QVERIFY(model.open(QIODevice::WriteOnly));
        const std::string bytes = ModelBuilder{}
                                      .input("x", {4, 8})
                                      .weight("w", {8, 24})
                                      .ints("shape", {4, 3, 8})
                                      .op("MatMul", {"x", "w"}, {"qkv"}, "project")
                                      .op("Reshape", {"qkv", "shape"}, {"y"}, "view")
                                      .output("y", {4, 3, 8})
                                      .bytes();
        model.write(bytes.data(), static_cast<qint64>(bytes.size()));
        model.close();
        const auto annotate = [&](const QString& shard) {
            QCOMPARE(runCli({"annotate", model.fileName(), "--mesh", "tp=2", "--shard", shard, "-o",
                             file("split.onnx")})
                         .exitCode,
                     0);
        };
        annotate("w:1=tp");
        QVERIFY(runCli({"check", file("split.onnx")})
                    .out.contains("dimension 1 is taken apart into 3 x 8: split one of these "
                                  "parts, as in 1=3*8/tp, or into a number of shards that "
                                  "divides the first"));
        annotate("w:1=3*8/tp");
        QCOMPARE(runCli({"check", file("split.onnx")}).exitCode, 0);
        annotate("w:1=3*tp");
        QCOMPARE(runCli({"check", file("split.onnx")}).exitCode, 0);
    }

private:
    QString file(const QString& name) const { return m_folder.filePath(name); }

    QTemporaryDir m_folder;
    QString m_mlp;
    CliResult m_annotated;
};

QTEST_GUILESS_MAIN(TstCliFix)
#include "tst_cli_fix.moc"
