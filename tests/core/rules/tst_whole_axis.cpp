// SPDX-License-Identifier: Apache-2.0
#include "rule_fixture.h"

#include <QTest>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

class TstWholeAxis : public QObject {
    Q_OBJECT

private slots:
    void softmaxNormalisesOneAxis() {
        const Rule rule = lastRule(
            ModelBuilder().input("x", {2, 3, 4}).op("Softmax", {"x"}, {"y"}, "", {{"axis", 1}}));
        QCOMPARE(QString::fromStdString(rule.text()), QStringLiteral("d0 d1^ d2 -> d0 d1^ d2"));
        QCOMPARE(rule.factors[1].reason, std::string("it is normalised along it"));
        QCOMPARE(rule.flopsPerPoint, 5.0);
    }
    void softmaxTakesTheLastAxisByDefault() {
        COMPARE_RULE(ModelBuilder().input("x", {2, 3, 4}).op("LogSoftmax", {"x"}, {"y"}),
                     "d0 d1 d2^ -> d0 d1 d2^");
    }
    void beforeOpset13SoftmaxSawAMatrix() {
        COMPARE_RULE(ModelBuilder(11).input("x", {2, 3, 4}).op("Softmax", {"x"}, {"y"}),
                     "d0 d1^ d2^ -> d0 d1^ d2^");
    }
    void argMax() {
        COMPARE_RULE(
            ModelBuilder().input("x", {2, 3}).op("ArgMax", {"x"}, {"y"}, "", {{"axis", -1}}),
            "d0 d1^ -> d0 1");
        COMPARE_RULE(
            ModelBuilder().input("x", {2, 3}).op("ArgMin", {"x"}, {"y"}, "", {{"keepdims", 0}}),
            "d0^ d1 -> d1");
    }
    void topK() {
        COMPARE_RULE(
            ModelBuilder().input("x", {2, 8}).ints("k", {3}).op("TopK", {"x", "k"}, {"v", "i"}),
            "d0 d1^, 1 -> d0 top^, d0 top^");
    }
    void cumSum() {
        COMPARE_RULE(
            ModelBuilder().input("x", {2, 8}).scalar("a", 1).op("CumSum", {"x", "a"}, {"y"}),
            "d0 d1^, . -> d0 d1^");
        COMPARE_RULE(ModelBuilder()
                         .input("x", {2, 8})
                         .input("a", {}, T::INT64)
                         .op("CumSum", {"x", "a"}, {"y"}),
                     "d0^ d1^, . -> d0^ d1^");
    }
    void trilu() {
        COMPARE_RULE(ModelBuilder().input("x", {2, 4, 4}).op("Trilu", {"x"}, {"y"}),
                     "d0 d1^ d2^ -> d0 d1^ d2^");
    }
    void oneHot() {
        COMPARE_RULE(ModelBuilder()
                         .input("i", {4, 2}, T::INT64)
                         .scalar("n", 3)
                         .ints("v", {0, 1})
                         .op("OneHot", {"i", "n", "v"}, {"y"}, "", {{"axis", 1}}),
                     "i0 i1, ., values^ -> i0 depth^ i1");
    }
    void hostileAxesFallBack() {
        for (const char* op : {"Softmax", "ArgMax", "LpNormalization"})
            for (const std::int64_t axis : {2, -3, 1000})
                QVERIFY(!lastRule(ModelBuilder()
                                      .input("x", {2, 3})
                                      .output("y", {2, 3})
                                      .op(op, {"x"}, {"y"}, "", {{"axis", axis}}))
                             .known);
    }

    void layerNormalization() {
        COMPARE_RULE(ModelBuilder()
                         .input("x", {2, 6, 8})
                         .weight("s", {8})
                         .weight("b", {8})
                         .op("LayerNormalization", {"x", "s", "b"}, {"y", "mean", "dev"}),
                     "d0 d1 h0^, h0^, h0^ -> d0 d1 h0^, d0 d1 1, d0 d1 1");
    }
    void layerNormalizationOverSeveralAxes() {
        COMPARE_RULE(ModelBuilder()
                         .input("x", {2, 6, 8})
                         .weight("s", {6, 8})
                         .op("LayerNormalization", {"x", "s"}, {"y"}, "", {{"axis", 1}}),
                     "d0 h0^ h1^, h0^ h1^ -> d0 h0^ h1^");
    }
    void rmsNormalization() {
        COMPARE_RULE(ModelBuilder(23)
                         .input("x", {2, 8})
                         .weight("s", {8})
                         .op("RMSNormalization", {"x", "s"}, {"y"}),
                     "d0 h0^, h0^ -> d0 h0^");
    }
    void skipNormalization() {
        COMPARE_RULE(ModelBuilder()
                         .opset("com.microsoft", 1)
                         .input("x", {2, 6, 8})
                         .input("z", {2, 6, 8})
                         .weight("g", {8})
                         .valueInfo("y", {2, 6, 8})
                         .valueInfo("sum", {2, 6, 8})
                         .op("SkipSimplifiedLayerNormalization", {"x", "z", "g"},
                             {"y", "", "", "sum"}, "", {}, "com.microsoft"),
                     "d0 d1 h0^, d0 d1 h0^, h0^ -> d0 d1 h0^, _, _, d0 d1 h0^");
    }
    void batchNormalization() {
        const ModelBuilder model = ModelBuilder()
                                       .input("x", {2, 3, 4, 4})
                                       .weight("s", {3})
                                       .weight("b", {3})
                                       .weight("m", {3})
                                       .weight("v", {3})
                                       .op("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"});
        COMPARE_RULE(model, "n c s0 s1, c, c, c, c -> n c s0 s1");
    }
    void batchNormalizationInTraining() {
        COMPARE_RULE(ModelBuilder()
                         .input("x", {2, 3, 4})
                         .weight("s", {3})
                         .weight("b", {3})
                         .weight("m", {3})
                         .weight("v", {3})
                         .op("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y", "rm", "rv"}, "",
                             {{"training_mode", 1}}),
                     "n^ c s0^, c, c, c, c -> n^ c s0^, c, c");
    }
    void instanceAndGroupNormalization() {
        COMPARE_RULE(ModelBuilder()
                         .input("x", {2, 4, 5})
                         .weight("s", {4})
                         .weight("b", {4})
                         .op("InstanceNormalization", {"x", "s", "b"}, {"y"}),
                     "n c s0^, c, c -> n c s0^");
        COMPARE_RULE(ModelBuilder()
                         .input("x", {2, 4, 5})
                         .weight("s", {4})
                         .weight("b", {4})
                         .op("GroupNormalization", {"x", "s", "b"}, {"y"}, "", {{"num_groups", 2}})
                         .output("y", {2, 4, 5}),
                     "n (g c^) s0^, (g c^), (g c^) -> n (g c^) s0^");
    }
    void lpNormalization() {
        const Rule rule =
            lastRule(ModelBuilder().input("x", {2, 8}).op("LpNormalization", {"x"}, {"y"}));
        QCOMPARE(QString::fromStdString(rule.text()), QStringLiteral("d0 d1^ -> d0 d1^"));
        QCOMPARE(rule.strictReason,
                 std::string("proposal 0007 lists LpNormalization as unsupported"));
    }
    void quantizationByTensorAndByAxis() {
        COMPARE_RULE(
            ModelBuilder().input("x", {2, 3}).real("s", 1).op("QuantizeLinear", {"x", "s"}, {"y"}),
            "d0 d1, . -> d0 d1");
        COMPARE_RULE(ModelBuilder()
                         .input("x", {2, 3}, T::INT8)
                         .weight("s", {3})
                         .weight("z", {3}, T::INT8)
                         .op("DequantizeLinear", {"x", "s", "z"}, {"y"}),
                     "d0 d1, d1, d1 -> d0 d1");
    }
    void quantizationByBlock() {
        COMPARE_RULE(ModelBuilder()
                         .input("x", {2, 8}, T::INT8)
                         .weight("s", {2, 2})
                         .op("DequantizeLinear", {"x", "s"}, {"y"}, "", {{"block_size", 4}}),
                     "d0 (d1 block^), d0 d1 -> d0 (d1 block^)");
        COMPARE_RULE(ModelBuilder()
                         .input("x", {2, 7}, T::INT8)
                         .weight("s", {2, 2})
                         .op("DequantizeLinear", {"x", "s"}, {"y"}, "", {{"block_size", 4}}),
                     "d0 d1^, d0 block^ -> d0 d1^");
    }
};

QTEST_GUILESS_MAIN(TstWholeAxis)
#include "tst_whole_axis.moc"
