// SPDX-License-Identifier: Apache-2.0
#include "sharding/shard_text.h"
#include "support/ui/editor_fixture.h"
#include "ui/panels/chips.h"
#include "ui/panels/communication_model.h"
#include "ui/panels/communication_panel.h"
#include "ui/panels/diagnostics_model.h"
#include "ui/panels/elided_button.h"
#include "ui/panels/found_model.h"
#include "ui/panels/node_search.h"
#include "ui/panels/structure_model.h"
#include "ui/panels/tensor_model.h"
#include "ui/window/text.h"

#include <QAbstractItemModelTester>
#include <QLabel>
#include <QScrollBar>
#include <QTest>
#include <QTreeView>

using namespace shardwright;
using namespace shardwright::test;

namespace {

constexpr auto kMode = QAbstractItemModelTester::FailureReportingMode::QtTest;

std::shared_ptr<const Analysis> analysed(const ModelBuilder& model,
                                         const std::vector<std::string>& shards) {
    Document document = model.document();
    Analyser analyser;
    if (!shards.empty()) {
        apply(document.annotations, editConfiguration(document, "c", {{{"tp", 2}}}));
        AnnotateRequest request;
        request.shards = shards;
        LayoutPool pool;
        const auto outcome =
            annotate(document, *ShapeTable::build(document.model, {}), request, pool);
        if (!outcome)
            qFatal("%s", outcome.error().text().c_str());
        apply(document.annotations, outcome->edit);
    }
    auto result = analyser.run(document, {});
    if (!result)
        qFatal("%s", result.error().text().c_str());
    return *result;
}

std::shared_ptr<const Analysis> megatron() {
    return analysed(mlp(), {"w1:1=tp", "w2:0=tp"});
}
std::shared_ptr<const Analysis> disagreeing() {
    return analysed(mlp(), {"w1:1=tp", "w2:1=tp"});
}

}  // namespace

class TstPanelModels : public QObject {
    Q_OBJECT
private slots:
    void smallZoomsAreNotZero() {
        QCOMPARE(percentText(0.854), QString("85 %"));
        QCOMPARE(percentText(1), QString("100 %"));
        QCOMPARE(percentText(0.0006), QString("0.06 %"));
    }
    void aFixKeepsItsPriceWhenItIsElided() {
        const QFontMetrics metrics((QFont()));
        const QString text = "Gather `/model/layers.11/self_attn/Reshape_7_output_0` at "
                             "`/model/layers.11/self_attn/o_proj/MatMul` (131072 bytes)";
        // So narrow that the middle alone would take some of the price, too.
        const int narrow = metrics.horizontalAdvance("Gather `... (131072 bytes)");
        const QString shown = elidedBeforeBrackets(metrics, text, narrow);
        QVERIFY(metrics.horizontalAdvance(shown) <= narrow);
        QVERIFY2(shown.endsWith(" (131072 bytes)"), qPrintable(shown));
        QVERIFY(shown.startsWith("Ga"));
        QCOMPARE(elidedBeforeBrackets(metrics, text, metrics.horizontalAdvance(text)), text);
        QVERIFY(metrics.horizontalAdvance(elidedBeforeBrackets(metrics, text, 60)) <= 60);
        QVERIFY(metrics.horizontalAdvance(
                    elidedBeforeBrackets(metrics, "no brackets at all", 60)) <= 60);
        ElidedButton button(QString(5000, u'a') + " (8 bytes)");
        button.resize(300, 30);
        QVERIFY(button.shownText().endsWith("(8 bytes)"));
    }
    void diagnosticsListWhatTheAnalysisSays() {
        DiagnosticsModel model;
        QAbstractItemModelTester tester(&model, kMode);
        DiagnosticsFilter filter;
        filter.setSourceModel(&model);
        QAbstractItemModelTester filterTester(&filter, kMode);
        const auto analysis = disagreeing();
        model.setAnalysis(analysis);
        QCOMPARE(model.rowCount(), static_cast<int>(analysis->diagnostics.size()));
        QVERIFY(model.rowCount() > 0);
        QCOMPARE(model.index(0, DiagnosticsModel::Code).data().toString(),
                 toQt(analysis->diagnostics[0].code));
        QVERIFY(model.index(0, DiagnosticsModel::Message).data().toString().contains("w2"));
        const int errors = analysis->count(Severity::Error);
        filter.setShown(Severity::Error, false);
        QCOMPARE(filter.rowCount(), model.rowCount() - errors);
        filter.setShown(Severity::Error, true);
        QCOMPARE(filter.rowCount(), model.rowCount());
        model.setAnalysis(nullptr);
        QCOMPARE(model.rowCount(), 0);
    }
    void communicationListsEntriesAndBytes() {
        CommunicationModel model;
        QAbstractItemModelTester tester(&model, kMode);
        model.setAnalysis(megatron());
        QCOMPARE(model.rowCount(), 1);
        const auto text = [&](int column) { return model.index(0, column).data().toString(); };
        QVERIFY(text(CommunicationModel::Kind).startsWith("all-reduce"));
        QCOMPARE(text(CommunicationModel::Axes), QString("tp"));
        QCOMPARE(text(CommunicationModel::Groups), QString("{0, 1}"));
        QCOMPARE(text(CommunicationModel::Node), QString("mm2"));
        QCOMPARE(text(CommunicationModel::Bytes), byteText(32768));
        QVERIFY(model.index(0, CommunicationModel::Bytes)
                    .data(Qt::ToolTipRole)
                    .toString()
                    .contains("32"));
        QCOMPARE(model.index(0, CommunicationModel::Bytes)
                     .data(CommunicationModel::SortRole)
                     .toLongLong(),
                 32768);
    }
    void bytesAreThoseOfAllGroups() {
        auto analysis = std::make_shared<Analysis>(*megatron());
        analysis->communication.entries[0].groups = {{0, 1}, {2, 3}};
        CommunicationModel model;
        model.setAnalysis(analysis);
        const QModelIndex bytes = model.index(0, CommunicationModel::Bytes);
        QCOMPARE(bytes.data().toString(), byteText(65536));
        QCOMPARE(bytes.data(CommunicationModel::SortRole).toLongLong(), 65536);
        for (const int column :
             {CommunicationModel::Bytes, CommunicationModel::Sent, CommunicationModel::Groups})
            QVERIFY(
                !model.headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString().isEmpty());
    }
    void theCommunicationTableHasRoomForTheCause() {
        auto analysis = std::make_shared<Analysis>(*megatron());
        analysis->communication.entries[0].groups = {{0, 1}, {2, 3}};
        CommunicationPanel panel;
        panel.resize(900, 200);
        panel.setAnalysis(analysis);
        panel.show();
        auto* view = panel.findChild<QTreeView*>("communication");
        QVERIFY(!view->horizontalScrollBar()->isVisible());
        QVERIFY(view->columnWidth(CommunicationModel::Cause) > 140);
        QVERIFY(view->columnWidth(CommunicationModel::Node) > 100);
        // One row, and two operations.
        int totals = 0;
        for (const QLabel* label : panel.findChildren<QLabel*>())
            totals += label->text().contains("2 × all-reduce (by groups, in 1 row)");
        QCOMPARE(totals, 1);
    }
    void tensorsShowLayoutsAndKeepTheirRowsAcrossEdits() {
        TensorModel model;
        QAbstractItemModelTester tester(&model, kMode);
        const auto analysis = megatron();
        const NodeId node = nodeNamed(analysis->graph(), "mm2");
        model.show(analysis, node);
        QCOMPARE(model.rowCount(), 3);
        QCOMPARE(model.index(0, TensorModel::Shape).data().toString(), QString("float 8×16×256"));
        const auto chips =
            model.index(0, TensorModel::Layout).data(ChipDelegate::ChipsRole).value<QList<Chip>>();
        QCOMPARE(chips.size(), 3);
        QCOMPARE(chips[2].text, QString("tp"));
        QVERIFY(!chips[2].filled);
        const auto explicitChips =
            model.index(1, TensorModel::Layout).data(ChipDelegate::ChipsRole).value<QList<Chip>>();
        QVERIFY(explicitChips[0].filled);
        QCOMPARE(model.rowOf({node, true, 0}), 2);
        QSignalSpy reset(&model, &QAbstractItemModel::modelReset);
        auto later = std::make_shared<Analysis>(*analysis);
        model.show(later, node);
        QCOMPARE(reset.count(), 0);
        model.show(nullptr, {});
        QCOMPARE(model.rowCount(), 0);
    }
    void theStructureIsTheTreeOfScopes() {
        StructureModel model;
        QAbstractItemModelTester tester(&model, kMode);
        const Document document = ModelBuilder{}
                                      .input("x", {2})
                                      .op("Relu", {"x"}, {"a"}, "/layers.0/act/Relu")
                                      .op("Relu", {"a"}, {"b"}, "/layers.1/act/Relu")
                                      .op("Relu", {"b"}, {"y"}, "")
                                      .output("y", {2})
                                      .document();
        model.setModel(document.model);
        int nodes = 0;
        for (const NodeInfo& node : document.graph().nodes) {
            const QModelIndex index = model.indexOf(node.id);
            QVERIFY(index.isValid());
            QCOMPARE(model.node(index), node.id);
            QCOMPARE(model.index(index.row(), 0, index.parent()), index);
            ++nodes;
        }
        QCOMPARE(nodes, 3);
        for (const ScopeInfo& scope : document.graph().scopes)
            if (scope.id.index() > 0)
                QCOMPARE(model.scope(model.indexOf(scope.id)), scope.id);
        model.setModel(nullptr);
        QCOMPARE(model.rowCount(), 0);
    }
    void foundNodesAreListed() {
        FoundModel model;
        QAbstractItemModelTester tester(&model, kMode);
        const Document document = mlp().document();
        model.show(document.model, {NodeId(2), NodeId(0)});
        QCOMPARE(model.rowCount(), 2);
        QVERIFY(model.index(0).data().toString().contains("mm2"));
        model.show(nullptr, {});
        QCOMPARE(model.rowCount(), 0);
    }
    void ownNamesComeBeforeNamesOfTensors_data() {
        QTest::addColumn<QString>("query");
        QTest::addColumn<QString>("found");
        QTest::newRow("one word") << "q_proj"
                                  << "a/q_proj/MatMul a/before a/after";
        QTest::newRow("several words narrow") << "q_proj matmul"
                                              << "a/q_proj/MatMul";
        QTest::newRow("file order among equals") << "a"
                                                 << "a/before a/q_proj/MatMul a/after";
        QTest::newRow("asked for") << "tensor:q_proj tensor:matmul"
                                   << "a/before a/q_proj/MatMul a/after";
        QTest::newRow("with a key") << "op:Relu q_proj"
                                    << "a/before a/after";
        QTest::newRow("in quotes") << "\"q_proj\" \"MatMul\""
                                   << "a/q_proj/MatMul";
        QTest::newRow("nothing") << "q_proj Softmax"
                                 << "";
    }
    void ownNamesComeBeforeNamesOfTensors() {
        QFETCH(QString, query);
        QFETCH(QString, found);
        const auto analysis =
            analysed(ModelBuilder{}
                         .input("a/q_proj/MatMul_in", {4, 4})
                         .weight("w", {4, 4})
                         .op("Relu", {"a/q_proj/MatMul_in"}, {"r"}, "a/before")
                         .op("MatMul", {"r", "w"}, {"a/q_proj/MatMul_out"}, "a/q_proj/MatMul")
                         .op("Relu", {"a/q_proj/MatMul_out"}, {"y"}, "a/after")
                         .output("y", {4, 4}),
                     {});
        QStringList names;
        for (const NodeId node : searchNodes(*analysis, query.toStdString()))
            names << toQt(analysis->graph().label(node));
        QCOMPARE(names.join(u' '), found);
    }
    void namesFromModelsAreShownAsPlainShortText() {
        const std::string name = "<b>&amp;\n" + std::string(10000, 'x') + "\xF0\x9F\x98\x80";
        const auto analysis = analysed(
            ModelBuilder{}.input("x", {2}).op("Relu", {"x"}, {name}, name).output(name), {});
        TensorModel model;
        model.show(analysis, NodeId(0));
        const QString shown = model.index(1, 0).data().toString();
        QVERIFY(shown.size() < 200);
        QVERIFY(!shown.contains('\n'));
        QVERIFY(model.index(1, 0).data(Qt::ToolTipRole).toString().contains("&lt;b&gt;"));
    }
    void textsAreForPeople() {
        QCOMPARE(splitText(64, 2), QString("64 → 32 + 32"));
        QCOMPARE(splitText(10, 4), QString("10 → 3 + 3 + 3 + 1"));
        QCOMPARE(splitText(256, 8), QString("256 → 8 × 32"));
        QCOMPARE(splitText(7, 1), QString("7"));
        QCOMPARE(deviceList({0, 1, 2, 3, 6, 8, 9}), QString("0–3, 6, 8, 9"));
        QCOMPARE(oneLine(QString("a\nb"), 10), QString("a⏎b"));
        QCOMPARE(oneLine(QString("abcdef"), 3), QString("abc…"));
        QCOMPARE(menuText("R&D"), QString("R&&D"));
    }
};

QTEST_MAIN(TstPanelModels)
#include "tst_panel_models.moc"
