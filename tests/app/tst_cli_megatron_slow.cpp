// SPDX-License-Identifier: Apache-2.0
// Tensor parallelism as in Megatron on real exports: two all-reduces a layer follow from the
// weights alone.
#include "cli_process.h"

#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardwright::test;

namespace {

QStringList shards(const QStringList& specs) {
    QStringList arguments;
    for (const QString& spec : specs)
        arguments << "--shard" << spec;
    return arguments;
}

/// Query, gate and up by column, output and down by row; key and value by column where tp divides
/// the key heads.
QStringList llama(int tp) {
    QStringList specs{"#in1@MatMul!*/q_proj/*:1=tp", "#in1@MatMul!*/o_proj/*:0=tp",
                      "#in1@MatMul!*/gate_proj/*:1=tp", "#in1@MatMul!*/up_proj/*:1=tp",
                      "#in1@MatMul!*/down_proj/*:0=tp"};
    if (2 % tp == 0)
        specs << "#in1@MatMul!*/k_proj/*:1=tp"
              << "#in1@MatMul!*/v_proj/*:1=tp";
    return shards(specs);
}

QStringList bert() {
    return shards({"#in1@MatMul!*/self/query/*:1=tp", "#in1@MatMul!*/self/key/*:1=tp",
                   "#in1@MatMul!*/self/value/*:1=tp", "#in1@MatMul!*/attention/output/dense/*:0=tp",
                   "#in1@MatMul!*/intermediate/dense/*:1=tp",
                   "#in1@MatMul!*layer.?/output/dense/*:0=tp"});
}

}  // namespace

class TstCliMegatronSlow : public QObject {
    Q_OBJECT
private slots:
    void initTestCase();
    void twoAllReducesALayerAndNothingElse_data();
    void twoAllReducesALayerAndNothingElse();

private:
    QString m_models;
    QTemporaryDir m_dir;
};

void TstCliMegatronSlow::initTestCase() {
    m_models = qEnvironmentVariable("SHARDWRIGHT_SHARED") + "/models/";
    if (!QFile::exists(m_models + "llama_4l_gqa_legacy.onnx"))
        QSKIP("megatron: the shared models are not here");
}

void TstCliMegatronSlow::twoAllReducesALayerAndNothingElse_data() {
    QTest::addColumn<QString>("model");
    QTest::addColumn<QString>("mesh");
    QTest::addColumn<QStringList>("specs");
    QTest::addColumn<int>("layers");
    QTest::addColumn<int>("groups");
    QTest::addColumn<QString>("maskNode");
    const auto rows = [](const QString& model, int layers, auto specs, const QString& head,
                         const QString& maskNode) {
        const auto row = [&](const QString& what, const QString& mesh, const QStringList& s,
                             int groups, const QString& mask) {
            QTest::newRow(qPrintable(model + " " + what))
                << model << mesh << s << layers << groups << mask;
        };
        row("tp=2", "tp=2", specs(2), 1, {});
        row("tp=4", "tp=4", specs(4), 1, {});
        if (!head.isEmpty())
            row("tp=2 with the head", "tp=2", specs(2) + shards({head}), 1, {});
        row("dp=2,tp=2", "dp=2,tp=2", specs(2) + shards({"input_ids:0=dp"}), 2, {});
        row("dp=2,tp=2 with the mask", "dp=2,tp=2",
            specs(2) + shards({"input_ids:0=dp", "attention_mask:0=dp"}), 2, maskNode);
    };
    const auto bertSpecs = [](int) { return bert(); };
    rows("llama_4l_gqa_legacy", 4, llama, "#in1@MatMul!*lm_head*:1=tp", "/m/model/Gather_4");
    rows("llama_32l_gqa_legacy", 32, llama, "#in1@MatMul!*lm_head*:1=tp", "/m/model/Gather_4");
    rows("bert_4l_dynamo", 4, bertSpecs, {}, "node_GatherND_48");
}

void TstCliMegatronSlow::twoAllReducesALayerAndNothingElse() {
    QFETCH(QString, model);
    QFETCH(QString, mesh);
    QFETCH(QStringList, specs);
    QFETCH(int, layers);
    QFETCH(int, groups);
    QFETCH(QString, maskNode);
    const QString out = m_dir.filePath("annotated.onnx");
    const CliResult annotated = runCli(
        QStringList{"annotate", m_models + model + ".onnx", "--mesh", mesh, "-o", out} + specs);
    QVERIFY2(annotated.exitCode == 0, qPrintable(annotated.err));
    const CliResult checked = runCli({"check", out});
    QVERIFY2(checked.exitCode == 0, checked.out.constData());
    int sums = 0, masks = 0;
    for (const QJsonValue& value :
         runCli({"comm", out, "--format", "json"}).json()["collectives"].toArray()) {
        const QJsonObject entry = value.toObject();
        QCOMPARE(entry["kind"].toString(), "all-reduce");
        QCOMPARE(entry["groups"].toArray().size(), groups);
        const bool mask = entry["reduce"].toString() == "or";
        QCOMPARE(entry["axes"].toArray(), (QJsonArray{mask ? "dp" : "tp"}));
        if (mask) {
            QCOMPARE(entry["node"].toObject()["name"].toString(), maskNode);
            QCOMPARE(entry["type"].toString(), "BOOL");
        }
        (mask ? masks : sums) += 1;
    }
    QCOMPARE(sums, 2 * layers);
    QCOMPARE(masks, maskNode.isEmpty() ? 0 : 1);
    const CliResult run = runCli({"run", out, "--verify", "--format", "json"});
    QVERIFY2(run.exitCode == 0, qPrintable(run.err));
    const QJsonObject json = run.json();
    QCOMPARE(json["verified"].toBool(), true);
    QCOMPARE(json["predicted"], json["executed"]);
    for (const QJsonValue& output : json["outputs"].toArray())
        QVERIFY(output.toObject()["max_rel"].toDouble() <= 1e-5);
}

QTEST_GUILESS_MAIN(TstCliMegatronSlow)
#include "tst_cli_megatron_slow.moc"
