// SPDX-License-Identifier: Apache-2.0
// Every real model with its batch over 2, 3, 4 and 8 devices: verified, and what was executed is
// what was predicted. Prints the table.
#include "cli_process.h"
#include "support/shared_files.h"

#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardwright::test;

namespace {

/// Cannot be run, or has nothing that is a batch; docs/runs.md has the same list.
const QMap<QString, QString> kNotApplicable{
    {"onnx_light_resnet50", "its batch is fixed at 1"},
    {"loop_if_legacy_script", "its one batch is read by a Loop whose state depends on all of it"},
    {"silero_vad__silero_vad", "its batch is tied to a state, and dimensions of 8 break a Pad"},
    {"magika__standard_v3_3 dp=8",
     "kernels round a batch of one otherwise, which its normalisations enlarge to 6e-4"},
};

/// `--shard NAME:0=dp` for inputs whose first dimension is a symbol.
QStringList batchShards(const QJsonObject& info) {
    QStringList arguments;
    for (const QJsonValue& value : info["inputs"].toArray()) {
        const QJsonArray shape = value.toObject()["shape"].toArray();
        if (!shape.isEmpty() && shape[0].isString())
            arguments << "--shard" << value.toObject()["name"].toString() + ":0=dp";
    }
    return arguments;
}

}  // namespace

class TstCliModelsSlow : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        if (sharedModels().empty())
            QSKIP("models: the shared models are not here");
    }
    void everyModelRunsDataParallel_data() {
        QTest::addColumn<QString>("path");
        QTest::addColumn<int>("devices");
        for (const auto& path : sharedModels())
            for (const int devices : {2, 3, 4, 8})
                QTest::addRow("%s dp=%d", path.stem().c_str(), devices)
                    << QString::fromStdString(path.string()) << devices;
    }
    void everyModelRunsDataParallel() {
        QFETCH(QString, path);
        QFETCH(int, devices);
        const QString model = QFileInfo(path).completeBaseName();
        const QString row = QString("%1 dp=%2").arg(model).arg(devices);
        if (const QString reason = kNotApplicable.value(model, kNotApplicable.value(row));
            !reason.isEmpty()) {
            qInfo("%s: n/a, %s", qPrintable(row), qPrintable(reason));
            return;
        }
        const QJsonObject info = runCli({"info", path, "--format", "json"}).json();
        const QStringList shards = batchShards(info);
        QVERIFY2(!shards.isEmpty(), "no input has a batch");
        const QString out = m_folder.filePath("dp.onnx");
        const CliResult annotated = runCli(
            QStringList{"annotate", path, "--mesh", QString("dp=%1").arg(devices), "-o", out} +
            shards);
        QVERIFY2(annotated.exitCode == 0, qPrintable(annotated.err));
        const CliResult run = runCli({"run", out, "--verify", "--format", "json"});
        QVERIFY2(run.exitCode == 0, qPrintable(run.err + run.out.right(600)));
        const QJsonObject json = run.json();
        QCOMPARE(json["verified"].toBool(), true);
        QCOMPARE(json["predicted"], json["executed"]);
        double worst = 0;
        for (const QJsonValue& output : json["outputs"].toArray())
            worst = std::max(worst, output.toObject()["max_rel"].toDouble());
        QStringList kinds;
        const QJsonObject executed = json["executed"].toObject();
        for (auto it = executed.begin(); it != executed.end(); ++it)
            kinds << QString("%1 %2").arg(it->toObject()["count"].toInt()).arg(it.key());
        qInfo("%s: verified, %.1e; %s", qPrintable(row), worst,
              kinds.isEmpty() ? "no collective" : qPrintable(kinds.join(", ")));
    }

private:
    QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(TstCliModelsSlow)
#include "tst_cli_models_slow.moc"
