// SPDX-License-Identifier: Apache-2.0
// `shardwright --screenshot`, as scripts use it.
#include "support/model_builder.h"

#include <QFileInfo>
#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardwright::test;

class TstEditorPictures : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        if (!QFileInfo::exists(program()))
            QSKIP("built without the editor");
        QVERIFY(ModelBuilder{}
                    .input("x", {4})
                    .op("Relu", {"x"}, {"y"})
                    .output("y", {4})
                    .document()
                    .save(m_folder.filePath("model.onnx").toStdString()));
    }

    void aPictureIsTakenAndNothingRemembered() {
        const QString picture = m_folder.filePath("picture.png");
        QCOMPARE(run({m_folder.filePath("model.onnx"), "--screenshot", picture}), 0);
        QVERIFY(QFileInfo(picture).size() > 1000);
        QFile settings(m_folder.filePath("shardwright/shardwright.conf"));
        QVERIFY(!settings.open(QIODevice::ReadOnly) || !settings.readAll().contains("model.onnx"));
    }

    void aModelThatIsNotThereIsAnError() {
        const QString picture = m_folder.filePath("none.png");
        QCOMPARE(run({m_folder.filePath("none.onnx"), "--screenshot", picture}), 2);
        QVERIFY2(m_words.contains("none.onnx"), m_words.constData());
        QVERIFY(!QFileInfo::exists(picture));
    }

private:
    static QString program() { return qEnvironmentVariable("SHARDWRIGHT_BIN") + "/shardwright"; }
    int run(const QStringList& arguments) {
        QProcess process;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert("XDG_CONFIG_HOME", m_folder.path());
        environment.insert("XDG_DATA_HOME", m_folder.path());
        environment.insert("QT_QPA_PLATFORM", "offscreen");
        process.setProcessEnvironment(environment);
        process.start(program(), arguments);
        if (!process.waitForFinished(100000)) {
            process.kill();
            process.waitForFinished();
            return -1;
        }
        m_words = process.readAllStandardError();
        return process.exitCode();
    }

    QTemporaryDir m_folder;
    QByteArray m_words;
};

QTEST_GUILESS_MAIN(TstEditorPictures)
#include "tst_editor_pictures.moc"
