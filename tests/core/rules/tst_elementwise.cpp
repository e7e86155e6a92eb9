// SPDX-License-Identifier: Apache-2.0
#include "rule_fixture.h"

#include <QTest>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

class TstElementwise : public QObject {
    Q_OBJECT

private slots:
    void unaryPassesEveryDimension() {
        COMPARE_RULE(ModelBuilder().input("x", {2, 3}).op("Relu", {"x"}, {"y"}), "d0 d1 -> d0 d1");
    }
    void scalarHasNoFactors() {
        COMPARE_RULE(ModelBuilder().input("x", {}).op("Sqrt", {"x"}, {"y"}), ". -> .");
    }
    void everyUnaryOfMachineLearningIsThere() {
        for (const char* op :
             {"Relu",      "Sigmoid", "Tanh",      "Erf",  "Gelu",     "Sqrt",  "Reciprocal",
              "Neg",       "Exp",     "Log",       "Cos",  "Sin",      "Abs",   "Identity",
              "LeakyRelu", "Elu",     "HardSwish", "Mish", "Softplus", "Floor", "Ceil",
              "Round",     "Sign",    "IsNaN",     "IsInf"})
            QCOMPARE(ruleText(ModelBuilder(22).input("x", {2, 1}).op(op, {"x"}, {"y"})),
                     QStringLiteral("d0 1 -> d0 1"));
        const ModelBuilder no = ModelBuilder().input("x", {2}, T::BOOL).op("Not", {"x"}, {"y"});
        COMPARE_RULE(no, "d0 -> d0");
    }
    void boundsOfClipAreScalars() {
        COMPARE_RULE(
            ModelBuilder().input("x", {2, 3}).real("high", 6).op("Clip", {"x", "", "high"}, {"y"}),
            "d0 d1, _, . -> d0 d1");
    }
    void castLikeReadsTheTypeOnly() {
        const ModelBuilder model = ModelBuilder()
                                       .input("x", {2})
                                       .inputOfUnknownShape("t", T::INT64)
                                       .op("CastLike", {"x", "t"}, {"y"});
        COMPARE_RULE(model, "d0, (shape) -> d0");
        COMPARE_REWRITES(model, "Placeholder slot 1 type");
    }
    void dropoutGivesItsMask() {
        COMPARE_RULE(ModelBuilder().input("x", {2, 3}).op("Dropout", {"x"}, {"y", "m"}),
                     "d0 d1 -> d0 d1, d0 d1");
    }
    void dropoutInTrainingIsWhole() {
        auto flag = intTensor("t", {}, {1});
        flag.set_data_type(T::BOOL);
        flag.clear_int64_data();
        flag.add_int32_data(1);
        COMPARE_RULE(ModelBuilder().input("x", {2}).real("r", 0.5f).initializer(flag).op(
                         "Dropout", {"x", "r", "t"}, {"y"}),
                     "d^, ., . -> d^");
    }
    void dimensionsOfSizeOneAreBroadcast() {
        COMPARE_RULE(ModelBuilder().input("a", {4, 1}).input("b", {3}).op("Add", {"a", "b"}, {"y"}),
                     "d0 1, d1 -> d0 d1");
    }
    void whereTakesThreeTensors() {
        COMPARE_RULE(ModelBuilder()
                         .input("c", {1, 1, 5, 5}, T::BOOL)
                         .input("a", {2, 3, 5, 5})
                         .real("b", -1)
                         .op("Where", {"c", "a", "b"}, {"y"}),
                     "1 1 d2 d3, d0 d1 d2 d3, . -> d0 d1 d2 d3");
    }
    void comparisonsAndLogicAreBroadcast() {
        for (const char* op : {"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Pow",
                               "Div", "Mod", "Max", "Mean"})
            QCOMPARE(
                ruleText(
                    ModelBuilder().input("a", {2, 3}).input("b", {1, 3}).op(op, {"a", "b"}, {"y"})),
                QStringLiteral("d0 d1, 1 d1 -> d0 d1"));
        for (const char* op : {"And", "Or", "Xor"})
            QCOMPARE(ruleText(ModelBuilder()
                                  .input("a", {2}, T::BOOL)
                                  .input("b", {2}, T::BOOL)
                                  .op(op, {"a", "b"}, {"y"})),
                     QStringLiteral("d0, d0 -> d0"));
    }
    void slopeOfPReluIsOneAChannel() {
        COMPARE_RULE(
            ModelBuilder().input("x", {2, 3, 4}).weight("s", {3, 1}).op("PRelu", {"x", "s"}, {"y"}),
            "d0 d1 d2, d1 1 -> d0 d1 d2");
    }
    void beforeOpset7AnAxisAlignsTheSecondInput() {
        COMPARE_RULE(ModelBuilder(6)
                         .input("a", {2, 3, 4})
                         .input("b", {3})
                         .output("y", {2, 3, 4})
                         .op("Add", {"a", "b"}, {"y"}, "", {{"axis", 1}, {"broadcast", 1}}),
                     "d0 d1 d2, d1 -> d0 d1 d2");
    }
    void sizesThatDoNotBroadcastFallBack() {
        const Rule rule =
            lastRule(ModelBuilder().input("a", {4}).input("b", {3}).output("y", {4}).op(
                "Add", {"a", "b"}, {"y"}));
        QVERIFY(!rule.known);
        QCOMPARE(rule.strictReason, std::string("the shapes or attributes do not fit Add"));
        QVERIFY(QString::fromStdString(rule.text()).startsWith("i0d0^, i1d0^ -> "));
    }
    void anUnknownSizeIsNamed() {
        COMPARE_RULE(ModelBuilder().inputOfUnknownShape("a").op("Relu", {"a"}, {"y"}),
                     "fallback: the shape of `a` is not known");
    }
    void aSizeOfZeroIsWhole() {
        COMPARE_RULE(ModelBuilder().input("a", {0, 3}).op("Relu", {"a"}, {"y"}),
                     "d0^ d1 -> d0^ d1");
    }
    void allOfItIsStrict() {
        QVERIFY(lastRule(ModelBuilder().input("x", {2}).op("Relu", {"x"}, {"y"})).strict);
    }
    void oneOperationAnElement() {
        const Rule rule = lastRule(ModelBuilder().input("x", {2, 3}).op("Relu", {"x"}, {"y"}));
        QCOMPARE(rule.flopsPerPoint, 1.0);
    }
};

QTEST_GUILESS_MAIN(TstElementwise)
#include "tst_elementwise.moc"
