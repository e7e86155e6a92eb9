// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/proposals_panel.h"

#include "sharding/shard_text.h"
#include "support/generated_transformer.h"
#include "support/ui/editor_fixture.h"
#include "support/ui/held_job.h"
#include "ui/panels/detail_text.h"
#include "ui/panels/proposal_list.h"
#include "ui/panels/proposals_model.h"
#include "ui/window/theme.h"

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QTreeView>

using namespace shardwright;
using namespace shardwright::test;

namespace {

/// A panel on a model with a mesh tp=2.
struct Fixture {
    Sandbox box;
    EditorSession session;
    ProposalsPanel panel{&session};
    QSignalSpy nodes{&panel, &ProposalsPanel::nodesWanted};

    Fixture() {
        applyTheme(ThemeChoice::Light);
        QObject::connect(&session, &EditorSession::analysisChanged, &panel,
                         &ProposalsPanel::setAnalysis);
        panel.resize(900, 320);
        panel.show();
    }
    explicit Fixture(const ModelBuilder& model, const std::vector<std::string>& shards = {})
        : Fixture() {
        if (!openAndAnalyse(session, box.write("m.onnx", model.bytes())))
            qFatal("not opened");
        addMesh(session);
        annotate(shards);
    }
    void annotate(const std::vector<std::string>& shards) {
        if (shards.empty())
            return;
        AnnotateRequest request;
        request.shards = shards;
        LayoutPool pool;
        const auto outcome =
            shardwright::annotate(session.document(), *session.analysis()->shapes, request, pool);
        if (!outcome)
            qFatal("%s", outcome.error().text().c_str());
        session.push(outcome->edit);
        if (!waitForAnalysis(session))
            qFatal("no analysis");
    }
    bool settle() {
        return QTest::qWaitFor([&] { return session.isAnalysisCurrent() && !panel.isBusy(); },
                               20000);
    }
    bool propose() {
        QTest::mouseClick(button("propose"), Qt::LeftButton);
        return settle() && panel.list();
    }
    QPushButton* button(const char* name) const { return panel.findChild<QPushButton*>(name); }
    QAbstractItemModel* rows() const { return panel.view()->model(); }
    QString text(int row, int column, const QModelIndex& parent = {}) const {
        return rows()->index(row, column, parent).data().toString();
    }
    int rowOf(const QString& tensor) const {
        for (int row = 0; row < rows()->rowCount(); ++row)
            if (text(row, ProposalsModel::Tensor) == tensor)
                return row;
        return -1;
    }
    void select(int row) const { panel.view()->setCurrentIndex(rows()->index(row, 0)); }
    /// The tensors that nodes say something about, "mm1 w1; ...".
    QStringList specs() const {
        QStringList list;
        const auto& nodes = session.analysis()->annotations.nodes;
        for (std::size_t n = 0; n < nodes.size(); ++n)
            if (nodes[n])
                for (const DecodedSpec& spec : nodes[n]->specs)
                    list << QString::fromStdString(session.document().graph().label(NodeId(n)) +
                                                   " " + spec.tensor);
        list.sort();
        return list;
    }
};

}  // namespace

class TstProposalsPanel : public QObject {
    Q_OBJECT
private slots:
    void itSaysWhatIsMissingBeforeThereIsAnythingToPropose() {
        Fixture f;
        QVERIFY2(f.panel.statusText().contains("Open a model"), qPrintable(f.panel.statusText()));
        QVERIFY(!f.button("propose")->isEnabled());
        QVERIFY(openAndAnalyse(f.session, f.box.write("m.onnx", mlp().bytes())));
        QVERIFY2(f.panel.statusText().contains("no device configuration"),
                 qPrintable(f.panel.statusText()));
        QVERIFY(!f.button("propose")->isEnabled());
        addMesh(f.session);
        QVERIFY2(f.panel.statusText().contains("Nothing is annotated"),
                 qPrintable(f.panel.statusText()));
        QVERIFY(!f.button("propose")->isEnabled());
        // The menu's command comes here, too.
        f.panel.propose();
        QVERIFY(!f.panel.isBusy());
        f.annotate({"w1:1=tp"});
        QVERIFY(f.button("propose")->isEnabled());
        QVERIFY(!f.button("acceptAll")->isEnabled());
    }
    void whatFollowsFromAnAnnotationIsListedWithItsSource() {
        Fixture f(mlp(), {"w1:1=tp"});
        QVERIFY(f.propose());
        QCOMPARE(f.rows()->rowCount(), 3);
        const int h = f.rowOf("h"), a = f.rowOf("a"), w2 = f.rowOf("w2");
        QVERIFY(h >= 0 && a >= 0 && w2 >= 0);
        QCOMPARE(f.text(h, ProposalsModel::Node), QString("mm1"));
        QCOMPARE(f.text(h, ProposalsModel::LayoutColumn), QString("· · tp"));
        QCOMPARE(f.text(w2, ProposalsModel::LayoutColumn), QString("tp ·"));
        QCOMPARE(f.text(w2, ProposalsModel::From), QString("tp: `w1` at mm1"));
        QCOMPARE(f.text(w2, ProposalsModel::Reshard), QString());
        QVERIFY2(f.panel.statusText().startsWith("3 layouts"), qPrintable(f.panel.statusText()));
        f.select(w2);
        const auto* words = f.panel.findChild<DetailText*>("proposalWords");
        QVERIFY2(words->isVisible() && words->text().contains("forward through Gelu `act`"),
                 qPrintable(words->text()));
    }
    void aLongWayLeavesTheTableItsHeight() {
        ModelBuilder model;
        model.input("x", {8, 16}).weight("w", {16, 32}).op("MatMul", {"x", "w"}, {"t0"}, "first");
        for (int i = 0; i < 20; ++i)
            model.op("Relu", {"t" + std::to_string(i)}, {"t" + std::to_string(i + 1)},
                     "a node with a long name, so that its way takes many lines " +
                         std::to_string(i));
        Fixture f(model.output("t20", {8, 32}), {"w:1=tp"});
        QVERIFY(f.propose());
        f.select(f.rowOf("t20"));
        QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
        QVERIFY(f.panel.view()->height() >= 150);
    }
    void aNodeThatWouldReshardSaysSo() {
        // The sum of both wants its second input otherwise than it comes.
        Fixture f(ModelBuilder{}
                      .input("x", {8, 16})
                      .input("z", {8, 16})
                      .op("Relu", {"x"}, {"a"}, "left")
                      .op("Relu", {"z"}, {"b"}, "right")
                      .op("Add", {"a", "b"}, {"c"}, "add")
                      .output("c", {8, 16}),
                  {"a@left:0=tp", "b@right:1=tp", "c@add:0=tp"});
        QVERIFY(f.propose());
        QStringList resharded;
        for (int row = 0; row < f.rows()->rowCount(); ++row)
            if (!f.text(row, ProposalsModel::Reshard).isEmpty())
                resharded << f.text(row, ProposalsModel::Node) + " " +
                                 f.text(row, ProposalsModel::Tensor);
        QCOMPARE(resharded, QStringList{"add b"});
    }
    void acceptingAllIsOneStepToUndoAndLeavesNothingToPropose() {
        Fixture f(mlp(), {"w1:1=tp"});
        const auto before = *f.session.document().toBytes();
        const int steps = f.session.undoStack()->count();
        QVERIFY(f.propose());
        QTest::mouseClick(f.button("acceptAll"), Qt::LeftButton);
        QVERIFY(f.settle());
        QCOMPARE(f.session.undoStack()->count(), steps + 1);
        QCOMPARE(f.session.undoStack()->undoText(), QString("Accept 3 layouts"));
        QCOMPARE(f.specs(), (QStringList{"act a", "mm1 h", "mm1 w1", "mm2 w2"}));
        QCOMPARE(f.session.analysis()->count(Severity::Error), 0);
        QVERIFY2(f.panel.statusText().startsWith("Nothing to propose"),
                 qPrintable(f.panel.statusText()));
        f.session.undoStack()->undo();
        QCOMPARE(*f.session.document().toBytes(), before);
    }
    void onlyWhatIsSelectedIsAcceptedAndTheRestProposedAgain() {
        Fixture f(mlp(), {"w1:1=tp"});
        QVERIFY(f.propose());
        QVERIFY(!f.button("acceptSelected")->isEnabled());
        f.select(f.rowOf("h"));
        QVERIFY(f.button("acceptSelected")->isEnabled());
        QTest::mouseClick(f.button("acceptSelected"), Qt::LeftButton);
        QVERIFY(f.settle());
        QCOMPARE(f.session.undoStack()->undoText(), QString("Accept 1 layout"));
        QCOMPARE(f.specs(), (QStringList{"mm1 h", "mm1 w1"}));
        QCOMPARE(f.rows()->rowCount(), 2);
        QCOMPARE(f.rowOf("h"), -1);
    }
    void whatWasProposedForOtherAnnotationsIsNeverAccepted() {
        Fixture f(mlp(), {"w1:1=tp"});
        QVERIFY(f.propose());
        f.select(f.rowOf("h"));
        // The edit for mm1 would take this back.
        f.session.push(editSpec(f.session.document(),
                                nodeNamed(f.session.document().graph(), "mm1"), "c", "w1", nullptr,
                                {}));
        QVERIFY2(f.panel.statusText().contains("propose again"), qPrintable(f.panel.statusText()));
        QVERIFY(!f.button("acceptAll")->isEnabled() && !f.button("acceptSelected")->isEnabled());
        const int steps = f.session.undoStack()->count();
        f.panel.acceptAll();
        f.panel.acceptSelected();
        QVERIFY(f.settle());
        QCOMPARE(f.session.undoStack()->count(), steps);
        QCOMPARE(f.specs(), QStringList());
        QVERIFY(!f.button("acceptAll")->isEnabled());
        // As they were again, it is right again.
        f.session.undoStack()->undo();
        QVERIFY(f.settle());
        QVERIFY2(!f.panel.statusText().contains("propose again"), qPrintable(f.panel.statusText()));
        QVERIFY(f.button("acceptAll")->isEnabled());
    }
    void whatIsChangedWhileTheSelectionIsWorkedOutIsNotTakenBack() {
        Fixture f(mlp(), {"w1:1=tp"});
        QVERIFY(f.propose());
        f.select(f.rowOf("h"));
        f.panel.acceptSelected();
        f.session.push(editSpec(f.session.document(),
                                nodeNamed(f.session.document().graph(), "mm1"), "c", "w1", nullptr,
                                {}));
        QVERIFY(f.settle());
        QCOMPARE(f.specs(), QStringList());
    }
    void anotherConfigurationMakesThemOld() {
        Fixture f(mlp(), {"w1:1=tp"});
        f.session.push(editConfiguration(f.session.document(), "d", {{{"dp", 2}}}));
        QVERIFY(waitForAnalysis(f.session));
        f.session.setConfiguration("c");
        QVERIFY(waitForAnalysis(f.session));
        QVERIFY(f.propose());
        QVERIFY(f.button("acceptAll")->isEnabled());
        f.session.setConfiguration("d");
        QVERIFY(f.settle());
        QVERIFY(!f.button("acceptAll")->isEnabled());
        QVERIFY2(f.panel.statusText().contains("propose again"), qPrintable(f.panel.statusText()));
    }
    void proposingIsCancelledFromTheSameButton() {
        Fixture f(mlp(), {"w1:1=tp"});
        // Its turn does not come before this one is over.
        HeldJob before(*f.session.jobs(), JobTracker::Kind::Proposals);
        QTest::mouseClick(f.button("propose"), Qt::LeftButton);
        QVERIFY(f.panel.isProposing());
        QCOMPARE(f.button("propose")->text(), QString("Cancel"));
        QTest::mouseClick(f.button("propose"), Qt::LeftButton);
        QVERIFY(!f.panel.isBusy());
        QCOMPARE(f.panel.statusText(), QString("Cancelled."));
        before.letGo();
        QVERIFY(f.propose());
        QCOMPARE(f.rows()->rowCount(), 3);
    }
    void theWindowAnswersWhileItProposes() {
        Fixture f(mlp(), {"w1:1=tp"});
        HeldJob before(*f.session.jobs(), JobTracker::Kind::Proposals);
        f.panel.propose();
        int events = 0;
        QTimer::singleShot(0, &f.panel, [&] { ++events; });
        QTRY_COMPARE(events, 1);
        QVERIFY(f.panel.isProposing());
        before.letGo();
        QVERIFY(f.settle());
        QVERIFY(f.panel.list());
    }
    void proposingRightAfterAnEditWaitsForItsCheck() {
        Fixture f(mlp(), {"w1:1=tp"});
        f.session.push(editSpec(f.session.document(),
                                nodeNamed(f.session.document().graph(), "mm1"), "c", "w1", nullptr,
                                {}));
        f.session.undoStack()->undo();
        f.panel.propose();
        QVERIFY(!f.panel.isProposing() && f.panel.isBusy());
        QVERIFY(f.settle());
        QVERIFY(f.panel.list() && f.panel.isCurrent());
        QVERIFY(f.panel.list()->analysis == f.session.analysis());
    }
    void theDirectionIsFollowed() {
        Fixture f(mlp(), {"w1:1=tp"});
        auto* direction = f.panel.findChild<QComboBox*>("direction");
        direction->setCurrentText("Forward");
        QVERIFY(f.propose());
        QCOMPARE(f.panel.list()->options.direction, PropagationDirection::Forward);
        direction->setCurrentText("Reverse");
        QVERIFY(f.propose());
        QCOMPARE(f.panel.list()->options.direction, PropagationDirection::Reverse);
        QCOMPARE(f.rowOf("h"), -1);
    }
    void everyPolicyOfTheCommandLineIsOffered() {
        Fixture f(mlp(), {"w1:1=tp"});
        auto* policy = f.panel.findChild<QComboBox*>("policy");
        QCOMPARE(policy->count(), static_cast<int>(propagationPolicies().size()));
        for (int i = 0; i < policy->count(); ++i) {
            QVERIFY(!policy->itemData(i, Qt::ToolTipRole).toString().isEmpty());
            policy->setCurrentIndex(i);
            QVERIFY(f.propose());
            QVERIFY(f.panel.list()->options.policy.name ==
                    propagationPolicies()[static_cast<std::size_t>(i)].name);
        }
    }
    void repeatedLayersAreOneRowThatOpens() {
        TransformerSizes sizes;
        sizes.layers = 3;
        Fixture f(transformer(sizes), {"#in1@MatMul!*gate_proj*:1=tp"});
        QVERIFY(f.propose());
        QModelIndex group;
        for (int i = 0; i < f.rows()->rowCount(); ++i)
            if (f.text(i, ProposalsModel::Node) == "model/layers.*/mlp/gate_proj/MatMul × 3")
                group = f.rows()->index(i, 0);
        QVERIFY(group.isValid());
        QCOMPARE(f.rows()->rowCount(group), 3);
        QCOMPARE(f.text(2, ProposalsModel::Node, group),
                 QString("model/layers.2/mlp/gate_proj/MatMul"));
        // Enter leads to all of them, or to the one.
        f.panel.view()->setFocus();
        f.panel.view()->setCurrentIndex(group);
        QTest::keyClick(f.panel.view(), Qt::Key_Return);
        QCOMPARE(f.nodes.last().front().value<QList<NodeId>>().size(), 3);
        f.panel.view()->expand(group);
        f.panel.view()->setCurrentIndex(f.rows()->index(1, 0, group));
        QTest::keyClick(f.panel.view(), Qt::Key_Return);
        QCOMPARE(f.nodes.last().front().value<QList<NodeId>>(),
                 QList<NodeId>{nodeNamed(f.session.document().graph(),
                                         "model/layers.1/mlp/gate_proj/MatMul")});
        // The group with one of its members: each once.
        f.panel.view()->selectionModel()->select(group, QItemSelectionModel::Select |
                                                            QItemSelectionModel::Rows);
        QTest::mouseClick(f.button("acceptSelected"), Qt::LeftButton);
        QVERIFY(f.settle());
        QCOMPARE(f.session.undoStack()->undoText(), QString("Accept 3 layouts"));
    }
    void aSearchLeavesWhatItFindsAndAcceptingThatAcceptsNothingElse() {
        TransformerSizes sizes;
        sizes.layers = 3;
        Fixture f(transformer(sizes), {"#in1@MatMul!*gate_proj*:1=tp"});
        QVERIFY(f.propose());
        const int all = f.rows()->rowCount();
        auto* search = f.panel.findChild<QLineEdit*>("proposalSearch");
        search->setFocus();
        QTest::keyClicks(search, "layers.1");
        QVERIFY(f.settle());
        QCOMPARE(f.rows()->rowCount(), all);
        for (int row = 0; row < all; ++row)
            QVERIFY2(f.text(row, ProposalsModel::Node).startsWith("model/layers.1/"),
                     qPrintable(f.text(row, ProposalsModel::Node)));
        QVERIFY2(f.panel.statusText().contains("shown"), qPrintable(f.panel.statusText()));
        f.panel.view()->selectAll();
        f.panel.acceptSelected();
        QVERIFY(f.settle());
        for (const QString& spec : f.specs())
            QVERIFY2(spec.contains("layers.1/") || spec.contains("gate_proj"), qPrintable(spec));
        search->setText("no such node");
        QVERIFY(f.settle());
        QVERIFY2(f.panel.statusText().startsWith("Nothing proposed has this"),
                 qPrintable(f.panel.statusText()));
    }
    void dismissedProposalsAreGoneAndTheModelIsAsBefore() {
        Fixture f(mlp(), {"w1:1=tp"});
        const auto before = *f.session.document().toBytes();
        QVERIFY(f.propose());
        QTest::mouseClick(f.button("dismiss"), Qt::LeftButton);
        QVERIFY(!f.panel.list());
        QCOMPARE(f.rows()->rowCount(), 0);
        QCOMPARE(*f.session.document().toBytes(), before);
    }
    void anotherModelTakesThemAway() {
        Fixture f(mlp(), {"w1:1=tp"});
        QVERIFY(f.propose());
        f.panel.setAnalysis(nullptr);
        QVERIFY(!f.panel.list());
        QVERIFY(openAndAnalyse(f.session, f.box.write("n.onnx", mlp().bytes())));
        QCOMPARE(f.rows()->rowCount(), 0);
        QVERIFY(!f.button("acceptAll")->isEnabled());
    }
    void theModelIsOneThatViewsUnderstand() {
        TransformerSizes sizes;
        sizes.layers = 2;
        Fixture f(transformer(sizes), {"#in1@MatMul!*gate_proj*:1=tp"});
        QAbstractItemModelTester tester(f.rows(),
                                        QAbstractItemModelTester::FailureReportingMode::QtTest);
        QVERIFY(f.propose());
        QVERIFY(f.rows()->rowCount() > 0);
    }
    void numbersThatDifferAreAStar_data() {
        QTest::addColumn<QString>("first");
        QTest::addColumn<QString>("last");
        QTest::addColumn<QString>("common");
        QTest::newRow("same") << "a/fc1"
                              << "a/fc1"
                              << "a/fc1";
        QTest::newRow("layers") << "h.0/fc1"
                                << "h.11/fc1"
                                << "h.*/fc1";
        QTest::newRow("other words") << "a/fc1"
                                     << "b/fc1"
                                     << "a/fc1";
        QTest::newRow("longer") << "a.1"
                                << "a.1/b"
                                << "a.1";
        QTest::newRow("empty") << ""
                               << ""
                               << "";
    }
    void numbersThatDifferAreAStar() {
        QFETCH(QString, first);
        QFETCH(QString, last);
        QTEST(QString::fromStdString(commonName(first.toStdString(), last.toStdString())),
              "common");
    }
};

QTEST_MAIN(TstProposalsPanel)
#include "tst_proposals_panel.moc"
