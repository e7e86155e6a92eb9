// SPDX-License-Identifier: Apache-2.0
#include "ui/window/main_window.h"

#include "check/assign.h"
#include "support/ui/editor_fixture.h"
#include "ui/canvas/graph_canvas.h"
#include "ui/panels/diagnostics_panel.h"
#include "ui/panels/elided_button.h"
#include "ui/panels/inspector_panel.h"
#include "ui/panels/proposals_panel.h"
#include "ui/panels/scope_view.h"
#include "ui/panels/structure_panel.h"
#include "ui/window/message_bar.h"
#include "ui/window/recent_files.h"
#include "ui/window/theme.h"
#include "ui/window/window_actions.h"

#include <QAccessible>
#include <QAction>
#include <QActionGroup>
#include <QDockWidget>
#include <QDropEvent>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>
#include <QTreeView>
#include <QTreeWidget>

#include <cmath>
#include <optional>

using namespace shardwright;
using namespace shardwright::test;

class TstMainWindow : public QObject {
    Q_OBJECT
private slots:
    void init() {
        m_box.emplace();
        applyTheme(ThemeChoice::Light);
        m_window.emplace();
        m_window->resize(1300, 850);
        m_window->show();
    }
    void cleanup() {
        m_window.reset();
        m_box.reset();
    }

    void anEmptyWindowHasNothingToSave() {
        QVERIFY(!m_window->actions()->save->isEnabled());
        QVERIFY(m_window->actions()->open->isEnabled());
        QCOMPARE(m_window->windowTitle(), QString("Shardwright"));
        QVERIFY(m_window->close());
    }
    void anOpenedFileIsDrawnAndRemembered() {
        const QString path = open("m.onnx");
        QVERIFY(m_window->windowTitle().startsWith("m.onnx"));
        QVERIFY(m_window->canvas()->isVisible());
        QCOMPARE(m_window->recentFiles()->paths().value(0), path);
        QVERIFY(m_window->actions()->save->isEnabled());
    }
    void recentFilesAreInTheMenuLatestFirst() {
        open("a.onnx");
        const QString latest = open("b.onnx");
        const auto entries = m_window->actions()->recentMenu->actions();
        QCOMPARE(entries.value(0)->text(), QString("b.onnx"));
        QCOMPARE(entries.value(1)->text(), QString("a.onnx"));
        entries.value(1)->trigger();
        QTRY_VERIFY(m_window->windowTitle().startsWith("a.onnx"));
        for (int i = 0; i < 20; ++i)
            m_window->recentFiles()->add(m_box->path(QString("f%1.onnx").arg(i)));
        QCOMPARE(m_window->recentFiles()->paths().size(), RecentFiles::kMost);
    }
    void aDroppedFileIsOpened() {
        const QString path = m_box->write("dropped.onnx", mlp().bytes());
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(path)});
        QDragEnterEvent enter(QPoint(400, 300), Qt::CopyAction, &data, Qt::LeftButton,
                              Qt::NoModifier);
        QApplication::sendEvent(&*m_window, &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop(QPointF(400, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&*m_window, &drop);
        QTRY_VERIFY(m_window->windowTitle().startsWith("dropped.onnx"));
    }
    void somethingElseThanAFileIsNotAccepted() {
        QMimeData data;
        data.setText("hello");
        QDragEnterEvent enter(QPoint(400, 300), Qt::CopyAction, &data, Qt::LeftButton,
                              Qt::NoModifier);
        enter.ignore();
        QApplication::sendEvent(&*m_window, &enter);
        QVERIFY(!enter.isAccepted());
    }
    void brokenFilesShowTheMessageBarAndKeepTheDocument_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::newRow("empty") << QByteArray();
        QTest::newRow("random") << QByteArray("\x93\x12\xff\xfe\x01\x80 not a model", 20);
        QTest::newRow("truncated") << QByteArray::fromStdString(mlp().bytes()).left(1000);
    }
    void brokenFilesShowTheMessageBarAndKeepTheDocument() {
        QFETCH(QByteArray, bytes);
        open("good.onnx");
        const QString broken = m_box->write("broken.onnx", bytes.toStdString());
        m_window->openFile(broken);
        QTRY_VERIFY(m_window->messageBar()->isVisible());
        QVERIFY(m_window->messageBar()->text().contains("broken.onnx"));
        QVERIFY(!QApplication::activeModalWidget());
        QVERIFY(m_window->windowTitle().startsWith("good.onnx"));
        QVERIFY(m_window->session()->hasDocument());
        QVERIFY(!m_window->recentFiles()->paths().contains(broken));
    }
    void aMissingFileLeavesTheRecentList() {
        const QString path = open("gone.onnx");
        QFile::remove(path);
        m_window->openFile(path);
        QTRY_VERIFY(m_window->messageBar()->isVisible());
        QVERIFY(!m_window->recentFiles()->paths().contains(path));
    }
    void undoAndRedoAreNamedInTheMenu() {
        open("m.onnx");
        QVERIFY(!m_window->actions()->undo->isEnabled());
        m_window->session()->push(
            editConfiguration(m_window->session()->document(), "c", {{{"tp", 2}}}), "Add R&D");
        QCOMPARE(m_window->actions()->undo->text(), QString("&Undo Add R&&D"));
        m_window->actions()->undo->trigger();
        QCOMPARE(m_window->actions()->redo->text(), QString("&Redo Add R&&D"));
        QVERIFY(!m_window->session()->isModified());
    }
    void closingWithUnsavedChangesAsksOnce() {
        open("m.onnx");
        addMesh(*m_window->session());
        QVERIFY(!m_window->close());
        QMessageBox* box = unsavedBox();
        QVERIFY(box);
        QVERIFY(!m_window->close());
        QCOMPARE(m_window->findChildren<QMessageBox*>("unsavedBox").size(), 1);
        box->button(QMessageBox::Cancel)->click();
        QTRY_VERIFY(!unsavedBox());
        QVERIFY(m_window->isVisible());
        QVERIFY(m_window->session()->isModified());
    }
    void discardingClosesWithoutSaving() {
        const QString path = open("m.onnx");
        addMesh(*m_window->session());
        QVERIFY(!m_window->close());
        unsavedBox()->button(QMessageBox::Discard)->click();
        QTRY_VERIFY(!m_window->isVisible());
        QVERIFY(Sandbox::read(path).toStdString() == mlp().bytes());
    }
    void savingOnCloseSavesAndCloses() {
        const QString path = open("m.onnx");
        addMesh(*m_window->session());
        QVERIFY(!m_window->close());
        unsavedBox()->button(QMessageBox::Save)->click();
        QTRY_VERIFY(!m_window->isVisible());
        QVERIFY(Sandbox::read(path).toStdString() != mlp().bytes());
    }
    void openingOverUnsavedChangesAsks() {
        open("m.onnx");
        addMesh(*m_window->session());
        m_window->openFile(m_box->write("other.onnx", mlp().bytes()));
        QVERIFY(unsavedBox());
        unsavedBox()->button(QMessageBox::Discard)->click();
        QTRY_VERIFY(m_window->windowTitle().startsWith("other.onnx"));
    }
    void findingSelectsAndHighlights() {
        open("m.onnx");
        QTest::keyClick(&*m_window, Qt::Key_F, Qt::ControlModifier);
        QLineEdit* field = m_window->structure()->searchField();
        QTRY_VERIFY(field->hasFocus());
        QTest::keyClicks(field, "op:matmul");
        QTRY_COMPARE(m_window->structure()->found().size(), 2);
        const NodeId first = m_window->structure()->found()[0],
                     second = m_window->structure()->found()[1];
        QVERIFY(m_window->canvas()->isHighlighted(first) &&
                m_window->canvas()->isHighlighted(second));
        QTest::keyClick(field, Qt::Key_Return);
        QCOMPARE(m_window->canvas()->currentNode(), first);
        QTest::keyClick(field, Qt::Key_Return);
        QCOMPARE(m_window->canvas()->currentNode(), second);
        QTest::keyClick(field, Qt::Key_Return, Qt::ShiftModifier);
        QCOMPARE(m_window->canvas()->currentNode(), first);
        QTest::keyClick(field, Qt::Key_Escape);
        QTRY_VERIFY(!m_window->canvas()->isHighlighted(first));
    }
    void aClearedSearchLeavesNothingBesideTheField() {
        open("m.onnx");
        QLineEdit* field = m_window->structure()->searchField();
        const auto labels = [&](const QString& text) {
            int shown = 0;
            for (const QLabel* label : m_window->structure()->findChildren<QLabel*>())
                shown += label->isVisible() && label->text() == text;
            for (const QToolButton* each : m_window->structure()->findChildren<QToolButton*>())
                shown += each->isVisible() && each->text() == text;
            return shown;
        };
        for (const bool byEscape : {true, false}) {
            QTest::keyClicks(field, "op:matmul");
            QTRY_COMPARE(labels("2 matches"), 1);
            QCOMPARE(labels("All"), 1);
            if (byEscape)
                QTest::keyClick(field, Qt::Key_Escape);
            else
                field->clear();
            QTRY_COMPARE(m_window->structure()->found().size(), 0);
            QCOMPARE(labels("No match"), 0);
            QCOMPARE(labels("All"), 0);
        }
    }
    void allMatchesAreSelectedAndTheBestIsLookedAt() {
        open("m.onnx");
        QLineEdit* field = m_window->structure()->searchField();
        QTest::keyClicks(field, "h");
        QTRY_VERIFY(m_window->structure()->found().size() > 1);
        const NodeId best = m_window->structure()->found().front();
        for (QToolButton* each : m_window->structure()->findChildren<QToolButton*>())
            if (each->text() == "All")
                QTest::mouseClick(each, Qt::LeftButton);
        QCOMPARE(m_window->canvas()->selectedNodes().size(), m_window->structure()->found().size());
        QCOMPARE(m_window->canvas()->currentNode(), best);
    }
    void enterInTheDiagnosticsListGoesToTheNode() {
        open("m.onnx");
        EditorSession& session = *m_window->session();
        addMesh(session);
        annotateBadly(session);
        auto* list = m_window->diagnostics()->findChild<QTreeView*>("diagnostics");
        QTRY_VERIFY(list->model()->rowCount() > 0);
        list->setCurrentIndex(list->model()->index(0, 0));
        list->setFocus();
        QTest::keyClick(list, Qt::Key_Return);
        const Diagnostic& diagnostic = session.analysis()->diagnostics.front();
        QVERIFY(diagnostic.node);
        QCOMPARE(m_window->canvas()->currentNode(), diagnostic.node);
    }
    void aQuickFixIsOneUndoStep() {
        open("m.onnx");
        EditorSession& session = *m_window->session();
        addMesh(session);
        annotateBadly(session);
        QVERIFY(session.analysis()->count(Severity::Error) > 0);
        auto* list = m_window->diagnostics()->findChild<QTreeView*>("diagnostics");
        list->setCurrentIndex(list->model()->index(0, 0));
        QVERIFY(!session.analysis()->diagnostics.front().fixes.empty());
        const auto button = [&]() -> QPushButton* {
            for (auto* each : m_window->diagnostics()->findChildren<QPushButton*>())
                if (each->isVisible())
                    return each;
            return nullptr;
        };
        QTRY_VERIFY(button());
        const int before = session.undoStack()->count();
        button()->click();
        QVERIFY(waitForAnalysis(session));
        QCOMPARE(session.undoStack()->count(), before + 1);
        QCOMPARE(session.analysis()->count(Severity::Error), 0);
    }
    void aFixOfAnOlderAnalysisIsNotDone() {
        open("m.onnx");
        EditorSession& session = *m_window->session();
        addMesh(session);
        annotateBadly(session);
        auto* list = m_window->diagnostics()->findChild<QTreeView*>("diagnostics");
        list->setCurrentIndex(list->model()->index(0, 0));
        const auto buttons = m_window->diagnostics()->findChildren<ElidedButton*>();
        QVERIFY(!buttons.isEmpty());
        // A change of the same node, which the fix would take back.
        const TensorSlot slot[] = {{nodeNamed(session.document().graph(), "mm2"), true, 0}};
        auto edit = assignReplicated(session.document(), *session.analysis(), slot);
        QVERIFY(edit);
        session.push(std::move(*edit));
        QVERIFY(!session.isAnalysisCurrent());
        const int before = session.undoStack()->count();
        buttons.front()->click();
        QCOMPARE(session.undoStack()->count(), before);
        QVERIFY(hasSpec(session.document(), *session.analysis(), slot[0]));
    }
    void proposingFromTheMenuShowsThePanelThatLeadsToTheGraph() {
        open("m.onnx");
        EditorSession& session = *m_window->session();
        addMesh(session);
        const GraphIndex& graph = session.document().graph();
        const TensorSlot weight[] = {{nodeNamed(graph, "mm1"), false, 1}};
        session.push(*assignAxes(session.document(), *session.analysis(), weight, 1, {0}));
        // Behind another tab.
        QVERIFY(m_window->proposals()->visibleRegion().isEmpty());
        m_window->actions()->propose->trigger();
        QTRY_VERIFY(!m_window->proposals()->visibleRegion().isEmpty());
        QTRY_VERIFY(m_window->isSettled() && m_window->proposals()->list());
        QTreeView* view = m_window->proposals()->view();
        view->setFocus();
        view->setCurrentIndex(view->model()->index(1, 0));
        QTest::keyClick(view, Qt::Key_Return);
        QCOMPARE(m_window->canvas()->selectedNodes(), QList<NodeId>{nodeNamed(graph, "act")});
        // Another model has none. Without changes nobody is asked.
        session.undoStack()->setIndex(0);
        open("other.onnx");
        QVERIFY(!m_window->proposals()->list());
    }
    void aListWithoutProblemsSaysSo() {
        open("m.onnx");
        EditorSession& session = *m_window->session();
        addMesh(session);
        const TensorSlot slot[] = {{nodeNamed(session.document().graph(), "mm1"), false, 1}};
        session.push(*assignAxes(session.document(), *session.analysis(), slot, 1, {0}));
        QVERIFY(waitForAnalysis(session));
        // A collective is no problem.
        QVERIFY(session.analysis()->count(Severity::Communication) > 0);
        auto* list = m_window->diagnostics()->findChild<QTreeView*>("diagnostics");
        QVERIFY(!list->isVisible());
    }
    void everyCommandHasAShortcutAndIsInTheHelp() {
        open("m.onnx");
        QStringList missing;
        QSet<QString> used;
        QList<QAction*> todo;
        for (QAction* menu : m_window->menuBar()->actions())
            todo << menu->menu()->actions();
        QStringList commands;
        while (!todo.isEmpty()) {
            QAction* action = todo.takeFirst();
            if (action->isSeparator() || action->menu() == m_window->actions()->recentMenu)
                continue;
            if (action->menu()) {
                todo << action->menu()->actions();
                continue;
            }
            commands << action->text();
            if (action->shortcut().isEmpty())
                missing << action->text();
            for (const QKeySequence& keys : action->shortcuts()) {
                QVERIFY2(!used.contains(keys.toString()), qPrintable(keys.toString()));
                used.insert(keys.toString());
            }
        }
        QVERIFY2(missing.isEmpty(), qPrintable(missing.join(", ")));
        m_window->actions()->shortcuts->trigger();
        auto* dialog = m_window->findChild<QDialog*>("shortcutsDialog");
        QVERIFY(dialog);
        auto* listed = dialog->findChild<QTreeWidget*>("shortcuts");
        for (QString command : commands) {
            const auto found =
                listed->findItems(command.remove(u'&'), Qt::MatchExactly | Qt::MatchRecursive);
            QVERIFY2(!found.isEmpty(), qPrintable(command));
            QVERIFY(!found.front()->text(1).isEmpty());
        }
        auto* search = dialog->findChild<QLineEdit*>();
        search->setText("Ctrl+O");
        int shown = 0;
        for (int i = 0; i < listed->topLevelItemCount(); ++i)
            for (int k = 0; k < listed->topLevelItem(i)->childCount(); ++k)
                shown += !listed->topLevelItem(i)->child(k)->isHidden();
        QCOMPARE(shown, 1);
    }
    void everyControlHasANameForThoseWhoDoNotSeeIt() {
        open("m.onnx");
        addMesh(*m_window->session());
        m_window->canvas()->setSelection(
            {nodeNamed(m_window->session()->document().graph(), "mm1")});
        QStringList nameless;
        for (QWidget* each : m_window->findChildren<QWidget*>()) {
            // A label's name is its text; parts of a control are told of with it.
            const bool isPart =
                each->inherits("QLabel") || each->inherits("QTabBar") ||
                each->inherits("QScrollArea") || each->inherits("QComboBoxListView") ||
                each->objectName().startsWith("qt_") || each->parentWidget()->inherits("QComboBox");
            if (each->focusPolicy() == Qt::NoFocus || isPart)
                continue;
            QAccessibleInterface* face = QAccessible::queryAccessibleInterface(each);
            if (!face || face->text(QAccessible::Name).isEmpty())
                nameless << QStringLiteral("%1 %2").arg(
                    QString::fromLatin1(each->metaObject()->className()), each->objectName());
        }
        QVERIFY2(nameless.isEmpty(), qPrintable(nameless.join(", ")));
    }
    void panelsAreReachedWithTheKeyboard() {
        open("m.onnx");
        m_window->canvas()->setSelection(
            {nodeNamed(m_window->session()->document().graph(), "mm1")});
        m_window->activateWindow();
        const auto actions = m_window->actions()->goMenu->actions();
        QVERIFY(actions.size() >= 7);
        for (QAction* action : actions) {
            action->trigger();
            QWidget* focus = QApplication::focusWidget();
            auto* dock =
                m_window->findChild<QDockWidget*>(action->text().remove(u'&').toLower() + "Dock");
            if (action->text().remove(u'&') == "Graph")
                QVERIFY(focus == m_window->canvas());
            else
                QVERIFY2(dock && focus && dock->isAncestorOf(focus), qPrintable(action->text()));
            if (action->text().remove(u'&') == "Run")
                QCOMPARE(focus->objectName(), QString("run"));
            if (action->text().remove(u'&') == "Structure")
                QCOMPARE(focus->objectName(), QString("search"));
        }
    }
    void theSelectionIsExported() {
        open("m.onnx");
        m_window->actions()->exportSelection->trigger();
        QVERIFY(m_window->messageBar()->isVisible());
        const NodeId node = nodeNamed(m_window->session()->document().graph(), "mm1");
        m_window->canvas()->setSelection({node});
        m_window->actions()->exportSelection->trigger();
        auto* dialog = m_window->findChild<QFileDialog*>("exportDialog");
        QVERIFY(dialog);
        const QString path = m_box->path("part.png");
        emit dialog->fileSelected(path);
        dialog->close();
        QTRY_VERIFY(QFile::exists(path));
        const QSizeF size = m_window->canvas()->scene()->rectOf(node).size();
        QTRY_COMPARE(QImage(path).size(),
                     QSize(static_cast<int>(std::ceil((size.width() + 48) * 2)),
                           static_cast<int>(std::ceil((size.height() + 48) * 2))));
    }
    void openingBeginsBesideTheOpenModel() {
        const QString path = open("m.onnx");
        m_window->actions()->open->trigger();
        auto* dialog = m_window->findChild<QFileDialog*>();
        QVERIFY(dialog);
        QCOMPARE(dialog->directory().absolutePath(), QFileInfo(path).absolutePath());
        dialog->close();
    }
    void selectingAScopeShowsItInTheInspector() {
        const QString path = m_box->write("scoped.onnx", ModelBuilder{}
                                                             .input("x", {4})
                                                             .op("Relu", {"x"}, {"y"}, "s/a")
                                                             .op("Neg", {"y"}, {"z"}, "s/b")
                                                             .output("z", {4})
                                                             .bytes());
        m_window->openFile(path);
        QTRY_VERIFY(m_window->session()->filePath() == path && m_window->isSettled());
        const GraphIndex& graph = m_window->session()->document().graph();
        m_window->canvas()->selectScope(graph.node(nodeNamed(graph, "s/a")).scope);
        auto* view = m_window->inspector()->findChild<ScopeView*>();
        QVERIFY(view->isVisible());
        QTest::mouseClick(m_window->inspector()->findChild<QPushButton*>("selectScopeNodes"),
                          Qt::LeftButton);
        QCOMPARE(m_window->canvas()->selectedNodes().size(), 2);
        QVERIFY(!view->isVisible());
        QVERIFY(m_window->focusWidget() == m_window->canvas());
    }
    void theTreeShowsAllThatIsSelected() {
        open("m.onnx");
        const GraphIndex& graph = m_window->session()->document().graph();
        auto* tree = m_window->structure()->findChild<QTreeView*>("structure");
        m_window->canvas()->setSelection({nodeNamed(graph, "mm1"), nodeNamed(graph, "mm2")});
        QCOMPARE(tree->selectionModel()->selectedIndexes().size(), 2);
        // That is no selection by the person.
        QCOMPARE(m_window->canvas()->selectedNodes().size(), 2);
        m_window->canvas()->clearSelection();
        QVERIFY(tree->selectionModel()->selectedIndexes().isEmpty());
    }
    void theThemeChangesUnderAMessage() {
        open("m.onnx");
        m_window->messageBar()->show(MessageBar::Kind::Warning, "Look", {{"Do", [] {}}});
        const QString light = m_window->messageBar()->styleSheet();
        applyTheme(ThemeChoice::Dark);
        QCoreApplication::processEvents();
        QVERIFY(m_window->messageBar()->styleSheet() != light);
        applyTheme(ThemeChoice::Light);
        QCoreApplication::processEvents();
        QCOMPARE(m_window->messageBar()->styleSheet(), light);
    }
    void theMenuShowsTheThemeThatIsApplied() {
        applyTheme(ThemeChoice::Dark);
        MainWindow other;
        QCOMPARE(other.actions()->themes->checkedAction()->data().toString(),
                 themeName(ThemeChoice::Dark));
        applyTheme(ThemeChoice::Light);
    }
    void boxContentsAreSwitchedFromTheMenu() {
        open("m.onnx");
        const NodeId node = nodeNamed(m_window->session()->document().graph(), "mm1");
        const double height = m_window->canvas()->scene()->rectOf(node).height();
        QTest::keyClick(&*m_window, Qt::Key_I, Qt::ControlModifier);
        QVERIFY(!m_window->canvas()->boxContents().weights);
        QTRY_VERIFY(m_window->isSettled());
        QVERIFY(m_window->canvas()->scene()->rectOf(node).height() < height);
    }
    void selectingOnTheCanvasFillsTheInspector() {
        open("m.onnx");
        const NodeId node = nodeNamed(m_window->session()->document().graph(), "mm2");
        m_window->canvas()->setSelection({node});
        auto* table = m_window->inspector()->findChild<QTreeView*>("tensors");
        QCOMPARE(table->model()->rowCount(), 3);
        QVERIFY(table->model()->index(1, 0).data().toString().contains("w2"));
    }
    void aFileChangedOnDiskIsOfferedForReloading() {
        const QString path = open("m.onnx");
        m_window->messageBar()->dismiss();
        QTest::qWait(20);
        m_box->write("m.onnx", mlp().op("Relu", {"y"}, {"z"}, "more").output("z").bytes());
        QTRY_VERIFY(m_window->messageBar()->isVisible());
        m_window->messageBar()->findChild<QPushButton*>()->click();
        QTRY_COMPARE(m_window->session()->document().graph().nodes.size(), std::size_t(4));
    }
    void ourOwnSavingIsNoChangeOnDisk() {
        open("m.onnx");
        addMesh(*m_window->session());
        QSignalSpy saved(m_window->session(), &EditorSession::saved);
        m_window->actions()->save->trigger();
        QTRY_COMPARE(saved.count(), 1);
        QTest::qWait(600);
        QVERIFY(!m_window->messageBar()->isVisible());
    }
    void closingTheModelEmptiesTheWindow() {
        open("m.onnx");
        m_window->actions()->close->trigger();
        QVERIFY(!m_window->session()->hasDocument());
        QVERIFY(!m_window->canvas()->isVisible());
        QCOMPARE(m_window->windowTitle(), QString("Shardwright"));
    }
    void bothThemesKeepTextReadable() {
        for (const QPalette& palette : {lightPalette(), darkPalette()}) {
            QVERIFY(contrast(palette.color(QPalette::Text), palette.color(QPalette::Base)) >= 7);
            QVERIFY(contrast(palette.color(QPalette::WindowText),
                             palette.color(QPalette::Window)) >= 7);
            QVERIFY(contrast(palette.color(QPalette::PlaceholderText),
                             palette.color(QPalette::Base)) >= 4.5);
            QVERIFY(contrast(palette.color(QPalette::PlaceholderText),
                             palette.color(QPalette::Window)) >= 4.4);
            QVERIFY(contrast(palette.color(QPalette::HighlightedText),
                             palette.color(QPalette::Highlight)) >= 4.5);
            QVERIFY(contrast(palette.color(QPalette::ButtonText),
                             palette.color(QPalette::Button)) >= 7);
        }
    }

private:
    QString open(const QString& name) {
        const QString path = m_box->write(name, mlp().bytes());
        m_window->openFile(path);
        if (!QTest::qWaitFor(
                [&] { return m_window->session()->filePath() == path && m_window->isSettled(); },
                20000))
            qFatal("%s was not opened", qPrintable(path));
        return path;
    }
    QMessageBox* unsavedBox() const { return m_window->findChild<QMessageBox*>("unsavedBox"); }
    /// A disagreement in the sum of mm2: `a` split along its last axis, `w2` along its last.
    static void annotateBadly(EditorSession& session) {
        const GraphIndex& graph = session.document().graph();
        const TensorSlot first[] = {{nodeNamed(graph, "mm1"), false, 1}};
        const TensorSlot second[] = {{nodeNamed(graph, "mm2"), false, 1}};
        for (const auto& tensorSlots : {first, second}) {
            auto edit = assignAxes(session.document(), *session.analysis(),
                                   std::span(tensorSlots, 1), 1, {0});
            QVERIFY(edit);
            session.push(std::move(*edit));
            QVERIFY(waitForAnalysis(session));
        }
    }

    std::optional<Sandbox> m_box;
    std::optional<MainWindow> m_window;
};

QTEST_MAIN(TstMainWindow)
#include "tst_main_window.moc"
