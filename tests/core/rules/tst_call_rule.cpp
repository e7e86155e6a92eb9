// SPDX-License-Identifier: Apache-2.0
#include "rule_fixture.h"

#include "rules/factor_union.h"

#include <QTest>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

ModelBuilder branch(const ModelBuilder& yes, const ModelBuilder& no, const Shape& output) {
    return ModelBuilder(17)
        .input("c", {}, T::BOOL)
        .input("x", {4, 6})
        .output("y", output)
        .op("If", {"c"}, {"y"}, "call",
            {{"then_branch", yes.graph()}, {"else_branch", no.graph()}});
}

ModelBuilder relu() {
    return ModelBuilder(17).op("Relu", {"x"}, {"a"}).output("a");
}

QString reasonOf(const Rule& rule, const std::string& factor) {
    const Factor* found = factorNamed(rule, factor);
    return QString::fromStdString(found == nullptr ? "no such factor" : found->reason);
}

}  // namespace

/// Rules of If, Loop, Scan and function calls from the nodes inside.
class TstCallRule : public QObject {
    Q_OBJECT

private slots:
    void factorsOfDifferentSizesNest() {
        FactorUnion factors;
        const int six = factors.add(6), two = factors.add(2), three = factors.add(3),
                  twelve = factors.add(12), last = factors.add(2);
        factors.unify({six}, {two, three});
        QCOMPARE(factors.parts({six}), factors.parts({two, three}));
        factors.unify({twelve}, {six, last});
        QCOMPARE(factors.parts({twelve}), factors.parts({two, three, last}));
        factors.makeWhole(three, "because");
        QVERIFY(factors.whole(factors.parts({twelve})[1]));
        QVERIFY(!factors.whole(factors.parts({twelve})[0]));
        const int a = factors.add(2), b = factors.add(3), c = factors.add(3), d = factors.add(2);
        factors.unify({a, b}, {c, d});
        for (const int part : factors.parts({a, b, c, d}))
            QVERIFY(factors.whole(part));
    }
    void whatOneBranchNeedsWholeIsWhole() {
        const auto no =
            ModelBuilder(17).op("Softmax", {"x"}, {"b"}, "norm", {{"axis", 1}}).output("b");
        const Rule rule = lastRule(branch(relu(), no, {4, 6}));
        QCOMPARE(rule.text(), std::string("., i1d0 i1d1^ -> i1d0 i1d1^"));
        QCOMPARE(reasonOf(rule, "i1d1"),
                 QStringLiteral("`norm` inside needs it whole: it is normalised along it"));
        QCOMPARE(rule.family, std::string("data flow"));
    }
    void sumsInsideAreWhole() {
        const auto product =
            ModelBuilder(17).weight("w", {6, 6}).op("MatMul", {"x", "w"}, {"b"}, "mm").output("b");
        const Rule rule = lastRule(branch(relu(), product, {4, 6}));
        QCOMPARE(reasonOf(rule, "i1d1"), QStringLiteral("`mm` inside sums over it"));
        QCOMPARE(factorNamed(rule, "i1d0")->kind, FactorKind::Parallel);
    }
    void aTensorTurnedOntoItselfIsWhole() {
        const auto turned = ModelBuilder(17)
                                .op("Transpose", {"s"}, {"t"}, "turn")
                                .op("Add", {"s", "t"}, {"b"})
                                .output("b");
        const Rule rule =
            lastRule(ModelBuilder(17)
                         .input("c", {}, T::BOOL)
                         .input("s", {4, 4})
                         .output("y", {4, 4})
                         .op("If", {"c"}, {"y"}, "call",
                             {{"then_branch", turned.graph()}, {"else_branch", turned.graph()}}));
        QVERIFY(rule.known);
        for (const Factor& factor : rule.factors)
            QCOMPARE(factor.kind, FactorKind::Whole);
    }
    void unknownShapesInsideAreWholeWithTheReason() {
        const auto no = ModelBuilder(17)
                            .opset("com.example", 1)
                            .op("Strange", {"x"}, {"m"}, "odd", {}, "com.example")
                            .op("Relu", {"m"}, {"b"}, "after")
                            .output("b");
        const Rule rule = lastRule(branch(relu(), no, {4, 6}));
        QVERIFY(rule.known);
        QCOMPARE(rule.text(), std::string("., i1d0^ i1d1^ -> i1d0^ i1d1^"));
        QVERIFY(reasonOf(rule, "i1d0")
                    .contains("`odd` inside needs it whole: no rule for "
                              "com.example::Strange"));
    }
    void unknownShapesOutsideFallBack() {
        const auto grow = ModelBuilder(17)
                              .input("i", {}, T::INT64)
                              .input("g", {}, T::BOOL)
                              .input("s", {"n"})
                              .op("Identity", {"g"}, {"h"})
                              .op("Concat", {"s", "s"}, {"t"}, "", {{"axis", 0}})
                              .output("h", {}, T::BOOL)
                              .output("t");
        const Rule rule =
            lastRule(ModelBuilder(17)
                         .scalar("trips", 3)
                         .input("x", {4})
                         .op("Loop", {"trips", "", "x"}, {"y"}, "call", {{"body", grow.graph()}}));
        QVERIFY(!rule.known);
        QCOMPARE(rule.strictReason, std::string("dimension 0 of `y` is not known"));
    }
    void theDimensionOfTheIterationsIsWhole() {
        const auto body = ModelBuilder(17)
                              .input("i", {}, T::INT64)
                              .input("g", {}, T::BOOL)
                              .input("s", {4, 6})
                              .op("Identity", {"g"}, {"h"})
                              .op("Relu", {"s"}, {"t"})
                              .op("Neg", {"t"}, {"item"})
                              .output("h", {}, T::BOOL)
                              .output("t", {4, 6})
                              .output("item", {4, 6});
        const Rule rule = lastRule(
            ModelBuilder(17)
                .scalar("trips", 3)
                .input("x", {4, 6})
                .op("Loop", {"trips", "", "x"}, {"y", "all"}, "call", {{"body", body.graph()}}));
        QCOMPARE(rule.text(), std::string("., _, i2d0 i2d1 -> i2d0 i2d1, o1d0^ i2d0 i2d1"));
        QCOMPARE(reasonOf(rule, "o1d0"), QStringLiteral("the iterations run along it"));
        double points = 1;
        for (const Factor& factor : rule.factors)
            points *= static_cast<double>(factor.size);
        QCOMPARE(rule.flopsPerPoint * points, 3 * 49.0);  // Each iteration: 24 + 24 + 1.
    }
    void callsAreSeenByThemselves() {
        using A = onnx::AttributeProto;
        const auto body = ModelBuilder(17)
                              .input("a", {})
                              .op("Softmax", {"a"}, {"b"}, "norm",
                                  {Attribute::reference("axis", "along", A::INT)})
                              .output("b");
        ModelBuilder model(17);
        model.opset("my", 1).function("my", "F", body, {}, {"along"}).input("x", {4, 6});
        QCOMPARE(lastRule(model.op("F", {"x"}, {"y"}, "one", {{"along", 0}}, "my")).text(),
                 std::string("i0d0^ i0d1 -> i0d0^ i0d1"));
        QCOMPARE(lastRule(model.op("F", {"x"}, {"z"}, "two", {}, "my")).text(),
                 std::string("i0d0 i0d1^ -> i0d0 i0d1^"));
    }
    void anInputThatACallLeavesOutIsNotThereInside() {
        const auto body = ModelBuilder(17)
                              .input("a", {})
                              .input("most", {})
                              .op("Clip", {"a", "", "most"}, {"b"}, "clip")
                              .output("b");
        for (const std::vector<std::string>& inputs :
             {std::vector<std::string>{"x"}, std::vector<std::string>{"x", ""}}) {
            ModelBuilder model(17);
            model.opset("my", 1).function("my", "F", body).input("x", {4, 6});
            model.output("y", {4, 6}).op("F", inputs, {"y"}, "call", {}, "my");
            const Rule rule = lastRule(model);
            QVERIFY(rule.known);
            for (const Factor& factor : rule.factors)
                QVERIFY2(factor.kind == FactorKind::Parallel, factor.reason.c_str());
        }
    }
    void functionsThatDoubleAtEveryLevelAreLookedAtOnceAShape() {
        constexpr int kLevels = 28;
        ModelBuilder model(17);
        for (int i = 0; i < kLevels; ++i) {
            const std::string next = "F" + std::to_string(i + 1);
            model.function("my", "F" + std::to_string(i),
                           ModelBuilder(17)
                               .opset("my", 1)
                               .input("a", {})
                               .op("Concat", {"a", "a"}, {"aa"}, "", {{"axis", 0}})
                               .op(next, {"a"}, {"p"}, "", {}, "my")
                               .op(next, {"aa"}, {"q"}, "", {}, "my")
                               .output("p"));
        }
        model.function("my", "F" + std::to_string(kLevels),
                       ModelBuilder(17).input("a", {}).op("Relu", {"a"}, {"b"}).output("b"));
        model.opset("my", 1)
            .input("x", {3, 6})
            .input("z", {4, 6})
            .op("F0", {"z"}, {"u"}, "", {}, "my");
        const Rule rule = lastRule(model.op("F0", {"x"}, {"y"}, "", {}, "my"));
        QCOMPARE(rule.text(), std::string("i0d0 i0d1 -> i0d0 i0d1"));
    }
    void deepNestingEndsWithAReason() {
        const auto chain = [](int length) {
            ModelBuilder model(17);
            for (int i = 0; i < length; ++i) {
                ModelBuilder body(17);
                body.opset("my", 1).input("a", {});
                if (i == 0)
                    body.op("Relu", {"a"}, {"b"});
                else
                    body.op("F" + std::to_string(i - 1), {"a"}, {"b"}, "", {}, "my");
                model.function("my", "F" + std::to_string(i), body.output("b"));
            }
            return lastRule(model.opset("my", 1)
                                .input("x", {4, 6})
                                .output("y", {4, 6})
                                .op("F" + std::to_string(length - 1), {"x"}, {"y"}, "", {}, "my"));
        };
        QCOMPARE(chain(32).text(), std::string("i0d0 i0d1 -> i0d0 i0d1"));
        QVERIFY(!chain(33).known);
        QCOMPARE(chain(33).strictReason,
                 std::string("there are more than 32 bodies and functions inside each other"));
    }
};

QTEST_GUILESS_MAIN(TstCallRule)
#include "tst_call_rule.moc"
