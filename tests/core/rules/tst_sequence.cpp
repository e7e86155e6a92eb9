// SPDX-License-Identifier: Apache-2.0
#include "rule_fixture.h"

#include <QTest>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

/// Sequences, maps, strings and optimizers.
class TstSequence : public QObject {
    Q_OBJECT

private slots:
    void sequencesStayOnEachDevice() {
        const BuiltRules built(ModelBuilder()
                                   .input("x", {4, 8})
                                   .scalar("i", 0)
                                   .op("SequenceConstruct", {"x", "x"}, {"s"}, "make")
                                   .op("SequenceAt", {"s", "i"}, {"y"}, "at")
                                   .op("SequenceLength", {"s"}, {"n"}, "length")
                                   .output("y", {4, 8})
                                   .model());
        QCOMPARE(built.named("make").text(), std::string("i0d0^ i0d1^, i1d0^ i1d1^ -> ."));
        QCOMPARE(built.named("at").text(), std::string("., . -> o0d0^ o0d1^"));
        QCOMPARE(built.named("length").text(), std::string(". -> ."));
        for (const char* name : {"make", "at", "length"}) {
            QVERIFY(built.named(name).known);
            QVERIFY(!built.named(name).strict);
        }
        QCOMPARE(built.named("make").factors[0].reason,
                 std::string("a sequence or optional is not a tensor, so that it stays on each "
                             "device"));
    }
    void unknownElementsOfASequenceSayWhy() {
        const Rule rule = lastRule(ModelBuilder()
                                       .input("x", {4, 8})
                                       .input("z", {3})
                                       .scalar("i", 0)
                                       .op("SequenceConstruct", {"x", "z"}, {"s"})
                                       .op("SequenceAt", {"s", "i"}, {"y"}));
        QVERIFY(!rule.known);
        QCOMPARE(rule.strictReason,
                 std::string("the shape of `y` is not known: a sequence or optional is not a "
                             "tensor, so that it stays on each device"));
    }
    void otherOperatorsStillNeedTensors() {
        const Rule rule = lastRule(ModelBuilder()
                                       .input("x", {4})
                                       .op("SequenceConstruct", {"x"}, {"s"})
                                       .op("Identity", {"s"}, {"y"}));
        QVERIFY(!rule.known);
        QCOMPARE(rule.strictReason, std::string("`s` is not a tensor"));
    }
    /// It has the rule of its body; what it gives are sequences, so that nothing of it is split.
    void aBodyOverASequenceStaysWhole() {
        const auto body =
            ModelBuilder(17).input("e", {4, 8}).op("Add", {"e", "b"}, {"f"}).output("f", {4, 8});
        const BuiltRules built(
            ModelBuilder(17)
                .input("x", {4, 8})
                .input("b", {8})
                .op("SequenceConstruct", {"x", "x"}, {"s"})
                .op("SequenceMap", {"s", "x"}, {"t"}, "map", {{"body", body.graph("body")}})
                .model());
        const Rule& rule = built.named("map");
        QVERIFY2(rule.known, rule.strictReason.c_str());
        QCOMPARE(rule.family, std::string("data flow"));
        QCOMPARE(rule.text(), std::string("., i1d0^ i1d1^, i2d0^ -> ."));
        for (const Factor& factor : rule.factors)
            QCOMPARE(factor.reason,
                     std::string("the results are sequences, which stay whole on each device"));
    }
    void mapsStayOnEachDevice() {
        const Rule rule = lastRule(
            ModelBuilder()
                .opset("ai.onnx.ml", 3)
                .input("x", {4, 3})
                .op("ZipMap", {"x"}, {"y"}, "", {{"classlabels_int64s", {0, 1, 2}}}, "ai.onnx.ml"));
        QCOMPARE(rule.text(), std::string("i0d0^ i0d1^ -> ."));
    }
    void stringsElementByElement() {
        COMPARE_RULE(ModelBuilder()
                         .input("a", {4, 3}, T::STRING)
                         .input("b", {3}, T::STRING)
                         .op("StringConcat", {"a", "b"}, {"y"}),
                     "d0 d1, d1 -> d0 d1");
        COMPARE_RULE(ModelBuilder()
                         .input("a", {4, 3}, T::STRING)
                         .output("y", {4, 3, 2}, T::STRING)
                         .op("StringSplit", {"a"}, {"y", "n"}),
                     "d0^ d1^ -> d0^ d1^ piece^, d0^ d1^");
    }
    void optimizersGoElementByElement() {
        ModelBuilder model;
        model.opset("ai.onnx.preview.training", 1)
            .real("r", 0.1F)
            .scalar("t", 1)
            .input("a", {4, 8})
            .input("b", {3});
        ModelBuilder adam = model;
        adam.op("Adam", {"r", "t", "a", "b", "a", "b", "a", "b", "a", "b"},
                {"x", "y", "v", "w", "h", "i"}, "", {}, "ai.onnx.preview.training");
        COMPARE_RULE(adam, "., ., a0 a1, b0, a0 a1, b0, a0 a1, b0, a0 a1, b0 -> "
                           "a0 a1, b0, a0 a1, b0, a0 a1, b0");
        ModelBuilder momentum = model;
        momentum.op("Momentum", {"r", "t", "a", "a", "a"}, {"x", "v"}, "", {},
                    "ai.onnx.preview.training");
        COMPARE_RULE(momentum, "., ., a0 a1, a0 a1, a0 a1 -> a0 a1, a0 a1");
        ModelBuilder wrong = model;
        wrong.output("x", {4, 8}).output("v", {4, 8});
        wrong.op("Momentum", {"r", "t", "a", "b", "a"}, {"x", "v"}, "", {},
                 "ai.onnx.preview.training");
        QVERIFY(!lastRule(wrong).known);
    }
};

QTEST_GUILESS_MAIN(TstSequence)
#include "tst_sequence.moc"
