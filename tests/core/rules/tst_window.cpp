// SPDX-License-Identifier: Apache-2.0
#include "rule_fixture.h"

#include <QTest>

#include <limits>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

ModelBuilder slice(const Shape& shape, std::int64_t start, std::int64_t end, std::int64_t axis,
                   std::int64_t step = 1) {
    return ModelBuilder()
        .input("x", shape)
        .ints("s", {start})
        .ints("e", {end})
        .ints("a", {axis})
        .ints("t", {step})
        .op("Slice", {"x", "s", "e", "a", "t"}, {"y"});
}

/// "start step count", of the only slice extra.
QString extra(const ModelBuilder& builder) {
    const Rule rule = lastRule(builder);
    if (rule.slices.size() != 1)
        return QString::number(rule.slices.size()) + " slices";
    const SliceExtra& s = rule.slices.front();
    return QStringLiteral("%1 %2 %3").arg(s.start).arg(s.step).arg(s.count);
}

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kNear = std::numeric_limits<std::int64_t>::min();

}  // namespace

class TstWindow : public QObject {
    Q_OBJECT

private slots:
    void equalPartsAreConcatenatedStrided() {
        COMPARE_RULE(ModelBuilder()
                         .input("a", {2, 3})
                         .input("b", {2, 3})
                         .op("Concat", {"a", "b"}, {"y"}, "", {{"axis", -1}}),
                     "d0 a, d0 a -> d0 (part^ a)");
    }
    void singleElementsAreTheirParts() {
        COMPARE_RULE(ModelBuilder().input("a", {1}).input("b", {1}).op("Concat", {"a", "b"}, {"y"},
                                                                       "", {{"axis", 0}}),
                     "1, 1 -> part^");
    }
    void differentPartsAreConcatenatedWhole() {
        const Rule rule = lastRule(ModelBuilder()
                                       .input("a", {2, 3})
                                       .input("b", {2, 5})
                                       .op("Concat", {"a", "b"}, {"y"}, "", {{"axis", 1}}));
        QCOMPARE(QString::fromStdString(rule.text()), QStringLiteral("d0 a0^, d0 a1^ -> d0 a^"));
        QCOMPARE(factorNamed(rule, "a")->reason, std::string("the parts have different sizes"));
    }
    void hostileConcatAxesFallBack() {
        for (const std::int64_t axis : {std::int64_t{2}, std::int64_t{-3}, kFar, kNear})
            QVERIFY(!lastRule(ModelBuilder()
                                  .input("a", {2, 3})
                                  .output("y", {2, 3})
                                  .op("Concat", {"a"}, {"y"}, "", {{"axis", axis}}))
                         .known);
    }

    void equalPartsAreSplitStrided() {
        const ModelBuilder model = ModelBuilder()
                                       .input("x", {2, 6})
                                       .ints("s", {3, 3})
                                       .op("Split", {"x", "s"}, {"a", "b"}, "", {{"axis", 1}});
        COMPARE_RULE(model, "d0 (part^ a), sizes^ -> d0 a, d0 a");
        COMPARE_REWRITES(model, "LocalSizesInput slot 1 dim 1");
    }
    void partsByNumberNeedNoSizes() {
        const ModelBuilder model =
            ModelBuilder()
                .input("x", {6, 2})
                .op("Split", {"x"}, {"a", "b", "c"}, "", {{"num_outputs", 3}});
        COMPARE_RULE(model, "(part^ a) d1 -> a d1, a d1, a d1");
        COMPARE_REWRITES(model, "");
    }
    void sizesWereAnAttribute() {
        COMPARE_REWRITES(ModelBuilder(11).input("x", {6}).op("Split", {"x"}, {"a", "b"}, "",
                                                             {{"split", {3, 3}}}),
                         "LocalSizesAttribute dim 0 split");
    }
    void differentPartsAreSplitWhole() {
        COMPARE_RULE(
            ModelBuilder().input("x", {6}).ints("s", {2, 4}).op("Split", {"x", "s"}, {"a", "b"}),
            "a^, sizes^ -> a0^, a1^");
    }

    void expandRepeatsOnes() {
        const ModelBuilder model =
            ModelBuilder().input("x", {4, 1}).ints("s", {2, 1, 3}).op("Expand", {"x", "s"}, {"y"});
        COMPARE_RULE(model, "d1 1, shape^ -> d0 d1 d2");
        COMPARE_REWRITES(model, "LocalShapeInput slot 1");
    }
    void tileCopies() {
        COMPARE_RULE(
            ModelBuilder().input("x", {2, 3}).ints("r", {1, 4}).op("Tile", {"x", "r"}, {"y"}),
            "d0 d1, repeats^ -> d0 (rep1^ d1)");
    }
    void padIsWholeWhereItPads() {
        COMPARE_RULE(
            ModelBuilder().input("x", {2, 3}).ints("p", {0, 1, 0, 1}).op("Pad", {"x", "p"}, {"y"}),
            "d0 d1^, pads^ -> d0 p1^");
        COMPARE_RULE(ModelBuilder()
                         .input("x", {2, 3})
                         .ints("p", {1, -1})
                         .ints("a", {-1})
                         .op("Pad", {"x", "p", "", "a"}, {"y"}),
                     "d0 d1^, pads^, _, 1 -> d0 p1^");
        COMPARE_RULE(ModelBuilder(10)
                         .input("x", {2, 3})
                         .op("Pad", {"x"}, {"y"}, "", {{"pads", {0, 1, 0, 1}}}),
                     "d0 d1^ -> d0 p1^");
    }

    void slicesAreNeighbours() {
        const ModelBuilder model = slice({2, 8}, 1, 4, 1);
        COMPARE_RULE(model, "d0 d1~, 1, 1, 1, 1 -> d0 d1~");
        COMPARE_REWRITES(model, "LocalSlice slot 0 dim 1 of d1");
        QCOMPARE(extra(model), QStringLiteral("1 1 3"));
    }
    void boundsAreClampedAsOnnxSays_data() {
        QTest::addColumn<qint64>("start");
        QTest::addColumn<qint64>("end");
        QTest::addColumn<qint64>("step");
        QTest::addColumn<QString>("expected");
        QTest::newRow("negative start") << qint64{-3} << qint64{kFar} << qint64{1} << "5 1 3";
        QTest::newRow("negative end") << qint64{2} << qint64{-2} << qint64{1} << "2 1 4";
        QTest::newRow("step") << qint64{1} << qint64{8} << qint64{3} << "1 3 3";
        QTest::newRow("backwards") << qint64{-1} << qint64{kNear} << qint64{-1} << "7 -1 8";
        QTest::newRow("backwards by two") << qint64{6} << qint64{1} << qint64{-2} << "6 -2 3";
        QTest::newRow("huge step") << qint64{2} << qint64{8} << qint64{kFar} << "2 1 1";
        QTest::newRow("hugely backwards") << qint64{5} << qint64{kNear} << qint64{kNear} << "5 1 1";
        QTest::newRow("all") << qint64{kNear} << qint64{kFar} << qint64{1} << "0 slices";
        QTest::newRow("nothing") << qint64{5} << qint64{5} << qint64{1} << "0 slices";
    }
    void boundsAreClampedAsOnnxSays() {
        QFETCH(qint64, start);
        QFETCH(qint64, end);
        QFETCH(qint64, step);
        QTEST(extra(slice({8}, start, end, 0, step)), "expected");
    }
    void theWholeOfADimensionIsParallel() {
        COMPARE_RULE(slice({2, 8}, 0, kFar, 1), "d0 d1, 1, 1, 1, 1 -> d0 d1");
    }
    void anEmptySliceIsWhole() { COMPARE_RULE(slice({8}, 5, 5, 0), "d0^, 1, 1, 1, 1 -> o0^"); }
    void boundsWereAttributes() {
        const ModelBuilder model =
            ModelBuilder(9)
                .input("x", {2, 8})
                .op("Slice", {"x"}, {"y"}, "", {{"starts", {0, 2}}, {"ends", {2, 4}}});
        COMPARE_RULE(model, "d0 d1~ -> d0 d1~");
        QCOMPARE(extra(model), QStringLiteral("2 1 2"));
    }
    void boundsThatAreNotConstantMakeTheAxisWhole() {
        COMPARE_RULE(ModelBuilder()
                         .input("x", {2, 8})
                         .input("s", {1}, T::INT64)
                         .ints("e", {4})
                         .ints("a", {1})
                         .output("y", {2, 3})
                         .op("Slice", {"x", "s", "e", "a"}, {"y"}),
                     "d0 d1^, 1, 1, 1 -> d0 o1^");
    }
    void hostileSlicesFallBack() {
        QVERIFY(!lastRule(ModelBuilder(9)
                              .input("x", {2, 8})
                              .output("y", {2, 8})
                              .op("Slice", {"x"}, {"y"}, "",
                                  {{"starts", {0}}, {"ends", {2}}, {"axes", {5}}}))
                     .known);
        QVERIFY(!lastRule(ModelBuilder(9)
                              .input("x", {2, 8})
                              .output("y", {2, 8})
                              .op("Slice", {"x"}, {"y"}, "", {{"starts", {0, 0}}, {"ends", {2}}}))
                     .known);
        QVERIFY(!lastRule(ModelBuilder()
                              .input("x", {8})
                              .ints("s", {0})
                              .ints("e", {8})
                              .ints("a", {0})
                              .ints("t", {0})
                              .output("y", {8})
                              .op("Slice", {"x", "s", "e", "a", "t"}, {"y"}))
                     .known);
    }
};

QTEST_GUILESS_MAIN(TstWindow)
#include "tst_window.moc"
