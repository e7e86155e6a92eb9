// SPDX-License-Identifier: Apache-2.0
#include "check/assign.h"

#include "support/model_builder.h"

#include <QTest>

using namespace shardwright;
using namespace shardwright::test;

namespace {

struct Fixture {
    Document document = ModelBuilder{}
                            .input("x", {8, 64})
                            .weight("w1", {64, 256})
                            .weight("w2", {256, 64})
                            .op("MatMul", {"x", "w1"}, {"h"}, "mm1")
                            .op("Gelu", {"h"}, {"a"}, "act")
                            .op("MatMul", {"a", "w2"}, {"y"}, "mm2")
                            .output("y", {8, 64})
                            .document();
    Analyser analyser;
    std::shared_ptr<const Analysis> analysis;

    explicit Fixture(const Mesh& mesh = {{{"dp", 2}, {"tp", 2}}}) {
        apply(document.annotations, editConfiguration(document, "c", mesh));
        analyse();
    }
    void analyse() {
        auto result = analyser.run(document, {});
        QVERIFY(result);
        analysis = *result;
    }
    void doEdit(Result<Edit> edit) {
        if (!edit)
            QFAIL(edit.error().text().c_str());
        apply(document.annotations, *edit);
        analyse();
    }
    TensorSlot in(const char* node, int slot) const {
        return {nodeNamed(document.graph(), node), false, slot};
    }
    TensorSlot out(const char* node, int slot) const {
        return {nodeNamed(document.graph(), node), true, slot};
    }
    std::string axes(TensorSlot slot) const {
        const auto sharding = shardingAt(document, *analysis, slot);
        if (!sharding)
            return "none";
        std::string text;
        for (const auto& dim : sharding->dims) {
            text += "[";
            for (const auto& component : dim)
                for (const int axis : component.axes)
                    text += analysis->configuration.mesh.axes[static_cast<std::size_t>(axis)].name;
            text += "]";
        }
        return text;
    }
};

}  // namespace

class TstAssign : public QObject {
    Q_OBJECT
private slots:
    void anAxisOnADimensionSplitsItAndUndoTakesItBack() {
        Fixture f;
        const TensorSlot tensorSlots[] = {f.in("mm1", 1)};
        const Document before = f.document;
        const auto edit = assignAxes(f.document, *f.analysis, tensorSlots, 1, {1});
        QVERIFY(edit);
        const Edit inverse = apply(f.document.annotations, *edit);
        QVERIFY(hasSpec(f.document, *f.analysis, tensorSlots[0]));
        QCOMPARE(f.axes(tensorSlots[0]), std::string("[][tp]"));
        apply(f.document.annotations, inverse);
        QVERIFY(f.document.annotations.sameAs(before.annotations));
    }
    void anAxisMovesFromOneDimensionToAnother() {
        Fixture f;
        const TensorSlot tensorSlots[] = {f.in("mm1", 1)};
        f.doEdit(assignAxes(f.document, *f.analysis, tensorSlots, 0, {0}));
        f.doEdit(assignAxes(f.document, *f.analysis, tensorSlots, 1, {1}));
        QCOMPARE(f.axes(tensorSlots[0]), std::string("[dp][tp]"));
        f.doEdit(assignAxes(f.document, *f.analysis, tensorSlots, 1, {0, 1}));
        QCOMPARE(f.axes(tensorSlots[0]), std::string("[][dptp]"));
        f.doEdit(assignAxes(f.document, *f.analysis, tensorSlots, 1, {}));
        QCOMPARE(f.axes(tensorSlots[0]), std::string("[][]"));
    }
    void otherDimensionsKeepWhatIsInferred() {
        Fixture f;
        const TensorSlot input[] = {f.in("mm1", 0)};
        f.doEdit(assignAxes(f.document, *f.analysis, input, 0, {0}));
        const TensorSlot hidden[] = {f.in("act", 0)};
        QCOMPARE(f.axes(hidden[0]), std::string("[dp][]"));
        f.doEdit(assignAxes(f.document, *f.analysis, hidden, 1, {1}));
        QCOMPARE(f.axes(hidden[0]), std::string("[dp][tp]"));
    }
    void severalNodesAreOneEdit() {
        Fixture f;
        const TensorSlot tensorSlots[] = {f.in("mm1", 1), f.in("mm2", 1)};
        f.doEdit(assignAxes(f.document, *f.analysis, tensorSlots, 0, {1}));
        QVERIFY(hasSpec(f.document, *f.analysis, tensorSlots[0]) &&
                hasSpec(f.document, *f.analysis, tensorSlots[1]));
        const Edit remove = removeSpecs(f.document, *f.analysis, tensorSlots);
        apply(f.document.annotations, remove);
        QVERIFY(!hasSpec(f.document, *f.analysis, tensorSlots[0]) &&
                !hasSpec(f.document, *f.analysis, tensorSlots[1]));
    }
    void aDimensionIsSplitIntoParts() {
        Fixture f;
        const TensorSlot tensorSlots[] = {f.in("mm1", 1)};
        const auto parts = [&](std::size_t dim) {
            const auto sharding = shardingAt(f.document, *f.analysis, tensorSlots[0]);
            return sharding ? componentsText(f.analysis->configuration.mesh, sharding->dims[dim])
                            : std::string("?");
        };
        f.doEdit(assignAxes(f.document, *f.analysis, tensorSlots, 0, {1}));
        f.doEdit(assignComponents(f.document, *f.analysis, tensorSlots, 1, "4*dp"));
        QCOMPARE(parts(0), std::string("tp"));
        QCOMPARE(parts(1), std::string("4*64/dp"));
        // The axis comes from the other dimension.
        f.doEdit(assignComponents(f.document, *f.analysis, tensorSlots, 1, "2*4/tp*32"));
        QCOMPARE(parts(0), std::string(""));
        QCOMPARE(parts(1), std::string("2*128/tp"));
        f.doEdit(assignComponents(f.document, *f.analysis, tensorSlots, 1, "dp+tp"));
        QCOMPARE(parts(1), std::string("dp+tp"));
    }
    void partsThatDoNotFitAreRefusedWithWords_data() {
        QTest::addColumn<QByteArray>("parts");
        QTest::addColumn<QByteArray>("words");
        QTest::newRow("sizes") << QByteArray("3*tp") << QByteArray("256");
        QTest::newRow("axis") << QByteArray("4*xp") << QByteArray("no axis");
        QTest::newRow("syntax") << QByteArray("4**tp") << QByteArray("");
        QTest::newRow("another dimension") << QByteArray("4*tp,0=dp") << QByteArray("only");
        QTest::newRow("nothing") << QByteArray("") << QByteArray("");
    }
    void partsThatDoNotFitAreRefusedWithWords() {
        QFETCH(QByteArray, parts);
        QFETCH(QByteArray, words);
        Fixture f;
        const TensorSlot tensorSlots[] = {f.in("mm1", 1)};
        const auto edit =
            assignComponents(f.document, *f.analysis, tensorSlots, 1, parts.toStdString());
        QVERIFY(!edit);
        QVERIFY2(edit.error().message.find(words.toStdString()) != std::string::npos,
                 edit.error().message.c_str());
    }
    void whatCannotBeIsRefusedWithWords() {
        Fixture f;
        const TensorSlot tensorSlots[] = {f.in("mm1", 1)};
        QVERIFY(assignAxes(f.document, *f.analysis, tensorSlots, 2, {0})
                    .error()
                    .message.find("dimension 2") != std::string::npos);
        QVERIFY(!assignAxes(f.document, *f.analysis, tensorSlots, 0, {0, 0}));
        const TensorSlot omitted[] = {f.in("mm1", 7)};
        QVERIFY(!assignReplicated(f.document, *f.analysis, omitted));
    }
    void aStageIsSetAndCleared() {
        Fixture f;
        const NodeId nodes[] = {nodeNamed(f.document.graph(), "mm1"),
                                nodeNamed(f.document.graph(), "act")};
        f.doEdit(assignStage(f.document, *f.analysis, nodes, 1));
        QCOMPARE(stageOf(f.document, *f.analysis, nodes[1]), 1);
        QVERIFY(assignStage(f.document, *f.analysis, nodes, 1).empty());
        f.doEdit(clearNodes(f.document, *f.analysis, nodes));
        QCOMPARE(stageOf(f.document, *f.analysis, nodes[1]), -1);
    }
    void aResizedAxisKeepsItsPlaces() {
        Fixture f;
        const TensorSlot tensorSlots[] = {f.in("mm1", 1)};
        f.doEdit(assignAxes(f.document, *f.analysis, tensorSlots, 1, {1}));
        f.doEdit(changeMesh(f.document, *f.analysis, {{{"dp", 2}, {"tp", 4}}}, {0, 1}));
        QCOMPARE(f.analysis->configuration.deviceCount, 8);
        QCOMPARE(f.axes(tensorSlots[0]), std::string("[][tp]"));
        QCOMPARE(f.analysis->count(Severity::Error), 0);
    }
    void aRemovedAxisLeavesTheOthers() {
        Fixture f;
        const TensorSlot tensorSlots[] = {f.in("mm1", 1)};
        f.doEdit(assignAxes(f.document, *f.analysis, tensorSlots, 0, {0}));
        f.doEdit(assignAxes(f.document, *f.analysis, tensorSlots, 1, {1}));
        f.doEdit(changeMesh(f.document, *f.analysis, {{{"tp", 2}}}, {-1, 0}));
        QCOMPARE(f.axes(tensorSlots[0]), std::string("[][tp]"));
    }
    void blocksAreCeilingsWithASmallerRest() {
        QCOMPARE(blockSizes(10, 4), (std::vector<std::int64_t>{3, 3, 3, 1}));
        QCOMPARE(blockSizes(64, 2), (std::vector<std::int64_t>{32, 32}));
        QCOMPARE(blockSizes(2, 4), (std::vector<std::int64_t>{1, 1, 0, 0}));
    }

    void aLayoutThatNoAxesSayIsNoneThatIsWhole() {
        Fixture f({{{"tp", 4}}});
        const TensorInfo& info =
            f.analysis->shapes->of(f.document.graph().findValue(GraphId(0), "x"));
        const Layout uneven({8, 64}, {{{8, 2}}, {}}, {DeviceGroup{0}, DeviceGroup{1, 2, 3}});
        f.doEdit(editSpec(f.document, f.in("mm1", 0).node, "c", "x", &uneven, info));
        QCOMPARE(f.axes(f.in("mm1", 0)), std::string("none"));
        for (const TensorSlot slot : {f.in("mm1", 0), f.out("mm1", 0), f.in("act", 0)}) {
            const LayoutRef layout = unexplainedAt(f.document, *f.analysis, slot);
            QVERIFY(layout);
            QVERIFY(layout->isSplit(0) && !layout->isSplit(1));
        }
        QVERIFY(!unexplainedAt(f.document, *f.analysis, f.in("mm1", 1)));
        f.doEdit(removeSpecs(f.document, *f.analysis, std::vector{f.in("mm1", 0)}));
        QVERIFY(!unexplainedAt(f.document, *f.analysis, f.in("act", 0)));
    }
};

QTEST_GUILESS_MAIN(TstAssign)
#include "tst_assign.moc"
