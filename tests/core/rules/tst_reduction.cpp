// SPDX-License-Identifier: Apache-2.0
#include "rule_fixture.h"

#include <QTest>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

/// Opset 18: axes are an input.
ModelBuilder reduce(const char* op, const std::vector<std::int64_t>& axes,
                    const std::vector<Attribute>& attributes = {}, int type = T::FLOAT) {
    return ModelBuilder(18)
        .input("x", {4, 8, 3}, type)
        .ints("axes", axes)
        .op(op, {"x", "axes"}, {"y"}, "", attributes);
}

}  // namespace

class TstReduction : public QObject {
    Q_OBJECT

private slots:
    void sumsKeepTheDimension() {
        COMPARE_RULE(reduce("ReduceSum", {1}), "d0 r1+ d2, 1 -> d0 1 d2");
        COMPARE_REWRITES(reduce("ReduceSum", {1}), "");
    }
    void sumsDropTheDimension() {
        COMPARE_RULE(reduce("ReduceSum", {-1, 0}, {{"keepdims", 0}}), "r0+ d1 r2+, axes^ -> d1");
    }
    void theKindsOfJoining() {
        COMPARE_RULE(reduce("ReduceMax", {1}), "d0 r1+max d2, 1 -> d0 1 d2");
        COMPARE_RULE(reduce("ReduceMin", {1}), "d0 r1+min d2, 1 -> d0 1 d2");
        COMPARE_RULE(reduce("ReduceProd", {1}), "d0 r1+prod d2, 1 -> d0 1 d2");
        COMPARE_RULE(reduce("ReduceL1", {1}), "d0 r1+ d2, 1 -> d0 1 d2");
        COMPARE_RULE(reduce("ReduceSumSquare", {1}), "d0 r1+ d2, 1 -> d0 1 d2");
    }
    void truthValuesAreJoinedByOr() {
        const ModelBuilder model = ModelBuilder(20)
                                       .input("x", {4}, T::BOOL)
                                       .op("ReduceMax", {"x"}, {"y"}, "", {{"keepdims", 0}});
        COMPARE_RULE(model, "r0+or -> .");
    }
    void aMeanIsASumOverTheGlobalCount() {
        COMPARE_REWRITES(reduce("ReduceMean", {0, 1}),
                         "ReplaceOperator ReduceSum; Scale by 0.03125");
    }
    void aMeanBeforeOpset18HandsItsAxesOver() {
        const ModelBuilder model = ModelBuilder(17)
                                       .input("x", {4, 8})
                                       .op("ReduceMean", {"x"}, {"y"}, "", {{"axes", {-1}}});
        COMPARE_RULE(model, "d0 r1+ -> d0 1");
        COMPARE_REWRITES(model, "ReplaceOperator ReduceSum axes to input; Scale by 0.125");
        const ModelBuilder old = ModelBuilder(11)
                                     .input("x", {4, 8})
                                     .op("ReduceMean", {"x"}, {"y"}, "", {{"axes", {-1}}});
        COMPARE_REWRITES(old, "ReplaceOperator ReduceSum; Scale by 0.125");
    }
    void aMeanOfIntegersIsWhole() {
        COMPARE_RULE(reduce("ReduceMean", {1}, {}, T::INT32), "d0 r1^ d2, 1 -> d0 1 d2");
    }
    void tailsComeAfterJoining() {
        COMPARE_REWRITES(reduce("ReduceL2", {1}), "ReplaceOperator ReduceSumSquare; Tail Sqrt");
        COMPARE_REWRITES(reduce("ReduceLogSum", {1}), "ReplaceOperator ReduceSum; Tail Log");
        COMPARE_RULE(reduce("ReduceLogSumExp", {1}), "d0 r1^ d2, 1 -> d0 1 d2");
    }
    void withoutAxesAllIsReduced() {
        COMPARE_RULE(ModelBuilder(18)
                         .input("x", {4, 8})
                         .op("ReduceSum", {"x"}, {"y"}, "", {{"keepdims", 0}}),
                     "r0+ r1+ -> .");
        COMPARE_RULE(ModelBuilder(11).input("x", {4, 8}).op("ReduceSum", {"x"}, {"y"}),
                     "r0+ r1+ -> 1 1");
    }
    void orNothing() {
        COMPARE_RULE(ModelBuilder(18)
                         .input("x", {4, 8})
                         .op("ReduceSum", {"x"}, {"y"}, "", {{"noop_with_empty_axes", 1}}),
                     "d0 d1 -> d0 d1");
    }
    void axesThatAreNotConstantMakeItWhole() {
        const Rule rule = lastRule(ModelBuilder(18)
                                       .input("x", {4, 8})
                                       .input("axes", {1}, T::INT64)
                                       .output("y", {4, 1})
                                       .op("ReduceSum", {"x", "axes"}, {"y"}));
        QCOMPARE(QString::fromStdString(rule.text()), QStringLiteral("d0^ d1^, 1 -> o0^ 1"));
        QCOMPARE(rule.factors[0].reason, std::string("the axes are not constant"));
    }
    void hostileAxesFallBack() {
        for (const std::vector<std::int64_t>& axes :
             {std::vector<std::int64_t>{3}, {-4}, {1, 1}, {1, -2}})
            QVERIFY(!lastRule(ModelBuilder(17)
                                  .input("x", {4, 8, 3})
                                  .output("y", {4, 1, 3})
                                  .op("ReduceMax", {"x"}, {"y"}, "", {{"axes", axes}}))
                         .known);
    }
};

QTEST_GUILESS_MAIN(TstReduction)
#include "tst_reduction.moc"
