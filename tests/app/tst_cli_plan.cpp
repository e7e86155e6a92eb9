// SPDX-License-Identifier: Apache-2.0
// What `plan` writes, driven by onnxruntime and numpy alone.
#include "cli_process.h"

#include "support/model_builder.h"

#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardwright::test;

namespace {

ModelBuilder convolution() {
    return ModelBuilder(17)
        .input("x", {2, 3, 9, 11})
        .weight("w", {4, 3, 3, 3})
        .op("Tanh", {"x"}, {"t"}, "tanh")
        .op("Conv", {"t", "w"}, {"c"}, "conv", {{"pads", {1, 1, 1, 1}}})
        .op("Relu", {"c"}, {"y"}, "relu")
        .output("y", {2, 4, 9, 11});
}

/// 10 rows and columns over 4 devices: 3, 3, 3 and 1.
ModelBuilder uneven() {
    return ModelBuilder(17)
        .input("x", {10, 6})
        .weight("w1", {6, 10})
        .weight("w2", {10, 5})
        .op("MatMul", {"x", "w1"}, {"h"}, "mm1")
        .op("Tanh", {"h"}, {"a"}, "act")
        .op("MatMul", {"a", "w2"}, {"y"}, "mm2")
        .output("y", {10, 5});
}

/// A model that reads one weight on both devices, and one that is split.
ModelBuilder wide() {
    return ModelBuilder(17)
        .input("x", {4, 64})
        .weight("table", {64, 64})
        .weight("w", {64, 128})
        .op("MatMul", {"x", "table"}, {"h"}, "whole")
        .op("MatMul", {"h", "w"}, {"y"}, "split")
        .output("y", {4, 128});
}

QStringList bert() {
    QStringList arguments;
    for (const char* spec :
         {"#in1@MatMul!*/self/query/*:1=tp", "#in1@MatMul!*/self/key/*:1=tp",
          "#in1@MatMul!*/self/value/*:1=tp", "#in1@MatMul!*/attention/output/dense/*:0=tp",
          "#in1@MatMul!*/intermediate/dense/*:1=tp", "#in1@MatMul!*layer.?/output/dense/*:0=tp"})
        arguments << "--shard" << spec;
    return arguments;
}

QStringList keysOf(const QJsonValue& object) {
    return object.toObject().keys();
}

}  // namespace

class TstCliPlan : public QObject {
    Q_OBJECT
private slots:
    void aStrangerGetsTheResultOfOneDevice_data();
    void aStrangerGetsTheResultOfOneDevice();
    void theJsonIsAsDocumented();
    void largeWeightsLieBesideTheModelsAndSharedOnesOnce();
    void aModelWithErrorsIsRefused();
    void aFolderThatExistsIsRefused();
    void forceReplacesAPlanAndNothingElse();
    void whatFailsLeavesNothing();

private:
    QString write(const ModelBuilder& model);
    QString annotated(const QString& model, const QStringList& arguments);
    QString plan(const QString& model, const QStringList& arguments = {});
    QByteArray drive(const QString& folder, const QString& model);
    QJsonObject read(const QString& folder) const;

    QTemporaryDir m_dir;
    int m_files = 0;
};

QString TstCliPlan::write(const ModelBuilder& model) {
    const QString path = m_dir.filePath(QString("m%1.onnx").arg(++m_files));
    QFile file(path);
    if (file.open(QIODevice::WriteOnly))
        file.write(QByteArray::fromStdString(model.bytes()));
    return path;
}

QString TstCliPlan::annotated(const QString& model, const QStringList& arguments) {
    const QString out = m_dir.filePath(QString("a%1.onnx").arg(++m_files));
    const CliResult result = runCli(QStringList{"annotate", model, "-o", out} + arguments);
    return result.exitCode == 0 ? out : QString("annotate failed: " + result.err);
}

/// The folder, or what went wrong.
QString TstCliPlan::plan(const QString& model, const QStringList& arguments) {
    const QString folder = m_dir.filePath(QString("plan%1").arg(++m_files));
    const CliResult result = runCli(QStringList{"plan", model, "-o", folder} + arguments);
    return result.exitCode == 0 ? folder : "plan failed: " + result.err;
}

/// What the script printed; empty: the outputs agree.
QByteArray TstCliPlan::drive(const QString& folder, const QString& model) {
    QProcess process;
    process.setProcessChannelMode(QProcess::MergedChannels);
    process.start(
        qEnvironmentVariable("SHARDWRIGHT_PYTHON"),
        {qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/tests/app/drive_plan.py", folder, model});
    if (!process.waitForFinished(100000))
        return "the script does not end";
    const QByteArray printed = process.readAll();
    return process.exitCode() == 0 && printed.startsWith("largest difference") ? QByteArray()
                                                                               : "> " + printed;
}

QJsonObject TstCliPlan::read(const QString& folder) const {
    QFile file(folder + "/plan.json");
    return file.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(file.readAll()).object()
                                          : QJsonObject();
}

void TstCliPlan::aStrangerGetsTheResultOfOneDevice_data() {
    QTest::addColumn<QString>("model");
    QTest::addColumn<QStringList>("annotations");
    QTest::addColumn<QStringList>("options");
    const QString mlp = qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/resources/examples/mlp.onnx";
    const QStringList columnRow{"--mesh", "tp=2", "--shard", "w1:1=tp", "--shard", "w2:0=tp"};
    QTest::newRow("mlp, all-reduce") << mlp << columnRow << QStringList();
    QTest::newRow("mlp, reduce-scatter")
        << mlp << columnRow + QStringList{"--shard", "y:1=tp"} << QStringList();
    QTest::newRow("mlp, weights beside") << mlp << columnRow << QStringList{"--most-inside", "0"};
    QTest::newRow("convolution with borders")
        << write(convolution()) << QStringList{"--mesh", "sp=2", "--shard", "x:2=sp"}
        << QStringList();
    QTest::newRow("uneven rows and columns")
        << write(uneven())
        << QStringList{"--mesh", "tp=4", "--shard", "w1:1=tp", "--shard", "w2:0=tp"}
        << QStringList();
    QTest::newRow("uneven batch, gathered")
        << write(uneven())
        << QStringList{"--mesh", "dp=3", "--shard", "x:0=dp", "--shard", "a@mm2:replicated"}
        << QStringList{"--most-inside", "0"};
    const QString models = qEnvironmentVariable("SHARDWRIGHT_SHARED") + "/models/";
    if (QFile::exists(models + "bert_4l_dynamo.onnx"))
        QTest::newRow("a transformer of four layers")
            << models + "bert_4l_dynamo.onnx" << QStringList{"--mesh", "tp=2"} + bert()
            << QStringList{"--most-inside", "100000"};
}

void TstCliPlan::aStrangerGetsTheResultOfOneDevice() {
    QFETCH(QString, model);
    QFETCH(QStringList, annotations);
    QFETCH(QStringList, options);
    if (qEnvironmentVariableIsEmpty("SHARDWRIGHT_PYTHON"))
        QSKIP("needs SHARDWRIGHT_PYTHON with onnxruntime");
    const QString folder = plan(annotated(model, annotations), options);
    QVERIFY2(!read(folder).isEmpty(), qPrintable(folder));
    int exchanges = 0;
    for (const QJsonValue& phase : read(folder)["phases"].toArray())
        exchanges += phase.toObject()["exchanges"].toArray().size();
    QVERIFY(exchanges > 0);
    const QByteArray wrong = drive(folder, model);
    QVERIFY2(wrong.isEmpty(), wrong);
}

void TstCliPlan::theJsonIsAsDocumented() {
    const QString folder =
        plan(annotated(write(uneven()), {"--mesh", "tp=2", "--shard", "w1:1=tp", "--shard",
                                         "w2:0=tp", "--shard", "y:1=tp"}));
    const QJsonObject json = read(folder);
    QVERIFY2(!json.isEmpty(), qPrintable(folder));
    QCOMPARE(keysOf(json), (QStringList{"bindings", "configuration", "devices", "format", "inputs",
                                        "mesh", "outputs", "phases", "version"}));
    QCOMPARE(json["format"].toString(), "shardwright-plan");
    QCOMPARE(json["version"].toInt(), 1);
    QCOMPARE(json["mesh"].toString(), "tp=2");
    const QJsonObject device = json["devices"].toArray()[1].toObject();
    QCOMPARE(device.keys(), (QStringList{"device", "name", "tensors", "weight_bytes"}));
    QCOMPARE(device["device"].toInt(), 1);
    for (const QJsonValue& tensor : device["tensors"].toObject())
        QCOMPARE(keysOf(tensor), (QStringList{"box", "shape", "tensor", "term", "type"}));
    for (const QString& ports : {QString("inputs"), QString("outputs")})
        for (const QJsonValue& port : json[ports].toArray()) {
            QCOMPARE(keysOf(port), (QStringList{"name", "shape", "tensors", "type"}));
            QCOMPARE(port.toObject()["tensors"].toArray().size(), 2);
        }
    const QJsonObject output = json["outputs"].toArray()[0].toObject();
    const QString held = output["tensors"].toArray()[1].toArray()[0].toString();
    const QJsonObject y = device["tensors"].toObject()[held].toObject();
    QCOMPARE(y["box"].toArray(),
             (QJsonArray{QJsonArray{QJsonArray{0, 10}}, QJsonArray{QJsonArray{3, 5}}}));
    QCOMPARE(y["shape"].toArray(), (QJsonArray{10, 2}));
    QCOMPARE(y["tensor"].toString(), "y");
    QCOMPARE(y["type"].toString(), "FLOAT");
    int exchanges = 0;
    for (const QJsonValue& phase : json["phases"].toArray()) {
        QCOMPARE(keysOf(phase), (QStringList{"copies", "exchanges", "segments"}));
        for (const QJsonValue& copy : phase.toObject()["copies"].toArray())
            QCOMPARE(keysOf(copy), (QStringList{"device", "reduce", "sources", "target"}));
        for (const QJsonValue& segment : phase.toObject()["segments"].toArray()) {
            QCOMPARE(keysOf(segment), (QStringList{"beside_exchanges", "device", "file", "inputs",
                                                   "nodes", "outputs"}));
            QVERIFY(QFile::exists(folder + "/" + segment.toObject()["file"].toString()));
        }
        for (const QJsonValue& value : phase.toObject()["exchanges"].toArray()) {
            const QJsonObject exchange = value.toObject();
            QCOMPARE(exchange.keys(), (QStringList{"bytes", "devices", "kind", "node", "phase",
                                                   "reduce", "sources", "targets", "tensor"}));
            QCOMPARE(exchange["kind"].toString(), "reduce-scatter");
            QCOMPARE(exchange["reduce"].toString(), "sum");
            QCOMPARE(exchange["devices"].toArray(), (QJsonArray{0, 1}));
            QCOMPARE(exchange["sources"].toArray().size(), 2);
            ++exchanges;
        }
    }
    QCOMPARE(exchanges, 1);
}

void TstCliPlan::largeWeightsLieBesideTheModelsAndSharedOnesOnce() {
    const QString model = write(wide());
    const QString folder =
        plan(annotated(model, {"--mesh", "tp=2", "--shard", "w:1=tp"}), {"--most-inside", "1000"});
    QVERIFY2(!read(folder).isEmpty(), qPrintable(folder));
    QCOMPARE(QFileInfo(folder + "/shared.weights").size(), 64 * 64 * 4);
    for (const char* own : {"/device_0.weights", "/device_1.weights"})
        QCOMPARE(QFileInfo(folder + own).size(), 64 * 64 * 4);
    QVERIFY(QFileInfo(folder + "/device_0_phase_0.onnx").size() < 4096);
    QCOMPARE(read(folder)["devices"].toArray()[0].toObject()["weight_bytes"].toInt(),
             2 * 64 * 64 * 4);
    if (qEnvironmentVariableIsEmpty("SHARDWRIGHT_PYTHON"))
        QSKIP("needs SHARDWRIGHT_PYTHON with onnxruntime");
    const QByteArray wrong = drive(folder, model);
    QVERIFY2(wrong.isEmpty(), wrong);
}

void TstCliPlan::aModelWithErrorsIsRefused() {
    const QString folder = m_dir.filePath("refused");
    const QString model =
        annotated(write(uneven()), {"--mesh", "tp=2", "--shard", "w1:1=tp", "--shard", "w2:1=tp"});
    const CliResult result = runCli({"plan", model, "-o", folder});
    QCOMPARE(result.exitCode, 1);
    QVERIFY2(result.err.contains("SW3"), qPrintable(result.err));
    QVERIFY(!QFile::exists(folder));
}

void TstCliPlan::aFolderThatExistsIsRefused() {
    const QString model = annotated(write(uneven()), {"--mesh", "tp=2", "--shard", "w1:1=tp"});
    const QString folder = plan(model);
    const CliResult result = runCli({"plan", model, "-o", folder});
    QCOMPARE(result.exitCode, 2);
    QVERIFY2(result.err.contains("--force"), qPrintable(result.err));
    QVERIFY(!read(folder).isEmpty());
}

void TstCliPlan::forceReplacesAPlanAndNothingElse() {
    const QString source = write(uneven());
    const QString folder = plan(annotated(source, {"--mesh", "tp=4", "--shard", "w1:1=tp"}));
    const QString model = annotated(source, {"--mesh", "tp=2", "--shard", "w1:1=tp"});
    QCOMPARE(runCli({"plan", model, "-o", folder, "--force"}).exitCode, 0);
    QCOMPARE(read(folder)["devices"].toArray().size(), 2);
    QVERIFY(!QFile::exists(folder + "/device_3_phase_0.onnx"));

    QDir(m_dir.path()).mkpath("mine");
    QFile mine(m_dir.filePath("mine/letter.txt"));
    QVERIFY(mine.open(QIODevice::WriteOnly));
    const CliResult result = runCli({"plan", model, "-o", m_dir.filePath("mine"), "--force"});
    QCOMPARE(result.exitCode, 2);
    QVERIFY2(result.err.contains("no plan"), qPrintable(result.err));
    QVERIFY(mine.exists());
}

void TstCliPlan::whatFailsLeavesNothing() {
    QTemporaryDir dir;
    const QString data = dir.filePath("w.data");
    QFile file(data);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(QByteArray(64 * 64 * 4, '\0'));
    file.close();
    const QString model = dir.filePath("m.onnx");
    QFile out(model);
    QVERIFY(out.open(QIODevice::WriteOnly));
    out.write(QByteArray::fromStdString(ModelBuilder(17)
                                            .input("x", {4, 64})
                                            .externalWeight("w", {64, 64}, "w.data")
                                            .op("MatMul", {"x", "w"}, {"y"}, "mm")
                                            .output("y", {4, 64})
                                            .bytes()));
    out.close();
    const QString folder = dir.filePath("plan");
    QCOMPARE(runCli({"plan", model, "-o", folder}).exitCode, 0);
    QVERIFY(QDir(folder).removeRecursively());
    QVERIFY(QFile::resize(data, 100));
    const QStringList before = QDir(dir.path()).entryList(QDir::AllEntries | QDir::Hidden);
    const CliResult result = runCli({"plan", model, "-o", folder});
    QVERIFY(result.exitCode != 0);
    QVERIFY2(result.err.contains("w.data"), qPrintable(result.err));
    QCOMPARE(QDir(dir.path()).entryList(QDir::AllEntries | QDir::Hidden), before);
}

QTEST_GUILESS_MAIN(TstCliPlan)
#include "tst_cli_plan.moc"
