// SPDX-License-Identifier: Apache-2.0
// Windows over a split axis: the borders of the shards are exchanged, and the numbers are those of
// one device.
#include "cli_process.h"
#include "support/model_builder.h"

#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardwright::test;

class TstCliWindows : public QObject {
    Q_OBJECT
private slots:
    void borderElementsAreExchanged();
    void windowsOverASplitAxisAreExact_data();
    void windowsOverASplitAxisAreExact();
    void framesOfASplitSignal();
    void interleavedShardsAreRefused();

private:
    QString annotated(const ModelBuilder& builder, const QStringList& arguments);

    QTemporaryDir m_dir;
    int m_files = 0;
};

QString TstCliWindows::annotated(const ModelBuilder& builder, const QStringList& arguments) {
    const QString path = m_dir.filePath(QString("m%1.onnx").arg(++m_files));
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly))
        return {};
    file.write(QByteArray::fromStdString(builder.bytes()));
    file.close();
    const QString out = m_dir.filePath(QString("m%1.onnx").arg(++m_files));
    const CliResult result =
        runCli(QStringList{"annotate", path} + arguments + QStringList{"-o", out});
    return result.exitCode == 0 ? out : "annotate failed: " + result.err;
}

void TstCliWindows::borderElementsAreExchanged() {
    const QString model =
        annotated(ModelBuilder()
                      .input("i", {2, 4, 12, 6})
                      .weight("w", {3, 4, 3, 3})
                      .op("Relu", {"i"}, {"x"})
                      .op("Conv", {"x", "w"}, {"y"}, "conv", {{"pads", {1, 1, 1, 1}}})
                      .output("y", {2, 3, 12, 6}),
                  {"--mesh", "sp=3", "--shard", "i:2=sp"});
    QCOMPARE(runCli({"check", model}).exitCode, 0);
    const QJsonObject json = runCli({"comm", model, "--format", "json"}).json();
    const QJsonArray list = json["collectives"].toArray();
    QCOMPARE(list.size(), 1);
    const QJsonObject entry = list[0].toObject();
    QCOMPARE(entry["kind"].toString(), "region");
    QCOMPARE(entry["phase"].toString(), "input");
    QCOMPARE(entry["tensor"].toString(), "x");
    QCOMPARE(entry["axes"].toArray(), (QJsonArray{"sp"}));
    QVERIFY2(entry["cause"].toString().contains("windows of 3, 1 apart, read neighbours"),
             qPrintable(entry["cause"].toString()));
    // Two borders, each crossed by a row of 2 * 4 * 6 elements in both directions.
    QCOMPARE(json["total_bytes"].toInt(), 2 * 2 * (2 * 4 * 6) * 4);
}

void TstCliWindows::windowsOverASplitAxisAreExact_data() {
    QTest::addColumn<QString>("op");
    QTest::addColumn<int>("size");
    QTest::addColumn<int>("kernel");
    QTest::addColumn<int>("stride");
    QTest::addColumn<int>("dilation");
    QTest::addColumn<QString>("padding");
    QTest::addColumn<QString>("mesh");
    QTest::addColumn<QString>("shard");
    int number = 0;
    const auto row = [&](const char* op, int size, int kernel, int stride, int dilation,
                         const char* padding, const char* mesh, const char* shard) {
        QTest::addRow("%d %s", ++number, op)
            << op << size << kernel << stride << dilation << padding << mesh << shard;
    };
    for (const char* op : {"Conv", "MaxPool", "AveragePool", "LpPool"})
        for (const char* mesh : {"a=2", "a=3"}) {
            row(op, 12, 3, 1, 1, "1,1", mesh, "i:2=a");
            row(op, 13, 3, 1, 1, "0,0", mesh, "i:2=a");  // Uneven.
            row(op, 12, 5, 2, 1, "2,1", mesh, "i:2=a");
            row(op, 11, 1, 2, 1, "0,0", mesh, "i:2=a");
            row(op, 12, 3, 1, 1, "SAME_UPPER", mesh, "i:2=a");
            row(op, 11, 4, 3, 1, "SAME_LOWER", mesh, "i:2=a");
        }
    row("Conv", 16, 3, 1, 2, "2,2", "a=4", "i:2=a");
    row("Conv", 9, 5, 1, 1, "2,2", "a=4", "i:2=a");  // The halo is longer than the shards.
    row("Conv", 12, 3, 1, 1, "1,1", "a=2,b=2", "i:2=a,3=b");
    row("Conv", 12, 3, 1, 1, "1,1", "a=2,b=2", "i:0=a,2=b");
    row("Conv", 12, 3, 1, 1, "1,1", "a=2,b=2", "i:1=a,2=b");
    row("MaxPool", 12, 3, 2, 1, "1,1", "a=2,b=3", "i:2=a,3=b");
}

void TstCliWindows::windowsOverASplitAxisAreExact() {
    QFETCH(QString, op);
    QFETCH(int, size);
    QFETCH(int, kernel);
    QFETCH(int, stride);
    QFETCH(int, dilation);
    QFETCH(QString, padding);
    QFETCH(QString, mesh);
    QFETCH(QString, shard);
    const std::string name = op.toStdString();
    std::vector<Attribute> attributes{{"strides", {stride, 1}}};
    if (op == "Conv" || op == "MaxPool")
        attributes.push_back({"dilations", {dilation, 1}});
    if (padding.contains(','))
        attributes.push_back(
            {"pads",
             {padding.split(',')[0].toLongLong(), 1, padding.split(',')[1].toLongLong(), 1}});
    else
        attributes.push_back({"auto_pad", padding.toStdString()});
    if (op == "AveragePool" && size % 2 == 0)
        attributes.push_back({"count_include_pad", 1});
    ModelBuilder builder;
    builder.input("i", {2, 4, size, 6}).op("Relu", {"i"}, {"x"});
    if (op == "Conv") {
        builder.weight("w", {3, 4, kernel, 3}).weight("b", {3});
        builder.op(name, {"x", "w", "b"}, {"y"}, "n", attributes);
    } else {
        attributes.push_back({"kernel_shape", {kernel, 3}});
        builder.op(name, {"x"}, {"y"}, "n", attributes);
    }
    QStringList arguments{"--mesh", mesh, "--shard", shard};
    if (shard.contains("1=a"))
        arguments << "--shard"
                  << "w:1=a";
    const QString model = annotated(builder.output("y"), arguments);
    const CliResult result = runCli({"run", model, "--verify", "--format", "json"});
    QVERIFY2(result.exitCode == 0, qPrintable(model + result.err + result.out));
    QCOMPARE(result.json()["verified"].toBool(), true);
    QCOMPARE(result.json()["predicted"], result.json()["executed"]);
    if (kernel > 1)
        QVERIFY(result.json()["executed"].toObject().contains("region"));
}

void TstCliWindows::framesOfASplitSignal() {
    for (const char* mesh : {"a=2", "a=3"}) {
        const QString model =
            annotated(ModelBuilder(17)
                          .input("i", {2, 33, 1})
                          .scalar("step", 4)
                          .weight("w", {8})
                          .op("Relu", {"i"}, {"x"})
                          .op("STFT", {"x", "step", "w"}, {"y"}, "stft", {{"onesided", 1}})
                          .output("y"),
                      {"--mesh", mesh, "--shard", "i:1=a"});
        const CliResult result = runCli({"run", model, "--verify", "--format", "json"});
        QVERIFY2(result.exitCode == 0, qPrintable(model + result.err + result.out));
        QCOMPARE(result.json()["verified"].toBool(), true);
        QCOMPARE(result.json()["predicted"], result.json()["executed"]);
        QVERIFY(result.json()["executed"].toObject().contains("region"));
    }
}

void TstCliWindows::interleavedShardsAreRefused() {
    const QString model = annotated(ModelBuilder()
                                        .input("i", {2, 4, 12})
                                        .weight("w", {3, 4, 3})
                                        .op("Relu", {"i"}, {"x"})
                                        .op("Conv", {"x", "w"}, {"y"}, "conv")
                                        .output("y"),
                                    {"--mesh", "a=2", "--shard", "i:2=3*a"});
    const CliResult result = runCli({"check", model});
    QCOMPARE(result.exitCode, 1);
    QVERIFY2(result.out.contains("windows of 3, 1 apart, read neighbours"), result.out.constData());
}

QTEST_GUILESS_MAIN(TstCliWindows)
#include "tst_cli_windows.moc"
