// SPDX-License-Identifier: Apache-2.0
#include "cli_process.h"

#include "support/model_builder.h"

#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardwright::test;

class TstCliPropagate : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        const auto document = ModelBuilder{}
                                  .input("x", {8, 16})
                                  .weight("w1", {16, 32})
                                  .weight("w2", {32, 16})
                                  .op("MatMul", {"x", "w1"}, {"h"}, "fc1")
                                  .op("Relu", {"h"}, {"r"}, "relu")
                                  .op("MatMul", {"r", "w2"}, {"y"}, "fc2")
                                  .output("y", {8, 16})
                                  .document();
        QVERIFY(document.save(path("plain.onnx").toStdString()));
        const CliResult result = runCli({"annotate", path("plain.onnx"), "--mesh", "dp=2,tp=2",
                                         "--shard", "w1:1=tp", "-o", path("model.onnx")});
        QVERIFY2(result.exitCode == 0, qPrintable(result.err));
    }

    void proposalsNameTheirSource() {
        const CliResult result = runCli({"infer", path("model.onnx"), "--mode", "propagate"});
        QCOMPARE(result.exitCode, 0);
        QVERIFY(result.out.contains(
            "MatMul `fc2` input 1 `w2`: 0=tp\n    axis tp is set on `w1` at MatMul `fc1`"));
        QVERIFY(result.out.endsWith("3 proposals, 0 conflicts\n"));
    }

    void jsonHasProposalsWithLayoutsAndSources() {
        const QJsonObject json =
            runCli({"infer", path("model.onnx"), "--mode", "propagate", "--format", "json"}).json();
        QCOMPARE(json["mode"].toString(), QString("propagate"));
        QCOMPARE(json["policy"].toString(), QString("report"));
        QCOMPARE(json["direction"].toString(), QString("both"));
        QCOMPARE(json["mesh"].toString(), QString("dp=2,tp=2"));
        QCOMPARE(json["conflicts"].toArray().size(), 0);
        QCOMPARE(json["left"].toArray().size(), 0);
        const QJsonArray proposals = json["proposals"].toArray();
        QCOMPARE(proposals.size(), 3);
        for (const QJsonValue& value : proposals) {
            const QJsonObject p = value.toObject();
            for (const char* key :
                 {"node", "output", "slot", "tensor", "axes", "layout", "reshard", "sources"})
                QVERIFY2(p.contains(key), key);
            const QJsonObject source = p["sources"].toArray().at(0).toObject();
            QCOMPARE(source["axis"].toString(), QString("tp"));
            QCOMPARE(source["annotation"].toObject()["node"].toObject()["name"].toString(),
                     QString("fc1"));
        }
    }

    void theDirectionLimitsWhatIsProposed() {
        const CliResult reverse =
            runCli({"infer", path("model.onnx"), "--mode", "propagate", "--direction", "reverse"});
        QVERIFY(reverse.out.endsWith("0 proposals, 0 conflicts\n"));
        QCOMPARE(runCli({"infer", path("model.onnx"), "--mode", "propagate", "--direction", "up"})
                     .exitCode,
                 2);
        QCOMPARE(runCli({"infer", path("model.onnx"), "--mode", "propagate", "--policy", "none"})
                     .exitCode,
                 2);
        QCOMPARE(runCli({"infer", path("model.onnx"), "--mode", "propagate", "--priority", "pp=1"})
                     .exitCode,
                 2);
    }

    void theAcceptedModelIsCleanAndComplete() {
        const QString out = path("accepted.onnx");
        QCOMPARE(runCli({"infer", path("model.onnx"), "--mode", "propagate", "-o", out}).exitCode,
                 0);
        const QJsonObject checked = runCli({"check", out, "--format", "json"}).json();
        QCOMPARE(checked["errors"].toInt(-1), 0);
        const QJsonArray collectives =
            runCli({"comm", out, "--format", "json"}).json()["collectives"].toArray();
        QCOMPARE(collectives.size(), 1);
        QCOMPARE(collectives.at(0).toObject()["kind"].toString(), QString("all-reduce"));
        const CliResult again = runCli({"infer", out, "--mode", "propagate"});
        QCOMPARE(again.out, QByteArray("0 proposals, 0 conflicts\n"));
    }

private:
    QString path(const char* name) const { return m_dir.filePath(name); }
    QTemporaryDir m_dir;
};

QTEST_GUILESS_MAIN(TstCliPropagate)
#include "tst_cli_propagate.moc"
