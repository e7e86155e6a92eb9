// SPDX-License-Identifier: Apache-2.0
// The example model through the command line: annotate, check, comm, infer, run.
#include "cli_process.h"

#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardwright::test;

namespace {

const QStringList kColumnRow{"--mesh", "tp=2", "--shard", "w1:1=tp", "--shard", "w2:0=tp"};

}  // namespace

class TstCliMlp : public QObject {
    Q_OBJECT
private slots:
    void initTestCase();
    void columnAndRowGiveOneAllReduce();
    void anOutputSpecMakesItAReduceScatter();
    void twoColumnsAreAnErrorWithAPricedFix();
    void anExplicitInputSpecGathers();
    void theInferredLayoutsSayWhereTheyComeFrom();
    void runRefusesAnErrorInTheSameWords();
    void stripGivesBackTheModel();
    void badUsageExitsWithTwo_data();
    void badUsageExitsWithTwo();

private:
    QString annotate(const QStringList& arguments);
    QJsonArray collectives(const QString& model);
    void verifies(const QString& model);

    QTemporaryDir m_dir;
    QString m_model;
    int m_files = 0;
};

void TstCliMlp::initTestCase() {
    m_model = qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/resources/examples/mlp.onnx";
    QVERIFY(QFile::exists(m_model));
}

QString TstCliMlp::annotate(const QStringList& arguments) {
    const QString out = m_dir.filePath(QString("m%1.onnx").arg(++m_files));
    const CliResult result =
        runCli(QStringList{"annotate", m_model} + arguments + QStringList{"-o", out});
    return result.exitCode == 0 ? out : QString("annotate failed: " + result.err);
}

QJsonArray TstCliMlp::collectives(const QString& model) {
    return runCli({"comm", model, "--format", "json"}).json()["collectives"].toArray();
}

void TstCliMlp::verifies(const QString& model) {
    const CliResult result = runCli({"run", model, "--verify", "--format", "json"});
    QVERIFY2(result.exitCode == 0, qPrintable(result.err + result.out));
    const QJsonObject json = result.json();
    QCOMPARE(json["verified"].toBool(), true);
    QCOMPARE(json["predicted"], json["executed"]);
    QCOMPARE(json["devices"].toArray().size(), 2);
}

void TstCliMlp::columnAndRowGiveOneAllReduce() {
    const QString model = annotate(kColumnRow);
    QCOMPARE(runCli({"check", model}).exitCode, 0);
    const QJsonArray list = collectives(model);
    QCOMPARE(list.size(), 1);
    const QJsonObject entry = list[0].toObject();
    QCOMPARE(entry["kind"].toString(), "all-reduce");
    QCOMPARE(entry["axes"].toArray(), (QJsonArray{"tp"}));
    QCOMPARE(entry["node"].toObject()["name"].toString(), "mm2");
    QCOMPARE(entry["bytes"].toInt(), 32768);
    QCOMPARE(entry["groups"].toArray(), (QJsonArray{QJsonArray{0, 1}}));
    QCOMPARE(entry["phase"].toString(), "output");
    QCOMPARE(runCli({"comm", model, "--format", "json"}).json()["total_bytes"].toInt(), 32768);
    verifies(model);
}

void TstCliMlp::anOutputSpecMakesItAReduceScatter() {
    const QString model = annotate(kColumnRow + QStringList{"--shard", "y:1=tp"});
    const QJsonArray list = collectives(model);
    QCOMPARE(list.size(), 1);
    QCOMPARE(list[0].toObject()["kind"].toString(), "reduce-scatter");
    QCOMPARE(list[0].toObject()["bytes"].toInt(), 32768);
    verifies(model);
}

void TstCliMlp::twoColumnsAreAnErrorWithAPricedFix() {
    const QString model = annotate({"--mesh", "tp=2", "--shard", "w1:1=tp", "--shard", "w2:1=tp"});
    const CliResult result = runCli({"check", model, "--format", "json"});
    QCOMPARE(result.exitCode, 1);
    QCOMPARE(result.json()["errors"].toInt(), 1);
    const QJsonObject d = result.json()["diagnostics"].toArray()[0].toObject();
    const QString message = d["message"].toString();
    QVERIFY2(message.contains("2 of the 4 cells"), qPrintable(message));
    QVERIFY(message.contains("`a`") && message.contains("`w2`"));
    bool gathers = false;
    for (const QJsonValue& fix : d["fixes"].toArray())
        gathers = gathers || (fix["id"].toString() == "gather-a" && fix["bytes"].toInt() == 131072);
    QVERIFY(gathers);
}

void TstCliMlp::anExplicitInputSpecGathers() {
    const QString model = annotate({"--mesh", "tp=2", "--shard", "w1:1=tp", "--shard", "w2:1=tp",
                                    "--shard", "a@mm2:replicated"});
    QCOMPARE(runCli({"check", model}).exitCode, 0);
    const QJsonArray list = collectives(model);
    QCOMPARE(list.size(), 1);
    const QJsonObject entry = list[0].toObject();
    QCOMPARE(entry["kind"].toString(), "all-gather");
    QCOMPARE(entry["bytes"].toInt(), 131072);
    QCOMPARE(entry["node"].toObject()["name"].toString(), "mm2");
    QCOMPARE(entry["phase"].toString(), "input");
    const QJsonArray nodes = runCli({"infer", model, "--format", "json"}).json()["nodes"].toArray();
    const QJsonObject y = nodes[2].toObject()["tensors"].toArray().last().toObject();
    QCOMPARE(y["name"].toString(), "y");
    const QJsonArray dims = y["layout"].toObject()["dims"].toArray();
    QCOMPARE(dims[2].toArray()[0].toObject()["axes"].toArray(), (QJsonArray{"tp"}));
    QCOMPARE(dims[0].toArray()[0].toObject()["shards"].toInt(), 1);
    verifies(model);
}

void TstCliMlp::theInferredLayoutsSayWhereTheyComeFrom() {
    const QJsonArray nodes =
        runCli({"infer", annotate(kColumnRow), "--format", "json"}).json()["nodes"].toArray();
    QCOMPARE(nodes.size(), 3);
    const auto source = [&](int node, int tensor) {
        return nodes[node].toObject()["tensors"].toArray()[tensor].toObject()["source"].toString();
    };
    QCOMPARE(source(0, 0), "everywhere");  // x
    QCOMPARE(source(0, 1), "explicit");    // w1
    QCOMPARE(source(0, 2), "inferred");    // h
    QCOMPARE(source(1, 0), "inferred");
    const QJsonObject h = nodes[0].toObject()["tensors"].toArray()[2].toObject();
    QVERIFY(h["why"].toString().contains("w1"));
}

void TstCliMlp::runRefusesAnErrorInTheSameWords() {
    const QString model = annotate({"--mesh", "tp=2", "--shard", "w1:1=tp", "--shard", "w2:1=tp"});
    const QString message = runCli({"check", model, "--format", "json"})
                                .json()["diagnostics"]
                                .toArray()[0]
                                .toObject()["message"]
                                .toString();
    const CliResult result = runCli({"run", model});
    QCOMPARE(result.exitCode, 1);
    QVERIFY2(result.err.contains(message), qPrintable(result.err));
}

void TstCliMlp::stripGivesBackTheModel() {
    const QString out = m_dir.filePath("stripped.onnx");
    QCOMPARE(runCli({"strip", annotate(kColumnRow), "-o", out}).exitCode, 0);
    QCOMPARE(runCli({"info", out, "--format", "json"}).json()["configurations"].toArray().size(),
             0);
    QCOMPARE(runCli({"comm", out, "--format", "json"}).json()["total_bytes"].toInt(), 0);
}

void TstCliMlp::badUsageExitsWithTwo_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("words");
    const QString out = m_dir.filePath("never.onnx");
    QTest::newRow("no command") << QStringList{} << "";
    QTest::newRow("no file") << QStringList{"info", "/nonexistent.onnx"} << "nonexistent.onnx";
    QTest::newRow("no such tensor")
        << QStringList{"annotate", m_model, "--mesh", "tp=2", "--shard", "w3:1=tp", "-o", out}
        << "w1";
    QTest::newRow("no such axis") << QStringList{"annotate", m_model,   "--mesh", "tp=2",
                                                 "--shard",  "w1:1=dp", "-o",     out}
                                  << "dp";
    QTest::newRow("bad binding") << QStringList{"check", m_model, "--bind", "batch"} << "DIM=N";
    QTest::newRow("no such configuration")
        << QStringList{"check", m_model, "--config", "other"} << "other";
}

void TstCliMlp::badUsageExitsWithTwo() {
    QFETCH(QStringList, arguments);
    QFETCH(QString, words);
    const CliResult result = runCli(arguments);
    QCOMPARE(result.exitCode, 2);
    QVERIFY2(result.err.contains(words), qPrintable(result.err));
    QVERIFY(!QFile::exists(m_dir.filePath("never.onnx")));
}

QTEST_GUILESS_MAIN(TstCliMlp)
#include "tst_cli_mlp.moc"
