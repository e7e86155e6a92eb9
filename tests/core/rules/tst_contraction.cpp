// SPDX-License-Identifier: Apache-2.0
#include "rule_fixture.h"

#include <QTest>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

ModelBuilder matMul(const Shape& a, const Shape& b) {
    return ModelBuilder().input("a", a).input("b", b).op("MatMul", {"a", "b"}, {"y"});
}

ModelBuilder einsum(const char* equation, const Shape& a, const Shape& b) {
    return ModelBuilder().input("a", a).input("b", b).op("Einsum", {"a", "b"}, {"y"}, "",
                                                         {{"equation", equation}});
}

}  // namespace

class TstContraction : public QObject {
    Q_OBJECT

private slots:
    void matMulSumsOverK() { COMPARE_RULE(matMul({4, 8}, {8, 3}), "m k+, k+ n -> m n"); }
    void matMulBroadcastsBatches() {
        COMPARE_RULE(matMul({5, 1, 4, 8}, {6, 8, 3}), "b0 1 m k+, b1 k+ n -> b0 b1 m n");
        COMPARE_RULE(matMul({2, 4, 8}, {8, 3}), "b0 m k+, k+ n -> b0 m n");
    }
    void matMulOfVectors() {
        COMPARE_RULE(matMul({8}, {8, 3}), "k+, k+ n -> n");
        COMPARE_RULE(matMul({4, 8}, {8}), "m k+, k+ -> m");
        COMPARE_RULE(matMul({8}, {8}), "k+, k+ -> .");
        COMPARE_RULE(matMul({8}, {2, 8, 3}), "k+, b0 k+ n -> b0 n");
    }
    void rowsAndColumnsOfOneHaveNoFactor() {
        COMPARE_RULE(matMul({1, 8}, {8, 1}), "1 k+, k+ 1 -> 1 1");
    }
    void matMulCountsTwoOperationsAPoint() {
        const Rule rule = lastRule(matMul({5, 1, 4, 8}, {6, 8, 3}));
        QCOMPARE(rule.flopsPerPoint, 2.0);
        QVERIFY(rule.strict);
        QCOMPARE(rule.family, std::string("contraction"));
    }
    void innerSizesThatDifferFallBack() {
        const ModelBuilder model = ModelBuilder()
                                       .input("a", {4, 8})
                                       .input("b", {7, 3})
                                       .output("y", {4, 3})
                                       .op("MatMul", {"a", "b"}, {"y"});
        COMPARE_RULE(model, "fallback: the shapes or attributes do not fit MatMul");
    }

    void gemmAddsCOnce() {
        const Rule rule = lastRule(ModelBuilder()
                                       .input("a", {4, 8})
                                       .weight("b", {8, 3})
                                       .weight("c", {3})
                                       .op("Gemm", {"a", "b", "c"}, {"y"}));
        QCOMPARE(QString::fromStdString(rule.text()), QStringLiteral("m k+, k+ n, n -> m n"));
        QVERIFY(rule.inputs[2].addedOnce && !rule.inputs[0].addedOnce);
        QCOMPARE(rule.flopsPerPoint, 2.0);
    }
    void gemmTransposes() {
        COMPARE_RULE(ModelBuilder()
                         .input("a", {8, 4})
                         .weight("b", {3, 8})
                         .weight("c", {4, 1})
                         .op("Gemm", {"a", "b", "c"}, {"y"}, "", {{"transA", 1}, {"transB", 1}}),
                     "k+ m, n k+, m 1 -> m n");
    }
    void gemmWithoutC() {
        COMPARE_RULE(
            ModelBuilder().input("a", {4, 8}).weight("b", {8, 3}).op("Gemm", {"a", "b"}, {"y"}),
            "m k+, k+ n -> m n");
    }

    void integerProductsSum() {
        COMPARE_RULE(ModelBuilder()
                         .input("a", {4, 8}, T::UINT8)
                         .weight("b", {8, 3}, T::INT8)
                         .input("za", {}, T::UINT8)
                         .input("zb", {3}, T::INT8)
                         .op("MatMulInteger", {"a", "b", "za", "zb"}, {"y"}),
                     "m k+, k+ n, ., n -> m n");
    }
    void quantisedProductsDoNot() {
        const Rule rule =
            lastRule(ModelBuilder()
                         .input("a", {4, 8}, T::UINT8)
                         .input("b", {8, 3}, T::UINT8)
                         .real("s", 1)
                         .input("z", {}, T::UINT8)
                         .op("QLinearMatMul", {"a", "s", "z", "b", "s", "z", "s", "z"}, {"y"}));
        QCOMPARE(QString::fromStdString(rule.text()),
                 QStringLiteral("m k^, ., ., k^ n, ., ., ., . -> m n"));
        QCOMPARE(factorNamed(rule, "k")->reason,
                 std::string("the sum is rounded to the scale of the output"));
    }

    void einsumReadsItsEquation() {
        COMPARE_RULE(einsum("bhsd,bhtd->bhst", {2, 4, 6, 8}, {2, 4, 5, 8}),
                     "b h s d+, b h t d+ -> b h s t");
        COMPARE_RULE(einsum(" ij , jk ", {2, 3}, {3, 4}), "i j+, j+ k -> i k");
    }
    void einsumBroadcastsItsEllipsis() {
        COMPARE_RULE(
            einsum("...ij,...jk->...ik", {5, 1, 2, 3}, {6, 3, 4}).output("y", {5, 6, 2, 4}),
            "e0 1 i j+, e1 j+ k -> e0 e1 i k");
        COMPARE_RULE(einsum("...i,i->", {5, 2}, {2}), "e0+ i+, i+ -> .");
    }
    void einsumTakesADiagonalWhole() {
        const Rule rule = lastRule(einsum("ii,j->ij", {3, 3}, {4}));
        QCOMPARE(QString::fromStdString(rule.text()), QStringLiteral("i^ i_2^, j -> i^ j"));
        QVERIFY(!rule.strict);
    }
    void badEquationsFallBack_data() {
        QTest::addColumn<QString>("equation");
        for (const char* equation :
             {"ij,jk->iz", "i1,jk->ik", "ij->ij", "ij,jk->..ik", "ijk,jk->i", "ij,jk->ii"})
            QTest::newRow(equation) << QString(equation);
    }
    void badEquationsFallBack() {
        QFETCH(QString, equation);
        const ModelBuilder model =
            ModelBuilder()
                .input("a", {2, 3})
                .input("b", {3, 4})
                .output("y", {2, 4})
                .op("Einsum", {"a", "b"}, {"y"}, "", {{"equation", equation.toStdString()}});
        QVERIFY(!lastRule(model).known);
    }
};

QTEST_GUILESS_MAIN(TstContraction)
#include "tst_contraction.moc"
