// SPDX-License-Identifier: Apache-2.0
// Every real and every generated model opens, draws, checks and saves unchanged; a line for each.
#include "check/analysis.h"
#include "support/shared_files.h"
#include "ui/canvas/export.h"

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardwright;
using namespace shardwright::test;

class TstEveryModelSlow : public QObject {
    Q_OBJECT
private slots:
    void everySharedModel();
    void everyGeneratedModel();

private:
    void goesThrough(const QString& path, int nodes, bool annotated);
};

void TstEveryModelSlow::goesThrough(const QString& path, int nodes, bool annotated) {
    QElapsedTimer timer;
    timer.start();
    const auto document = Document::open(path.toStdString());
    QVERIFY2(document, document ? "" : document.error().text().c_str());
    const auto opened = timer.restart();
    Analyser analyser;
    const auto analysis = analyser.run(*document, {});
    QVERIFY2(analysis, qPrintable(path));
    const auto checked = timer.restart();
    const auto scene = drawModel(document->model, true);
    const auto drawn = timer.restart();
    std::printf("%-28s nodes %6d drawn %6d edges %6d diagnostics %3d errors %d | open %lld ms, "
                "check %lld ms, draw %lld ms\n",
                qPrintable(QFileInfo(path).completeBaseName()), nodes, scene->drawnNodeCount(),
                static_cast<int>(document->graph().edgeCount()),
                static_cast<int>((*analysis)->diagnostics.size()),
                (*analysis)->count(Severity::Error), static_cast<long long>(opened),
                static_cast<long long>(checked), static_cast<long long>(drawn));
    std::fflush(stdout);
    QCOMPARE(scene->drawnNodeCount(), nodes);
    if (!annotated) {
        for (const Diagnostic& d : (*analysis)->diagnostics)
            QVERIFY2(d.severity != Severity::Error, d.message.c_str());
    }
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    const auto bytes = document->toBytes();
    QVERIFY(bytes);
    QVERIFY2(file.readAll() == QByteArray::fromStdString(*bytes),
             "saving without an edit changes the file");
}

void TstEveryModelSlow::everySharedModel() {
    const auto manifest = sharedFile("models/manifest.json");
    SKIP_WITHOUT(manifest, "models/manifest.json of the shared folder");
    QFile file(QString::fromStdString(manifest->string()));
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QJsonObject entries = QJsonDocument::fromJson(file.readAll()).object();
    QVERIFY(!entries.isEmpty());
    for (auto it = entries.begin(); it != entries.end(); ++it) {
        const QJsonObject entry = it.value().toObject();
        goesThrough(
            QString::fromStdString((manifest->parent_path() / it.key().toStdString()).string()),
            entry["nodes_incl_subgraphs"].toInt(), entry["annotated_nodes"].toInt() > 0);
        if (QTest::currentTestFailed())
            QFAIL(qPrintable(it.key()));
    }
}

void TstEveryModelSlow::everyGeneratedModel() {
    const auto generator = sharedFile("models/make_models.py");
    SKIP_WITHOUT(generator, "models/make_models.py of the shared folder");
    const QString python = qEnvironmentVariable("SHARDWRIGHT_PYTHON");
    if (python.isEmpty())
        QSKIP("everyGeneratedModel needs Python with onnx (SHARDWRIGHT_PYTHON)");
    QTemporaryDir folder;
    QProcess process;
    process.start(python,
                  {QString::fromStdString(generator->string()), "--out", folder.path(), "--all"});
    QVERIFY(process.waitForFinished(600000));
    QVERIFY2(process.exitCode() == 0, process.readAllStandardError().constData());
    QStringList models;
    for (const QString& name : QDir(folder.path()).entryList({"*.onnx"}))
        models << folder.filePath(name);
    QVERIFY(models.size() > 20);
    process.start(python, QStringList{QFINDTESTDATA("count_nodes.py")} + models);
    QVERIFY(process.waitForFinished(600000));
    const QStringList lines =
        QString::fromUtf8(process.readAllStandardOutput()).split('\n', Qt::SkipEmptyParts);
    QCOMPARE(lines.size(), models.size());
    for (const QString& line : lines) {
        const QString path = line.section(' ', 0, -2);
        goesThrough(path, line.section(' ', -1).toInt(), path.contains("annotated"));
        if (QTest::currentTestFailed())
            QFAIL(qPrintable(path));
    }
}

QTEST_MAIN(TstEveryModelSlow)
#include "tst_every_model_slow.moc"
