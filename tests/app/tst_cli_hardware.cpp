// SPDX-License-Identifier: Apache-2.0
// `comm --hardware`: predicted times, in all formats.
#include "cli_process.h"

#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardwright::test;

class TstCliHardware : public QObject {
    Q_OBJECT
private slots:
    void initTestCase();
    void collectivesGetTimesAndFormulas();
    void theTextShowsThem();
    void csvHasALineForEachCollective();
    void anInstalledProfileIsFoundByItsName();
    void fixesOfConflictsArePriced();
    void aProfileThatIsWrongIsRefused_data();
    void aProfileThatIsWrongIsRefused();

private:
    QString write(const QString& name, const QByteArray& text) {
        QFile file(m_folder.filePath(name));
        if (file.open(QIODevice::WriteOnly))
            file.write(text);
        return file.fileName();
    }
    QTemporaryDir m_folder;
    QString m_model, m_profile;
};

void TstCliHardware::initTestCase() {
    m_model = m_folder.filePath("tp.onnx");
    const CliResult result = runCli(
        {"annotate", qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/resources/examples/mlp.onnx",
         "--mesh", "tp=4", "--shard", "w1:1=tp", "--shard", "w2:0=tp", "-o", m_model});
    QVERIFY2(result.exitCode == 0, qPrintable(result.err));
    m_profile = write("p.json", R"({"format": "shardwright-hardware", "version": 1, "name": "wire",
        "links": [{"name": "wire", "latency_us": 2, "bytes_per_second": 1e9}]})");
}

void TstCliHardware::collectivesGetTimesAndFormulas() {
    const QJsonObject plain = runCli({"comm", m_model, "--format", "json"}).json();
    const CliResult result = runCli({"comm", m_model, "--hardware", m_profile, "--format", "json"});
    QCOMPARE(result.exitCode, 0);
    const QJsonArray collectives = result.json()["collectives"].toArray();
    QCOMPARE(collectives.size(), 1);
    QVERIFY(!plain["collectives"].toArray()[0].toObject().contains("predicted_us"));
    const QJsonObject entry = collectives[0].toObject();
    const double bytes = entry["bytes"].toDouble();
    QVERIFY(bytes > 0);
    // Four devices: the tree's 2 log2(4) a + 2 S/B is the smaller one for few bytes.
    const double expected = std::min(2 * 3 * 2 + 1.5 * bytes / 1000, 2 * 2 * 2 + 2 * bytes / 1000);
    QVERIFY2(std::abs(entry["predicted_us"].toDouble() - expected) < 1e-6,
             qPrintable(QString::number(entry["predicted_us"].toDouble())));
    QCOMPARE(entry["cost"].toObject()["devices"].toInt(), 4);
    QCOMPARE(entry["cost"].toObject()["latency_us"].toDouble(), 2.0);
    QCOMPARE(result.json()["predicted_us"].toDouble(), entry["predicted_us"].toDouble());
    QCOMPARE(result.json()["hardware"].toString(), "wire");
}

void TstCliHardware::fixesOfConflictsArePriced() {
    const QString model = m_folder.filePath("conflict.onnx");
    const CliResult annotated = runCli(
        {"annotate", qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/resources/examples/mlp.onnx",
         "--mesh", "tp=4", "--shard", "w1:1=tp", "--shard", "w2:1=tp", "-o", model});
    QVERIFY2(annotated.exitCode == 0, qPrintable(annotated.err));
    const auto fixes = [&](const QStringList& more) {
        const QJsonObject json =
            runCli(QStringList{"infer", model, "--mode", "propagate", "--format", "json"} + more)
                .json();
        return json["conflicts"].toArray()[0].toObject()["fixes"].toArray();
    };
    QVERIFY(!fixes({}).isEmpty());
    QVERIFY(fixes({})[0].toObject()["seconds"].isNull());
    for (const QJsonValue& fix : fixes({"--hardware", m_profile}))
        QVERIFY(fix.toObject()["bytes"].toDouble() == 0 ||
                fix.toObject()["seconds"].toDouble() > 0);
    QVERIFY(fixes({"--hardware", m_profile})[0].toObject()["seconds"].isDouble());
    QCOMPARE(runCli({"infer", model, "--mode", "propagate", "--hardware", "nothing"}).exitCode, 2);
}

void TstCliHardware::theTextShowsThem() {
    const CliResult result = runCli({"comm", m_model, "--hardware", m_profile});
    QVERIFY2(result.out.contains(" x 2 us + "), result.out.constData());
    QVERIFY(result.out.contains("hardware wire\n"));
    QVERIFY(result.out.contains("predicted: "));
    QVERIFY(!runCli({"comm", m_model}).out.contains("predicted"));
}

void TstCliHardware::csvHasALineForEachCollective() {
    const CliResult result = runCli({"comm", m_model, "--hardware", m_profile, "--format", "csv"});
    QCOMPARE(result.exitCode, 0);
    const QList<QByteArray> lines = result.out.trimmed().split('\n');
    QCOMPARE(lines.size(), 2);
    QCOMPARE(lines[0].trimmed(),
             QByteArray("kind,reduce,axes,groups,node,node_index,tensor,type,bytes,bytes_sent_max,"
                        "bytes_sent_total,phase,cause,predicted_us,formula"));
    QVERIFY2(lines[1].startsWith("all-reduce,sum,tp,0 1 2 3,"), lines[1].constData());
    // The formula has commas.
    QVERIFY2(lines[1].trimmed().endsWith(", wire\""), lines[1].constData());
    const CliResult plain = runCli({"comm", m_model, "--format", "csv"});
    QVERIFY(!plain.out.contains("predicted_us"));
}

void TstCliHardware::anInstalledProfileIsFoundByItsName() {
    const CliResult result =
        runCli({"comm", m_model, "--hardware", "dgx-h100", "--format", "json"});
    QVERIFY2(result.exitCode == 0, qPrintable(result.err));
    QCOMPARE(result.json()["collectives"].toArray()[0].toObject()["cost"].toObject()["link"],
             QJsonValue("NVLink 4"));
    const CliResult other = runCli({"comm", m_model, "--hardware", "dgx-h1000"});
    QCOMPARE(other.exitCode, 2);
    QVERIFY2(other.err.contains("dgx-h100"), qPrintable(other.err));
}

void TstCliHardware::aProfileThatIsWrongIsRefused_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("message");
    QTest::newRow("not JSON") << QByteArray("{\n,") << "bad.json:2: this is not JSON";
    QTest::newRow("no links") << QByteArray(R"({"format": "shardwright-hardware", "version": 1})")
                              << "bad.json:1: `links` must be a list of at least one link";
}

void TstCliHardware::aProfileThatIsWrongIsRefused() {
    QFETCH(QByteArray, text);
    QFETCH(QString, message);
    const CliResult result = runCli({"comm", m_model, "--hardware", write("bad.json", text)});
    QCOMPARE(result.exitCode, 2);
    QVERIFY2(result.err.contains(message), qPrintable(result.err));
}

QTEST_GUILESS_MAIN(TstCliHardware)
#include "tst_cli_hardware.moc"
