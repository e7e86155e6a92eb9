// SPDX-License-Identifier: Apache-2.0
// Recurrent and signal operators, losses, and operators whose sizes depend on the data.
#include "rule_fixture.h"

#include <QTest>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

ModelBuilder loss(const std::string& reduction, bool weights = false) {
    ModelBuilder model;
    model.input("x", {4, 6, 8}).input("t", {4, 8}, T::INT64).weight("w", {6});
    return model.op("SoftmaxCrossEntropyLoss",
                    weights ? std::vector<std::string>{"x", "t", "w"}
                            : std::vector<std::string>{"x", "t"},
                    {"y"}, "", {{"reduction", reduction}});
}

}  // namespace

class TstSequenceOperators : public QObject {
    Q_OBJECT

private slots:
    void sequencesOfABatchAreParallel() {
        const ModelBuilder model = ModelBuilder()
                                       .input("x", {6, 4, 2})
                                       .weight("w", {1, 32, 2})
                                       .weight("r", {1, 32, 8})
                                       .input("n", {4}, T::INT32)
                                       .input("h", {1, 4, 8})
                                       .op("LSTM", {"x", "w", "r", "", "n", "h"}, {"y", "", "c"},
                                           "", {{"hidden_size", 8}});
        COMPARE_RULE(model, "t^ b i^, 1 (gate^ h^) i^, 1 (gate^ h^) s^, _, b, 1 b h^ -> "
                            "t^ 1 b h^, _, 1 b h^");
    }
    void theBatchMayComeFirst() {
        COMPARE_RULE(ModelBuilder()
                         .input("x", {4, 6, 2})
                         .weight("w", {2, 24, 2})
                         .weight("r", {2, 24, 8})
                         .op("GRU", {"x", "w", "r"}, {"y", "h"}, "",
                             {{"hidden_size", 8}, {"layout", 1}, {"direction", "bidirectional"}}),
                     "b t^ i^, d^ (gate^ h^) i^, d^ (gate^ h^) s^ -> b t^ d^ h^, b d^ h^");
    }
    void theAxisOfATransformIsWhole() {
        COMPARE_RULE(ModelBuilder(17).input("x", {2, 8, 6, 1}).op("DFT", {"x"}, {"y"}),
                     "d0 d1^ d2 1 -> d0 o1^ d2 opart^");
        COMPARE_RULE(ModelBuilder(20).input("x", {2, 8, 6, 1}).op("DFT", {"x"}, {"y"}),
                     "d0 d1 d2^ 1 -> d0 d1 o2^ opart^");
        COMPARE_RULE(ModelBuilder(20)
                         .input("x", {2, 8, 6, 1})
                         .input("a", {}, T::INT64)
                         .op("DFT", {"x", "", "a"}, {"y"})
                         .output("y", {2, 8, 6, 2}),
                     "d0^ d1^ d2^ 1, _, . -> o0^ o1^ o2^ opart^");
    }

    void lossesOfSamplesAddUp() {
        COMPARE_RULE(loss("none"), "n c^ d1, n d1 -> n d1");
        COMPARE_RULE(loss("sum"), "n+ c^ d1+, n+ d1+ -> .");
        COMPARE_REWRITES(loss("sum"), "");
        COMPARE_RULE(loss("mean"), "n+ c^ d1+, n+ d1+ -> .");
        COMPARE_REWRITES(loss("mean"), "SetAttribute reduction; Scale by 0.03125");
        COMPARE_RULE(loss("sum", true), "n+ c^ d1+, n+ d1+, c^ -> .");
    }
    void aWeighedMeanIsWhole() {
        const Rule rule = lastRule(loss("mean", true));
        QCOMPARE(QString::fromStdString(rule.text()), QStringLiteral("n^ c^ d1^, n^ d1^, c^ -> ."));
        QCOMPARE(factorNamed(rule, "n")->reason,
                 std::string("the mean is divided by weights that the targets choose"));
    }
    void aResultMayKeepWhatAnotherOneSums() {
        const ModelBuilder model = ModelBuilder()
                                       .input("x", {4, 6})
                                       .input("t", {4}, T::INT64)
                                       .op("SoftmaxCrossEntropyLoss", {"x", "t"}, {"y", "p"});
        COMPARE_RULE(model, "n+ c^, n+ -> ., n+ c^");
    }

    void sizesThatDependOnTheDataSaySo() {
        const Rule rule = lastRule(ModelBuilder().input("x", {4, 6}).op("NonZero", {"x"}, {"y"}));
        QVERIFY(!rule.known);
        QCOMPARE(rule.strictReason, std::string("dimension 1 of `y` is not known: how many there "
                                                "are depends on the data"));
    }
    void whereTheyAreKnownTheRuleIs() {
        COMPARE_RULE(ModelBuilder()
                         .input("x", {4, 6})
                         .input("c", {6}, T::BOOL)
                         .op("Compress", {"x", "c"}, {"y"}, "", {{"axis", 1}})
                         .output("y", {4, 3}),
                     "d0 d1^, condition^ -> d0 o1^");
    }
};

QTEST_GUILESS_MAIN(TstSequenceOperators)
#include "tst_sequence_operators.moc"
