// SPDX-License-Identifier: Apache-2.0
// Annotations taken out of one model and put onto others, on the command line.
#include "cli_process.h"

#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardwright::test;

class TstCliAnnotations : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        m_mlp = qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/resources/examples/mlp.onnx";
        const CliResult annotated =
            runCli({"annotate", m_mlp, "--mesh", "tp=2", "--shard", "w1:1=tp", "--shard", "w2:0=tp",
                    "-o", file("tp.onnx")});
        QVERIFY2(annotated.exitCode == 0, qPrintable(annotated.err));
    }

    void whatIsExportedAppliesToTheBareModel() {
        QCOMPARE(runCli({"annotations", "export", file("tp.onnx"), "-o", file("tp.json")}).exitCode,
                 0);
        const CliResult applied = runCli({"annotations", "apply", m_mlp, file("tp.json"), "-o",
                                          file("again.onnx"), "--format", "json"});
        QCOMPARE(applied.exitCode, 0);
        const QJsonObject json = applied.json();
        QCOMPARE(json.keys(), (QStringList{"rules", "unmatched"}));
        QCOMPARE(json["unmatched"].toInt(-1), 0);
        const QJsonObject rule = json["rules"].toArray()[0].toObject();
        QCOMPARE(rule.keys(), (QStringList{"problem", "rule", "specs"}));
        QCOMPARE(rule["rule"].toString(), QString("#in1@MatMul!mm1:1=tp"));
        QCOMPARE(rule["specs"].toInt(), 1);
        QVERIFY(rule["problem"].isNull());
        QCOMPARE(read("again.onnx"), read("tp.onnx"));
    }

    void aRuleThatFitsNowhereIsReportedAndTheRestWritten() {
        QFile rules(file("more.json"));
        QVERIFY(rules.open(QIODevice::WriteOnly));
        rules.write(R"({"format": "shardwright-annotations", "version": 1,
            "configuration": "default", "mesh": "tp=2",
            "shards": ["w1:1=tp", "w3:0=tp", "w2:5=tp"]})");
        rules.close();
        const CliResult applied =
            runCli({"annotations", "apply", m_mlp, file("more.json"), "-o", file("more.onnx")});
        QCOMPARE(applied.exitCode, 1);
        QCOMPARE(
            QString(applied.out),
            QString("w1:1=tp: 1 place\n"
                    "w3:0=tp: none: no tensor matches 'w3'; did you mean 'w1', 'w2' or 'a'?\n"
                    "w2:5=tp: none: 'w2' at 'mm2': there is no dimension 5: the tensor has rank 2\n"
                    "1 of 3 rules applied\n"));
        QCOMPARE(runCli({"check", file("more.onnx")}).exitCode, 0);
    }

    void filesThatCannotBeUsedAreExitStatusTwo_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::newRow("no file") << QStringList{"annotations",   "apply", m_mlp,
                                                "/nowhere.json", "-o",    file("x.onnx")};
        QTest::newRow("no JSON") << QStringList{"annotations", "apply", m_mlp,
                                                m_mlp,         "-o",    file("x.onnx")};
        QTest::newRow("no configuration")
            << QStringList{"annotations", "export", m_mlp, "-o", file("x.json")};
        QTest::newRow("no verb") << QStringList{"annotations"};
    }
    void filesThatCannotBeUsedAreExitStatusTwo() {
        QFETCH(QStringList, arguments);
        const CliResult result = runCli(arguments);
        QCOMPARE(result.exitCode, 2);
        QVERIFY(!result.err.isEmpty());
        QVERIFY(!QFile::exists(file("x.onnx")) && !QFile::exists(file("x.json")));
    }

    void tensorParallelismOfFourLayersFitsThirtyTwo() {
        const QString models = qEnvironmentVariable("SHARDWRIGHT_SHARED") + "/models/";
        if (!QFile::exists(models + "llama_32l_gqa_legacy.onnx"))
            QSKIP("annotations: the shared models are not here");
        QStringList arguments{"annotate", models + "llama_4l_gqa_legacy.onnx",
                              "--mesh",   "tp=2",
                              "-o",       file("four.onnx")};
        for (const char* spec : {"q_proj/*:1", "k_proj/*:1", "v_proj/*:1", "gate_proj/*:1",
                                 "up_proj/*:1", "o_proj/*:0", "down_proj/*:0"})
            arguments << "--shard" << QString("#in1@MatMul!*/%1=tp").arg(spec);
        QCOMPARE(runCli(arguments).exitCode, 0);
        QCOMPARE(
            runCli({"annotations", "export", file("four.onnx"), "-o", file("l.json")}).exitCode, 0);
        const CliResult applied =
            runCli({"annotations", "apply", models + "llama_32l_gqa_legacy.onnx", file("l.json"),
                    "-o", file("many.onnx"), "--format", "json"});
        QCOMPARE(applied.exitCode, 0);
        for (const QJsonValue& rule : applied.json()["rules"].toArray())
            QCOMPARE(rule.toObject()["specs"].toInt(), 32);
        const QJsonObject comm = runCli({"comm", file("many.onnx"), "--format", "json"}).json();
        QCOMPARE(comm["collectives"].toArray().size(), 64);
    }

private:
    QString file(const QString& name) const { return m_folder.filePath(name); }
    QByteArray read(const QString& name) const {
        QFile f(file(name));
        return f.open(QIODevice::ReadOnly) ? f.readAll() : QByteArray();
    }

    QTemporaryDir m_folder;
    QString m_mlp;
};

QTEST_GUILESS_MAIN(TstCliAnnotations)
#include "tst_cli_annotations.moc"
