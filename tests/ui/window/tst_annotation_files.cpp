// SPDX-License-Identifier: Apache-2.0
#include "ui/window/annotation_files.h"

#include "check/assign.h"
#include "support/ui/editor_fixture.h"
#include "ui/window/import_report.h"
#include "ui/window/main_window.h"
#include "ui/window/message_bar.h"
#include "ui/window/theme.h"
#include "ui/window/window_actions.h"

#include <QAction>
#include <QFileDialog>
#include <QLabel>
#include <QPushButton>
#include <QTest>
#include <QTreeWidget>

#include <optional>

using namespace shardwright;
using namespace shardwright::test;

namespace {

/// The MLP as another export of it: other weights, other names of nodes.
ModelBuilder renamed() {
    return ModelBuilder{}
        .input("x", {8, 16, 64})
        .weight("w_7", {64, 256})
        .weight("w_8", {256, 64})
        .op("MatMul", {"x", "w_7"}, {"h"}, "mm1")
        .op("Gelu", {"h"}, {"a"}, "act")
        .op("MatMul", {"a", "w_8"}, {"y"}, "mm_two")
        .output("y", {8, 16, 64});
}

}  // namespace

class TstAnnotationFiles : public QObject {
    Q_OBJECT
private slots:
    void init() {
        m_box.emplace();
        applyTheme(ThemeChoice::Light);
        m_window.emplace();
        m_window->resize(1200, 800);
        m_window->show();
    }
    void cleanup() {
        m_window.reset();
        m_box.reset();
    }

    void whatIsExportedGivesAnotherExportTheSameLayouts() {
        open(mlp(), "old.onnx");
        annotate();
        const QString file = m_box->path("tp.json");
        files()->exportTo(file);
        QTRY_VERIFY(message().startsWith("Exported 2 rules to "));
        QVERIFY(Sandbox::read(file).contains("\"mesh\": \"tp=2\""));

        open(mlp(), "new.onnx");
        QVERIFY(!session().analysis()->hasConfiguration);
        files()->importFrom(file);
        QTRY_VERIFY(message().endsWith(" 2 rules applied"));
        QVERIFY(waitForAnalysis(session()));
        QCOMPARE(session().analysis()->configuration.name, std::string("c"));
        QCOMPARE(splits("mm1"), std::size_t(1));
        QCOMPARE(splits("mm2"), std::size_t(1));
        QVERIFY(!m_window->findChild<ImportReport*>());
    }
    void anImportIsOneStepToUndo() {
        const QString file = exported();
        open(mlp(), "new.onnx");
        const auto before = session().document().toBytes().value();
        files()->importFrom(file);
        QTRY_COMPARE(session().undoStack()->count(), 1);
        QCOMPARE(session().undoStack()->undoText(), QString("Import annotations of tp.json"));
        QVERIFY(session().document().toBytes().value() != before);
        session().undoStack()->undo();
        QCOMPARE(session().document().toBytes().value(), before);
    }
    void rulesThatMatchNothingAreListedFirstWithNearNames() {
        const QString file = exported();
        open(renamed(), "new.onnx");
        files()->importFrom(file);
        QTRY_VERIFY(m_window->findChild<ImportReport*>());
        auto* report = m_window->findChild<ImportReport*>();
        const auto* list = report->findChild<QTreeWidget*>("importedRules");
        QCOMPARE(list->topLevelItemCount(), 2);
        QVERIFY(list->topLevelItem(0)->text(0).contains("mm2"));
        QVERIFY2(list->topLevelItem(0)->text(1).contains("mm1"),
                 qPrintable(list->topLevelItem(0)->text(1)));
        QCOMPARE(list->topLevelItem(1)->text(1), QString("1 place"));
        const auto* current = report->findChild<QLabel*>("importedRule");
        QVERIFY2(current->text().contains(list->topLevelItem(0)->text(1)),
                 qPrintable(current->text()));
        QVERIFY(message().contains("1 of 2 rules applied"));
        // The rule that fits is applied.
        QVERIFY(waitForAnalysis(session()));
        QCOMPARE(splits("mm1"), std::size_t(1));
        QTest::keyClick(report, Qt::Key_Escape);
        QTRY_VERIFY(!m_window->findChild<ImportReport*>());
        QVERIFY(!m_window->messageBar()->findChildren<QPushButton*>().isEmpty());
    }
    void aFileOfSomethingElseSaysWhereItIsWrong_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("where");
        QTest::newRow("no JSON") << "{\n  oops"
                                 << "line 2, column 3";
        QTest::newRow("a number for a rule")
            << R"({"format": "shardwright-annotations", "version": 1, "configuration": "c",
                   "mesh": "tp=2", "shards": ["w1:1=tp", 3]})"
            << "shards[1]";
    }
    void aFileOfSomethingElseSaysWhereItIsWrong() {
        QFETCH(QString, text);
        QFETCH(QString, where);
        open(mlp(), "m.onnx");
        files()->importFrom(m_box->write("bad.json", text.toStdString()));
        QTRY_VERIFY(message().startsWith("bad.json: "));
        QVERIFY2(message().contains(where), qPrintable(message()));
        QCOMPARE(session().undoStack()->count(), 0);
    }
    void whatCannotBeReadOrWrittenSaysWhy() {
        open(mlp(), "m.onnx");
        files()->importFrom(m_box->path("nowhere.json"));
        QTRY_VERIFY(message().startsWith("nowhere.json: "));
        annotate();
        files()->exportTo(m_box->path("no such folder/tp.json"));
        QTRY_VERIFY(message().startsWith("tp.json: could not be written: "));
    }
    void theLastEditIsExportedThoughItsAnalysisIsStillRunning() {
        open(mlp(), "m.onnx");
        addMesh(session());
        push("mm1", 1);
        QVERIFY(!session().isAnalysisCurrent());
        const QString file = m_box->path("tp.json");
        files()->exportTo(file);
        QTRY_VERIFY(message().startsWith("Exported 1 rule to "));
        QVERIFY(Sandbox::read(file).contains(":1=tp"));
    }
    void anEditWhileAFileIsReadIsKept() {
        const QString file = exported();
        open(mlp(), "new.onnx");
        addMesh(session());
        files()->importFrom(file);
        session().push(
            assignStage(session().document(), *session().analysis(), std::vector{node("act")}, 0));
        QTRY_VERIFY(message().endsWith(" 2 rules applied"));
        QVERIFY(waitForAnalysis(session()));
        QCOMPARE(stageOf(session().document(), *session().analysis(), node("act")), 0);
        QCOMPARE(splits("mm1"), std::size_t(1));
    }
    void theDialogsOpenFromTheKeyboardWhereTheLastFileWas() {
        open(mlp(), "m.onnx");
        addMesh(session());
        QDir(m_box->path("")).mkdir("kept");
        files()->exportTo(m_box->path("kept/tp.json"));
        QTRY_VERIFY(message().startsWith("Exported"));
        for (const auto& [key, name] : {std::pair(Qt::Key_I, "importAnnotationsDialog"),
                                        std::pair(Qt::Key_X, "exportAnnotationsDialog")}) {
            m_window->activateWindow();
            QVERIFY(QTest::qWaitForWindowActive(&*m_window));
            QTest::keyClick(&*m_window, key, Qt::ControlModifier | Qt::ShiftModifier);
            auto* dialog = m_window->findChild<QFileDialog*>(name);
            QVERIFY(dialog);
            QCOMPARE(dialog->directory().absolutePath(), m_box->path("kept"));
            dialog->reject();
            QTRY_VERIFY(!m_window->findChild<QFileDialog*>(name));
        }
    }
    void withoutAModelThereIsNothingToExport() {
        QVERIFY(!m_window->actions()->exportAnnotations->isEnabled());
        open(mlp(), "m.onnx");
        QVERIFY(m_window->actions()->exportAnnotations->isEnabled());
        m_window->actions()->exportAnnotations->trigger();
        QVERIFY(!m_window->findChild<QFileDialog*>());
        QVERIFY(message().contains("no device mesh"));
    }

private:
    EditorSession& session() { return *m_window->session(); }
    AnnotationFiles* files() { return m_window->annotationFiles(); }
    QString message() { return m_window->messageBar()->text(); }
    NodeId node(const std::string& name) { return nodeNamed(session().document().graph(), name); }
    void open(const ModelBuilder& model, const QString& name) {
        session().closeDocument();
        QVERIFY(openAndAnalyse(session(), m_box->write(name, model.bytes())));
    }
    void push(const std::string& at, int dim) {
        const TensorSlot weight{node(at), false, 1};
        session().push(
            assignAxes(session().document(), *session().analysis(), {&weight, 1}, dim, {0})
                .value());
    }
    /// Column and row of the two weights, over tp=2.
    void annotate() {
        addMesh(session());
        push("mm1", 1);
        QVERIFY(waitForAnalysis(session()));
        push("mm2", 0);
        QVERIFY(waitForAnalysis(session()));
    }
    QString exported() {
        open(mlp(), "old.onnx");
        annotate();
        const QString file = m_box->path("tp.json");
        files()->exportTo(file);
        [&] { QTRY_VERIFY(message().startsWith("Exported")); }();
        return file;
    }
    /// Inputs of the node that are explicitly split.
    std::size_t splits(const std::string& name) {
        const NodeMeaning& meaning = session().analysis()->meaning.nodes[node(name).index()];
        return static_cast<std::size_t>(
            std::ranges::count_if(meaning.inputs, [](const SlotMeaning& slot) {
                return slot.source == LayoutSource::Explicit && slot.layout &&
                       !slot.layout->isWhole();
            }));
    }

    std::optional<Sandbox> m_box;
    std::optional<MainWindow> m_window;
};

QTEST_MAIN(TstAnnotationFiles)
#include "tst_annotation_files.moc"
