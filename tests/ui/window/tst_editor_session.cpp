// SPDX-License-Identifier: Apache-2.0
#include "ui/window/editor_session.h"

#include "check/assign.h"
#include "support/shared_files.h"
#include "support/ui/editor_fixture.h"

#include <QElapsedTimer>
#include <QRandomGenerator>
#include <QSignalSpy>
#include <QTest>

#include <optional>

using namespace shardwright;
using namespace shardwright::test;

class TstEditorSession : public QObject {
    Q_OBJECT
private slots:
    void init() { m_box.emplace(); }
    void cleanup() { m_box.reset(); }

    void anEditIsOneCommandWithItsTitle() {
        EditorSession session;
        QVERIFY(openAndAnalyse(session, m_box->write("m.onnx", mlp().bytes())));
        QVERIFY(!session.isModified());
        session.push(editConfiguration(session.document(), "c", {{{"tp", 2}}}),
                     "Add configuration c");
        QVERIFY(session.isModified());
        QCOMPARE(session.undoStack()->undoText(), QString("Add configuration c"));
        session.undoStack()->undo();
        QVERIFY(!session.isModified());
        QCOMPARE(session.undoStack()->redoText(), QString("Add configuration c"));
    }
    void anEmptyEditIsNoCommand() {
        EditorSession session;
        QVERIFY(openAndAnalyse(session, m_box->write("m.onnx", mlp().bytes())));
        session.push(Edit{"nothing", {}});
        QCOMPARE(session.undoStack()->count(), 0);
    }
    void titlesOfHostileNamesAreOneShortLine() {
        EditorSession session;
        QVERIFY(openAndAnalyse(session, m_box->write("m.onnx", mlp().bytes())));
        session.push(editConfiguration(session.document(), "c", {{{"tp", 2}}}),
                     QString("a\nb").repeated(9999));
        QVERIFY(session.undoStack()->undoText().size() < 100);
        QVERIFY(!session.undoStack()->undoText().contains('\n'));
    }
    void theAnalysisFollowsEditsUndoAndRedo() {
        EditorSession session;
        QVERIFY(openAndAnalyse(session, m_box->write("m.onnx", mlp().bytes())));
        QVERIFY(!session.analysis()->hasConfiguration);
        addMesh(session);
        QVERIFY(session.analysis()->hasConfiguration);
        session.undoStack()->undo();
        QVERIFY(waitForAnalysis(session));
        QVERIFY(!session.analysis()->hasConfiguration);
        session.undoStack()->redo();
        QVERIFY(waitForAnalysis(session));
        QVERIFY(session.analysis()->hasConfiguration);
    }
    void manyEditsInOneEventAreOneAnalysis() {
        EditorSession session;
        QVERIFY(openAndAnalyse(session, m_box->write("m.onnx", mlp().bytes())));
        QSignalSpy analyses(&session, &EditorSession::analysisChanged);
        for (int size = 1; size <= 20; ++size)
            session.push(editConfiguration(session.document(), "c", {{{"tp", size}}}));
        QVERIFY(waitForAnalysis(session));
        QCOMPARE(analyses.count(), 1);
        QCOMPARE(session.analysis()->configuration.deviceCount, 20);
    }
    void undoOfEverythingGivesTheOpenedBytes_data() {
        QTest::addColumn<int>("seed");
        for (int seed = 1; seed <= 5; ++seed)
            QTest::addRow("seed %d", seed) << seed;
    }
    void undoOfEverythingGivesTheOpenedBytes() {
        QFETCH(int, seed);
        QRandomGenerator random(static_cast<quint32>(seed));
        EditorSession session;
        const std::string original = mlp().bytes();
        QVERIFY(openAndAnalyse(session, m_box->write("m.onnx", original)));
        addMesh(session, {{{"dp", 2}, {"tp", 2}}});
        for (int i = 0; i < 30; ++i) {
            randomEdit(session, random);
            if (i % 7 == 0 && session.undoStack()->canUndo() && session.undoStack()->index() > 1)
                session.undoStack()->undo();
            if (i % 5 == 0)
                QVERIFY(waitForAnalysis(session));
        }
        const auto last = session.document().toBytes();
        QVERIFY(last);
        while (session.undoStack()->canUndo())
            session.undoStack()->undo();
        const auto first = session.document().toBytes();
        QVERIFY(first && *first == original);
        while (session.undoStack()->canRedo())
            session.undoStack()->redo();
        const auto again = session.document().toBytes();
        QVERIFY(again && *again == *last);
    }
    void aBrokenFileLeavesTheDocumentThatWasOpen() {
        EditorSession session;
        QVERIFY(openAndAnalyse(session, m_box->write("m.onnx", mlp().bytes())));
        const auto model = session.document().model;
        QSignalSpy failed(&session, &EditorSession::openFailed);
        session.open(m_box->write("broken.onnx", "\x08\xff\xff\xff garbage"));
        QTRY_COMPARE(failed.count(), 1);
        QVERIFY(!failed[0][1].toString().isEmpty());
        QCOMPARE(session.document().model, model);
        QVERIFY(session.filePath().endsWith("m.onnx"));
    }
    void cancellingAnOpeningKeepsTheDocument() {
        EditorSession session;
        QVERIFY(openAndAnalyse(session, m_box->write("m.onnx", mlp().bytes())));
        QSignalSpy opened(&session, &EditorSession::opened);
        session.open(m_box->write("other.onnx", mlp().bytes()));
        session.cancelOpen();
        QVERIFY(!session.isOpening());
        QTest::qWait(50);
        QCOMPARE(opened.count(), 0);
    }
    void savingWritesTheEditsAndCleans() {
        EditorSession session;
        const QString path = m_box->write("m.onnx", mlp().bytes());
        QVERIFY(openAndAnalyse(session, path));
        addMesh(session);
        QSignalSpy saved(&session, &EditorSession::saved);
        session.save(path);
        QTRY_COMPARE(saved.count(), 1);
        QVERIFY(!session.isModified());
        EditorSession again;
        QVERIFY(openAndAnalyse(again, path));
        QCOMPARE(again.analysis()->configuration.mesh.text(), std::string("tp=2"));
    }
    void savingUneditedWritesTheSameBytes() {
        EditorSession session;
        const std::string original = mlp().bytes();
        QVERIFY(openAndAnalyse(session, m_box->write("m.onnx", original)));
        QSignalSpy saved(&session, &EditorSession::saved);
        session.save(m_box->path("copy.onnx"));
        QTRY_COMPARE(saved.count(), 1);
        QVERIFY(Sandbox::read(m_box->path("copy.onnx")).toStdString() == original);
    }
    void aFailedSaveSaysWhyAndLosesNothing() {
        EditorSession session;
        QVERIFY(openAndAnalyse(session, m_box->write("m.onnx", mlp().bytes())));
        addMesh(session);
        QSignalSpy failed(&session, &EditorSession::saveFailed);
        session.save(m_box->path("no/such/folder/m.onnx"));
        QTRY_COMPARE(failed.count(), 1);
        QVERIFY(!failed[0][1].toString().isEmpty());
        QVERIFY(session.isModified());
    }
    void aRemovedConfigurationIsNoLongerChosen() {
        EditorSession session;
        QVERIFY(openAndAnalyse(session, m_box->write("m.onnx", mlp().bytes())));
        addMesh(session);
        session.setConfiguration("c");
        QVERIFY(waitForAnalysis(session));
        session.undoStack()->undo();
        QVERIFY(waitForAnalysis(session));
        QVERIFY(!session.analysis()->hasConfiguration);
    }
    void editsOfRealModelsAreAnalysedIn100Ms_data() {
        QTest::addColumn<QString>("name");
        for (const char* name :
             {"llama_4l_gqa_legacy", "bert_4l_dynamo", "gpt2_12l_dynamo", "llama_32l_gqa_legacy"})
            QTest::newRow(name) << name;
    }
    void editsOfRealModelsAreAnalysedIn100Ms() {
        QFETCH(QString, name);
        const auto file = sharedFile("models/" + name.toStdString() + ".onnx");
        if (!file)
            QSKIP("the collection of models is not here");
        EditorSession session;
        QVERIFY(openAndAnalyse(session, QString::fromStdString(file->string())));
        addMesh(session);
        NodeId node;
        for (const NodeInfo& info : session.document().graph().nodes)
            if (session.document().graph().opType(info.id) == "MatMul" ||
                session.document().graph().opType(info.id) == "Gemm")
                node = info.id;
        QVERIFY(node);
        const TensorSlot tensorSlots[] = {{node, false, 1}};
        qint64 best = 1 << 30;
        for (int i = 0; i < 5; ++i) {
            auto edit =
                assignAxes(session.document(), *session.analysis(), tensorSlots, i % 2, {0});
            QVERIFY(edit);
            QElapsedTimer timer;
            timer.start();
            session.push(std::move(*edit));
            QVERIFY(waitForAnalysis(session));
            best = std::min(best, timer.elapsed());
        }
        qInfo("%s: %lld ms", qPrintable(name), static_cast<long long>(best));
#ifdef QT_NO_DEBUG
        QVERIFY2(best < 100, qPrintable(QString("%1 ms").arg(best)));
#endif
    }

private:
    static void randomEdit(EditorSession& session, QRandomGenerator& random) {
        const Analysis& analysis = *session.analysis();
        const int node = random.bounded(static_cast<int>(session.document().graph().nodes.size()));
        const TensorSlot tensorSlots[] = {{NodeId(node), random.bounded(2) == 1, 0}};
        const NodeId nodes[] = {NodeId(node)};
        Result<Edit> edit = Edit{};
        switch (random.bounded(6)) {
            case 0:
                edit = assignAxes(session.document(), analysis, tensorSlots, random.bounded(3),
                                  {random.bounded(2)});
                break;
            case 1:
                edit = assignAxes(session.document(), analysis, tensorSlots, random.bounded(3),
                                  {1, 0});
                break;
            case 2: edit = assignReplicated(session.document(), analysis, tensorSlots); break;
            case 3: edit = removeSpecs(session.document(), analysis, tensorSlots); break;
            case 4:
                edit = assignStage(session.document(), analysis, nodes, random.bounded(-1, 3));
                break;
            case 5: edit = clearNodes(session.document(), analysis, nodes); break;
        }
        if (edit)
            session.push(std::move(*edit));
    }

    std::optional<Sandbox> m_box;
};

QTEST_MAIN(TstEditorSession)
#include "tst_editor_session.moc"
