// SPDX-License-Identifier: Apache-2.0
#include "ui/window/recovery.h"

#include "support/ui/editor_fixture.h"

#include <QDir>
#include <QSignalSpy>
#include <QTest>

#include <memory>
#include <optional>

using namespace shardwright;
using namespace shardwright::test;

namespace {

/// A window's worth: a session that keeps a copy at once.
struct Editor {
    EditorSession session;
    Recovery recovery{&session};
    QSignalSpy offered{&recovery, &Recovery::offered};
    QSignalSpy written{&recovery, &Recovery::written};

    Editor() { recovery.setDelay(1); }
};

}  // namespace

class TstRecovery : public QObject {
    Q_OBJECT
private slots:
    void init() {
        m_box.emplace();
        m_path = m_box->write("m.onnx", mlp().bytes());
    }
    void cleanup() { m_box.reset(); }

    void unsavedAnnotationsAreOfferedAfterAnUnexpectedEnd() {
        editAndVanish();
        Editor editor;
        QVERIFY(openAndAnalyse(editor.session, m_path));
        QTRY_COMPARE(editor.offered.count(), 1);
        QVERIFY(!editor.session.isModified());
        editor.recovery.restore();
        QVERIFY(editor.session.isModified());
        QVERIFY(waitForAnalysis(editor.session));
        QCOMPARE(editor.session.analysis()->configuration.mesh.text(), std::string("tp=2"));
        editor.session.undoStack()->undo();
        QVERIFY(!editor.session.isModified());
    }
    void theyAreOfferedAgainUntilSavedOrDiscarded() {
        editAndVanish();
        for (int i = 0; i < 2; ++i) {
            Editor editor;
            QVERIFY(openAndAnalyse(editor.session, m_path));
            QTRY_COMPARE(editor.offered.count(), 1);
        }
        {
            Editor editor;
            QVERIFY(openAndAnalyse(editor.session, m_path));
            QTRY_COMPARE(editor.offered.count(), 1);
            editor.recovery.restore();
        }
        {
            Editor editor;
            QVERIFY(openAndAnalyse(editor.session, m_path));
            QTRY_COMPARE(editor.offered.count(), 1);
            editor.recovery.discard();
        }
        expectNoOffer();
    }
    void savingEndsIt() {
        Editor editor;
        QVERIFY(openAndAnalyse(editor.session, m_path));
        addMesh(editor.session);
        QTRY_VERIFY(editor.written.count() > 0);
        QCOMPARE(copies(), 1);
        QSignalSpy saved(&editor.session, &EditorSession::saved);
        editor.session.save(m_path);
        QTRY_COMPARE(saved.count(), 1);
        QCOMPARE(copies(), 0);
    }
    void aSecondWindowIsNotOfferedWhatTheFirstWorksOn() {
        Editor first;
        QVERIFY(openAndAnalyse(first.session, m_path));
        addMesh(first.session);
        QTRY_VERIFY(first.written.count() > 0);
        Editor second;
        QVERIFY(openAndAnalyse(second.session, m_path));
        addMesh(second.session, {{{"dp", 4}}});
        QTRY_VERIFY(second.written.count() > 0);
        QCOMPARE(second.offered.count(), 0);
        QCOMPARE(copies(), 2);
    }
    void aFileWithOtherContentsIsNotOffered() {
        editAndVanish();
        m_box->write("m.onnx", mlp().op("Relu", {"y"}, {"z"}).output("z").bytes());
        expectNoOffer();
        // It comes back when the contents do.
        m_box->write("m.onnx", mlp().bytes());
        Editor editor;
        QVERIFY(openAndAnalyse(editor.session, m_path));
        QTRY_COMPARE(editor.offered.count(), 1);
    }
    void aBrokenCopyIsIgnored() {
        editAndVanish();
        const QDir folder(Recovery::folder());
        for (const QString& name : folder.entryList({"*.recovery"})) {
            QFile file(folder.filePath(name));
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write("broken");
        }
        expectNoOffer();
    }
    void nothingIsWrittenWithoutEdits() {
        Editor editor;
        QVERIFY(openAndAnalyse(editor.session, m_path));
        QTest::qWait(30);
        QCOMPARE(copies(), 0);
    }

private:
    static int copies() {
        return static_cast<int>(QDir(Recovery::folder()).entryList({"*.recovery"}).size());
    }
    void editAndVanish() {
        Editor editor;
        QVERIFY(openAndAnalyse(editor.session, m_path));
        addMesh(editor.session);
        QTRY_VERIFY(editor.written.count() > 0);
    }
    void expectNoOffer() {
        Editor editor;
        QVERIFY(openAndAnalyse(editor.session, m_path));
        QTRY_VERIFY(!editor.session.jobs()->isRunning(JobTracker::Kind::Recovery));
        QCOMPARE(editor.offered.count(), 0);
    }

    std::optional<Sandbox> m_box;
    QString m_path;
};

QTEST_MAIN(TstRecovery)
#include "tst_recovery.moc"
