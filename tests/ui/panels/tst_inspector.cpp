// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/inspector_panel.h"

#include "check/assign.h"
#include "support/ui/editor_fixture.h"
#include "ui/panels/axis_picker.h"
#include "ui/panels/mesh_panel.h"
#include "ui/panels/scope_view.h"
#include "ui/panels/tensor_editor.h"
#include "ui/window/theme.h"

#include <QComboBox>
#include <QInputDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPointer>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableWidget>
#include <QTest>
#include <QToolButton>
#include <QTreeView>
#include <QTreeWidget>

#include <optional>

using namespace shardwright;
using namespace shardwright::test;

namespace {

struct Fixture {
    Sandbox box;
    EditorSession session;
    InspectorPanel inspector{&session};
    MeshPanel mesh{&session};

    explicit Fixture(const ModelBuilder& model = mlp(), bool withMesh = true) {
        applyTheme(ThemeChoice::Light);
        QObject::connect(&session, &EditorSession::analysisChanged, &inspector,
                         &InspectorPanel::setAnalysis);
        QObject::connect(&session, &EditorSession::analysisChanged, &mesh, &MeshPanel::setAnalysis);
        inspector.resize(380, 700);
        inspector.show();
        mesh.resize(320, 300);
        mesh.show();
        if (!openAndAnalyse(session, box.write("m.onnx", model.bytes())))
            qFatal("not opened");
        if (withMesh)
            addMesh(session, {{{"dp", 2}, {"tp", 2}}});
    }
    NodeId node(const char* name) const { return nodeNamed(session.document().graph(), name); }
    QTreeView* tensors() const { return inspector.findChild<QTreeView*>("tensors"); }
    AxisPicker* picker(int dim) const { return inspector.tensorEditor()->picker(dim); }
    std::string axes(TensorSlot slot) {
        std::string text;
        const auto sharding = shardingAt(session.document(), *session.analysis(), slot);
        for (const auto& dim :
             sharding ? sharding->dims : std::vector<std::vector<MeshComponent>>()) {
            text += "[";
            for (const auto& component : dim)
                for (const int axis : component.axes)
                    text += session.analysis()
                                ->configuration.mesh.axes[static_cast<std::size_t>(axis)]
                                .name;
            text += "]";
        }
        return text;
    }
};

/// Opens the picker's menu with the keyboard and takes the entry with Enter.
void choose(AxisPicker* picker, const QString& entry) {
    picker->setFocus();
    bool taken = false;
    // The menu has its own event loop.
    QTimer::singleShot(0, picker, [&] {
        QMenu* menu = picker->menu();
        for (int i = 0; i < 20 && menu->isVisible(); ++i) {
            QTest::keyClick(menu, Qt::Key_Down);
            if (menu->activeAction() && menu->activeAction()->text() == entry) {
                taken = true;
                QTest::keyClick(menu, Qt::Key_Return);
                return;
            }
        }
        menu->hide();
    });
    QTest::mouseClick(picker, Qt::LeftButton);
    QVERIFY2(taken, qPrintable("no entry " + entry));
}

/// Opens the picker's menu and presses the keys; gives the entry that it started on.
QString pressInMenu(AxisPicker* picker, const QList<Qt::Key>& keys) {
    picker->setFocus();
    QString first;
    QTimer::singleShot(0, picker, [&] {
        QMenu* menu = picker->menu();
        if (menu->activeAction())
            first = menu->activeAction()->text();
        for (const Qt::Key key : keys)
            QTest::keyClick(menu, key);
        menu->hide();
    });
    QTest::keyClick(picker, Qt::Key_Space);
    return first;
}

}  // namespace

class TstInspector : public QObject {
    Q_OBJECT
private slots:
    void withoutSelectionItSaysWhatToDo() {
        Fixture f;
        QVERIFY(!f.tensors()->isVisible());
    }
    void aNodeShowsItsTensorsAndAttributes() {
        Fixture f(mlp().op("Softmax", {"y"}, {"z"}, "soft", {{"axis", 1}}).output("z"));
        f.inspector.showNodes({f.node("soft")});
        QCOMPARE(f.tensors()->model()->rowCount(), 2);
        auto* attributes = f.inspector.findChild<QTreeWidget*>("attributes");
        QCOMPARE(attributes->topLevelItemCount(), 1);
        QCOMPARE(attributes->topLevelItem(0)->text(0), QString("axis"));
        QCOMPARE(attributes->topLevelItem(0)->text(1), QString("1"));
    }
    void choosingAnAxisSplitsTheDimension() {
        Fixture f;
        const TensorSlot slot{f.node("mm1"), false, 1};
        f.inspector.selectSlot(slot);
        choose(f.picker(1), "tp (2)");
        QVERIFY(waitForAnalysis(f.session));
        QCOMPARE(f.axes(slot), std::string("[][tp]"));
        QCOMPARE(f.session.undoStack()->undoText(), QString("Assign axis tp to w1 at mm1"));
        QCOMPARE(f.picker(1)->axes(), std::vector<int>{1});
        f.session.undoStack()->undo();
        QVERIFY(waitForAnalysis(f.session));
        QCOMPARE(f.picker(1)->axes(), std::vector<int>{});
    }
    void severalAxesAreOrdered() {
        Fixture f;
        const TensorSlot slot{f.node("mm1"), false, 1};
        f.inspector.selectSlot(slot);
        choose(f.picker(1), "tp (2)");
        QVERIFY(waitForAnalysis(f.session));
        choose(f.picker(1), "dp, then tp");
        QVERIFY(waitForAnalysis(f.session));
        QCOMPARE(f.axes(slot), std::string("[][dptp]"));
        choose(f.picker(0), "dp (2), taken from dimension 1");
        QVERIFY(waitForAnalysis(f.session));
        QCOMPARE(f.axes(slot), std::string("[dp][tp]"));
    }
    void replicateAndRemove() {
        Fixture f;
        const TensorSlot slot{f.node("mm1"), false, 0};
        f.inspector.selectSlot(slot);
        QTest::mouseClick(f.inspector.findChild<QPushButton*>("replicate"), Qt::LeftButton);
        QVERIFY(waitForAnalysis(f.session));
        QVERIFY(hasSpec(f.session.document(), *f.session.analysis(), slot));
        auto* remove = f.inspector.findChild<QPushButton*>("removeSpec");
        QVERIFY(remove->isEnabled());
        QTest::mouseClick(remove, Qt::LeftButton);
        QVERIFY(waitForAnalysis(f.session));
        QVERIFY(!hasSpec(f.session.document(), *f.session.analysis(), slot));
        QVERIFY(!remove->isEnabled());
    }
    void oneChoiceGoesToAllSelectedNodesOfItsKind() {
        Fixture f;
        f.inspector.showNodes({f.node("act"), f.node("mm2"), f.node("mm1")});
        f.tensors()->setCurrentIndex(f.tensors()->model()->index(1, 0));
        choose(f.picker(0), "dp (2)");
        QVERIFY(waitForAnalysis(f.session));
        QCOMPARE(f.session.undoStack()->undoText(), QString("Assign axis dp to 2 nodes"));
        QCOMPARE(f.axes({f.node("mm1"), false, 1}), std::string("[dp][]"));
        QCOMPARE(f.axes({f.node("mm2"), false, 1}), std::string("[dp][]"));
        const int count = f.session.undoStack()->count();
        f.session.undoStack()->undo();
        QVERIFY(waitForAnalysis(f.session));
        QVERIFY(!hasSpec(f.session.document(), *f.session.analysis(), {f.node("mm1"), false, 1}));
        QVERIFY(!hasSpec(f.session.document(), *f.session.analysis(), {f.node("mm2"), false, 1}));
        QCOMPARE(f.session.undoStack()->index(), count - 1);
    }
    void aMixedSelectionOffersEachOfItsOperators() {
        Fixture f;
        auto* links = f.inspector.findChild<QLabel*>("operatorLinks");
        f.inspector.showNodes({f.node("mm1"), f.node("mm2")});
        QVERIFY(!links->isVisible());
        f.inspector.showNodes({f.node("act"), f.node("mm2"), f.node("mm1")});
        QVERIFY(links->isVisible());
        QVERIFY2(links->text().contains(">MatMul × 2</a>") && links->text().contains(">Gelu</a>"),
                 qPrintable(links->text()));
        f.inspector.showNodes({f.node("act")});
        QVERIFY(!links->isVisible());
    }
    void anOperatorOfAMixedSelectionIsChosenWithTheKeyboard() {
        Fixture f;
        auto* links = f.inspector.findChild<QLabel*>("operatorLinks");
        QList<NodeId> wanted;
        QObject::connect(&f.inspector, &InspectorPanel::nodesWanted, &f.inspector,
                         [&](const QList<NodeId>& nodes) { wanted = nodes; });
        f.inspector.showNodes({f.node("act"), f.node("mm2"), f.node("mm1")});
        f.inspector.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&f.inspector));
        // The first of them is under the keyboard at once, Tab goes to the next.
        links->setFocus(Qt::TabFocusReason);
        QTRY_VERIFY(links->hasFocus());
        QTest::keyClick(links, Qt::Key_Return);
        QCOMPARE(wanted, (QList<NodeId>{f.node("mm2"), f.node("mm1")}));
        QTest::keyClick(links, Qt::Key_Tab);
        QTest::keyClick(links, Qt::Key_Return);
        QCOMPARE(wanted, QList<NodeId>{f.node("act")});
        QVERIFY(links->hasFocus());
        QTest::keyClick(links, Qt::Key_Tab);
        QVERIFY(!links->hasFocus());
    }
    void aDimensionIsSplitIntoParts() {
        Fixture f;
        const TensorSlot slot{f.node("mm1"), false, 1};
        f.inspector.selectSlot(slot);
        choose(f.picker(1), "In Parts…");
        auto* dialog = f.inspector.findChild<QInputDialog*>("partsDialog");
        QVERIFY(dialog);
        dialog->setTextValue("4*tp");
        dialog->accept();
        QVERIFY(waitForAnalysis(f.session));
        QCOMPARE(f.session.undoStack()->undoText(),
                 QString("Split dimension 1 of w1 at mm1 as 4*tp"));
        QCOMPARE(f.picker(1)->text(), QString("4*64/tp"));
    }
    void partsThatDoNotFitKeepTheDialogOpenWithWords() {
        Fixture f;
        QSignalSpy refused(&f.inspector, &InspectorPanel::refused);
        f.inspector.selectSlot({f.node("mm1"), false, 1});
        const int before = f.session.undoStack()->count();
        choose(f.picker(1), "In Parts…");
        QPointer<QInputDialog> dialog = f.inspector.findChild<QInputDialog*>("partsDialog");
        QVERIFY(dialog);
        const QString asked = dialog->labelText();
        dialog->setTextValue("3*tp");
        QTest::keyClick(dialog->findChild<QLineEdit*>(), Qt::Key_Return);
        QVERIFY(dialog && dialog->isVisible());
        QCOMPARE(dialog->textValue(), QString("3*tp"));
        QVERIFY2(dialog->labelText().startsWith(asked) && dialog->labelText() != asked,
                 qPrintable(dialog->labelText()));
        QVERIFY(dialog->labelText().mid(asked.size()).contains("256"));
        QCOMPARE(refused.count(), 0);
        QCOMPARE(f.session.undoStack()->count(), before);
        dialog->setTextValue("4*tp");
        QTest::keyClick(dialog->findChild<QLineEdit*>(), Qt::Key_Return);
        QVERIFY(!dialog || !dialog->isVisible());
        QCOMPARE(f.session.undoStack()->count(), before + 1);
    }
    void theMenuStartsOnThePresentStateAndChoosingItWritesNothing() {
        Fixture f;
        const TensorSlot slot{f.node("mm1"), false, 1};
        f.inspector.selectSlot(slot);
        const int before = f.session.undoStack()->count();
        QCOMPARE(pressInMenu(f.picker(1), {Qt::Key_Return}), QString("Not split"));
        QCOMPARE(f.session.undoStack()->count(), before);
        QVERIFY(!hasSpec(f.session.document(), *f.session.analysis(), slot));
        QCOMPARE(pressInMenu(f.picker(1), {Qt::Key_Down, Qt::Key_Return}), QString("Not split"));
        QVERIFY(waitForAnalysis(f.session));
        QCOMPARE(f.axes(slot), std::string("[][dp]"));
        QCOMPARE(pressInMenu(f.picker(1), {Qt::Key_Return}), QString("dp (2)"));
        QCOMPARE(f.session.undoStack()->count(), before + 1);
        QCOMPARE(f.axes(slot), std::string("[][dp]"));
    }
    void noFrameStaysWhereThePointerLeftOverTheMenu() {
        Fixture f;
        f.inspector.selectSlot({f.node("mm1"), false, 1});
        AxisPicker* picker = f.picker(1);
        QCursor::setPos(f.inspector.mapToGlobal(QPoint(2, 2)));
        picker->setAttribute(Qt::WA_UnderMouse);
        QCOMPARE(pressInMenu(picker, {Qt::Key_Escape}), QString("Not split"));
        QVERIFY(!picker->testAttribute(Qt::WA_UnderMouse));
    }
    void thePresentStateOfTheFirstGoesToTheOthersThatLieOtherwise() {
        Fixture f;
        const TensorSlot second[] = {{f.node("mm2"), false, 1}};
        f.session.push(*assignAxes(f.session.document(), *f.session.analysis(), second, 1, {1}));
        QVERIFY(waitForAnalysis(f.session));
        f.inspector.showNodes({f.node("mm2"), f.node("mm1")});
        f.tensors()->setCurrentIndex(f.tensors()->model()->index(1, 0));
        QCOMPARE(pressInMenu(f.picker(1), {Qt::Key_Return}), QString("Not split"));
        QVERIFY(waitForAnalysis(f.session));
        QCOMPARE(f.axes(second[0]), std::string("[][]"));
    }
    void removeIsForAnnotationsOnly() {
        Fixture f;
        f.inspector.showNodes({f.node("mm1"), f.node("mm2")});
        f.tensors()->setCurrentIndex(f.tensors()->model()->index(1, 0));
        QVERIFY(!f.inspector.findChild<QPushButton*>("removeSpec")->isEnabled());
        choose(f.picker(0), "dp (2)");
        QVERIFY(waitForAnalysis(f.session));
        QVERIFY(f.inspector.findChild<QPushButton*>("removeSpec")->isEnabled());
    }
    void differentStagesAreSaid() {
        Fixture f;
        f.inspector.showNodes({f.node("mm1")});
        auto* stage = f.inspector.findChild<QSpinBox*>("stage");
        stage->setFocus();
        QTest::keyClick(stage, Qt::Key_Up);
        QVERIFY(waitForAnalysis(f.session));
        QCOMPARE(stage->text(), QString("0"));
        const int before = f.session.undoStack()->count();
        f.inspector.showNodes({f.node("mm1"), f.node("act")});
        QCOMPARE(stage->text(), QString("mixed"));
        QCOMPARE(f.session.undoStack()->count(), before);
        QTest::keyClick(stage, Qt::Key_Up);
        QTest::keyClick(stage, Qt::Key_Up);
        QVERIFY(waitForAnalysis(f.session));
        QCOMPARE(stageOf(f.session.document(), *f.session.analysis(), f.node("act")), 0);
    }
    void aScopeShowsWhatItHoldsAndChangesAllOfIt() {
        Fixture f(ModelBuilder{}
                      .input("x", {8, 64})
                      .weight("w1", {64, 256})
                      .weight("w2", {256, 64})
                      .op("MatMul", {"x", "w1"}, {"h"}, "mlp/up")
                      .op("Relu", {"h"}, {"a"}, "mlp/act")
                      .op("MatMul", {"a", "w2"}, {"y"}, "mlp/down")
                      .op("Neg", {"y"}, {"z"}, "neg")
                      .output("z", {8, 64}));
        const TensorSlot up[] = {{f.node("mlp/up"), false, 1}};
        const TensorSlot down[] = {{f.node("mlp/down"), false, 1}};
        f.session.push(*assignAxes(f.session.document(), *f.session.analysis(), up, 1, {1}));
        QVERIFY(waitForAnalysis(f.session));
        f.session.push(*assignAxes(f.session.document(), *f.session.analysis(), down, 0, {1}));
        QVERIFY(waitForAnalysis(f.session));
        const GraphIndex& graph = f.session.document().graph();
        f.inspector.showScope(graph.node(f.node("mlp/up")).scope);
        auto* view = f.inspector.findChild<ScopeView*>();
        QVERIFY(view->isVisible());
        const ScopeFacts& facts = view->facts();
        QCOMPARE(facts.nodes.size(), std::size_t(3));
        QCOMPARE(facts.operators.front().name, std::string("MatMul"));
        QCOMPARE(facts.operators.front().count, 2);
        QCOMPARE(facts.parameters, std::int64_t(2 * 64 * 256));
        QCOMPARE(facts.parameterBytes, std::int64_t(4 * 2 * 64 * 256));
        QCOMPARE(facts.explicitNodes, 2);
        const auto& reduce = facts.communication.at(CollectiveKind::AllReduce);
        QCOMPARE(reduce.bytes, f.session.analysis()->communication.totalBytes);
        // The operators lead to their nodes.
        QList<NodeId> wanted;
        connect(&f.inspector, &InspectorPanel::nodesWanted, this,
                [&](const QList<NodeId>& nodes) { wanted = nodes; });
        auto* operators = f.inspector.findChild<QTreeWidget*>("operators");
        operators->setCurrentItem(operators->topLevelItem(0));
        operators->setFocus();
        QTest::keyClick(operators, Qt::Key_Return);
        QCOMPARE(wanted, (QList<NodeId>{f.node("mlp/up"), f.node("mlp/down")}));
        QTest::mouseClick(f.inspector.findChild<QPushButton*>("selectScopeNodes"), Qt::LeftButton);
        QCOMPARE(wanted.size(), 3);
        // A stage for all of it.
        auto* stage = f.inspector.findChild<QSpinBox*>("scopeStage");
        stage->setFocus();
        QTest::keyClick(stage, Qt::Key_Up);
        QVERIFY(waitForAnalysis(f.session));
        QCOMPARE(stageOf(f.session.document(), *f.session.analysis(), f.node("mlp/act")), 0);
        QCOMPARE(stageOf(f.session.document(), *f.session.analysis(), f.node("neg")), -1);
        QCOMPARE(f.session.undoStack()->undoText(), QString("Assign stage 0 to mlp"));
        QTest::mouseClick(f.inspector.findChild<QPushButton*>("clearScope"), Qt::LeftButton);
        QVERIFY(waitForAnalysis(f.session));
        QVERIFY(!hasSpec(f.session.document(), *f.session.analysis(), up[0]));
        // A node takes its place.
        f.inspector.showNodes({f.node("neg")});
        QVERIFY(!view->isVisible());
    }
    void aWeightOfTwoReadersCountsOnce() {
        Fixture f(ModelBuilder{}
                      .input("x", {8, 64})
                      .weight("w", {64, 64})
                      .op("MatMul", {"x", "w"}, {"h"}, "s/a")
                      .op("MatMul", {"h", "w"}, {"y"}, "s/b")
                      .output("y", {8, 64}));
        const GraphIndex& graph = f.session.document().graph();
        const ScopeFacts facts = scopeFacts(*f.session.analysis(), graph.node(f.node("s/a")).scope);
        QCOMPARE(facts.weights, 1);
        QCOMPARE(facts.parameters, std::int64_t(64 * 64));
    }
    void theStageIsSetWithTheKeyboard() {
        Fixture f;
        f.inspector.showNodes({f.node("mm1"), f.node("act")});
        auto* stage = f.inspector.findChild<QSpinBox*>("stage");
        QCOMPARE(stage->text(), QString("none"));
        stage->setFocus();
        QTest::keyClick(stage, Qt::Key_Up);
        QVERIFY(waitForAnalysis(f.session));
        QCOMPARE(stageOf(f.session.document(), *f.session.analysis(), f.node("mm1")), 0);
        QCOMPARE(stageOf(f.session.document(), *f.session.analysis(), f.node("act")), 0);
        QCOMPARE(f.session.undoStack()->undoText(), QString("Assign stage 0 to 2 nodes"));
    }
    void enterOnAnInputGoesToItsProducer() {
        Fixture f;
        f.inspector.selectSlot({f.node("mm2"), false, 0});
        QList<NodeId> wanted;
        connect(&f.inspector, &InspectorPanel::nodeWanted, this,
                [&](NodeId node) { wanted << node; });
        f.tensors()->setFocus();
        QTest::keyClick(f.tensors(), Qt::Key_Return);
        QCOMPARE(wanted, QList<NodeId>{f.node("act")});
    }
    void withoutMeshItOffersOne() {
        Fixture f(mlp(), false);
        f.inspector.showNodes({f.node("mm1")});
        QVERIFY(!f.picker(0)->isEnabled());
        QTest::mouseClick(f.mesh.findChild<QPushButton*>("addFirstMesh"), Qt::LeftButton);
        QVERIFY(waitForAnalysis(f.session));
        QCOMPARE(f.session.analysis()->configuration.name, std::string("default"));
        QVERIFY(f.picker(0)->isEnabled());
    }
    void unevenSplitsAreWarnedOf() {
        Fixture f(ModelBuilder{}.input("x", {10, 4}).op("Relu", {"x"}, {"y"}, "relu").output("y"),
                  false);
        addMesh(f.session, {{{"tp", 4}}});
        f.inspector.selectSlot({f.node("relu"), false, 0});
        choose(f.picker(0), "tp (4)");
        QVERIFY(waitForAnalysis(f.session));
        bool warned = false;
        for (const QLabel* label : f.inspector.findChildren<QLabel*>())
            warned = warned || label->text() == "⚠ 10 → 3 + 3 + 3 + 1";
        QVERIFY(warned);
    }
    void axesAreResizedRenamedAddedAndRemoved() {
        Fixture f;
        const TensorSlot slot{f.node("mm1"), false, 1};
        f.inspector.selectSlot(slot);
        choose(f.picker(1), "tp (2)");
        QVERIFY(waitForAnalysis(f.session));
        auto* axes = f.mesh.findChild<QTableWidget*>("axes");
        QCOMPARE(axes->rowCount(), 2);
        axes->item(1, 1)->setData(Qt::EditRole, 4);
        QVERIFY(waitForAnalysis(f.session));
        QCOMPARE(f.session.analysis()->configuration.mesh.text(), std::string("dp=2,tp=4"));
        QCOMPARE(f.axes(slot), std::string("[][tp]"));
        axes->item(1, 0)->setText("model");
        QVERIFY(waitForAnalysis(f.session));
        QCOMPARE(f.axes(slot), std::string("[][model]"));
        axes->setCurrentCell(0, 0);
        QTest::mouseClick(button(f.mesh, "Remove the axis"), Qt::LeftButton);
        QVERIFY(waitForAnalysis(f.session));
        QCOMPARE(f.session.analysis()->configuration.mesh.text(), std::string("model=4"));
        QTest::mouseClick(button(f.mesh, "Add an axis"), Qt::LeftButton);
        QVERIFY(waitForAnalysis(f.session));
        QCOMPARE(f.session.analysis()->configuration.mesh.axes.size(), std::size_t(2));
        while (f.session.undoStack()->canUndo())
            f.session.undoStack()->undo();
        QVERIFY(*f.session.document().toBytes() == mlp().bytes());
    }
    void theAxesHaveRoomBesideFewStages() {
        Fixture f;
        f.mesh.resize(320, 240);
        QTest::mouseClick(button(f.mesh, "Bind the next stage to devices"), Qt::LeftButton);
        QVERIFY(waitForAnalysis(f.session));
        auto* axes = f.mesh.findChild<QTableWidget*>("axes");
        auto* stages = f.mesh.findChild<QTableWidget*>("stages");
        QTRY_COMPARE(stages->rowCount(), 1);
        QTRY_VERIFY(stages->isVisible());
        QTRY_VERIFY(axes->viewport()->rect().contains(
            axes->visualItemRect(axes->item(axes->rowCount() - 1, 0))));
        QTRY_VERIFY(
            stages->viewport()->rect().contains(stages->visualItemRect(stages->item(0, 0))));
        QVERIFY(stages->viewport()->height() < 2 * stages->rowHeight(0));
    }
    void aBadAxisNameIsRefusedWithWords() {
        Fixture f;
        QSignalSpy refused(&f.mesh, &MeshPanel::refused);
        auto* axes = f.mesh.findChild<QTableWidget*>("axes");
        const int before = f.session.undoStack()->count();
        axes->item(0, 0)->setText("not a name!");
        QCOMPARE(refused.count(), 1);
        QCOMPARE(f.session.undoStack()->count(), before);
        QCOMPARE(axes->item(0, 0)->text(), QString("dp"));
    }
    void configurationsAreAddedChosenAndRemoved() {
        Fixture f;
        QTest::mouseClick(button(f.mesh, "Add a configuration"), Qt::LeftButton);
        QVERIFY(waitForAnalysis(f.session));
        QCOMPARE(f.session.analysis()->configuration.name, std::string("default"));
        auto* box = f.mesh.findChild<QComboBox*>("configurations");
        QCOMPARE(box->count(), 2);
        QTest::mouseClick(button(f.mesh, "Remove this configuration"), Qt::LeftButton);
        QVERIFY(waitForAnalysis(f.session));
        QCOMPARE(f.session.analysis()->configuration.name, std::string("c"));
    }

private:
    static QToolButton* button(QWidget& parent, const QString& tip) {
        for (auto* each : parent.findChildren<QToolButton*>())
            if (each->toolTip() == tip)
                return each;
        qFatal("no button %s", qPrintable(tip));
    }
};

QTEST_MAIN(TstInspector)
#include "tst_inspector.moc"
