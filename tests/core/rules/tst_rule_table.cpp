// SPDX-License-Identifier: Apache-2.0
#include "rule_fixture.h"

#include <QElapsedTimer>
#include <QTest>

#include <set>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

ModelBuilder chain(int nodes) {
    ModelBuilder builder;
    builder.input("x0", {8, 16});
    for (int i = 0; i < nodes; ++i)
        builder.op(i % 2 == 0 ? "Relu" : "Tanh", {"x" + std::to_string(i)},
                   {"x" + std::to_string(i + 1)});
    return builder;
}

}  // namespace

class TstRuleTable : public QObject {
    Q_OBJECT

private slots:
    void equalNodesShareARule() {
        const BuiltRules built(chain(6).model());
        std::set<RulePtr> rules;
        for (const NodeInfo& node : built.model->graph().nodes)
            rules.insert(built.rules->of(node.id));
        QCOMPARE(rules.size(), std::size_t{2});
    }
    void attributesAndConstantsTellNodesApart() {
        const BuiltRules built(ModelBuilder(18)
                                   .input("x", {4, 8})
                                   .ints("a", {0})
                                   .ints("b", {1})
                                   .op("ReduceSum", {"x", "a"}, {"p"})
                                   .op("ReduceSum", {"x", "b"}, {"q"})
                                   .op("Softmax", {"x"}, {"r"}, "", {{"axis", 0}})
                                   .op("Softmax", {"x"}, {"s"}, "", {{"axis", 1}})
                                   .model());
        QCOMPARE(built.named("p").text(), std::string("r0+ d1, 1 -> 1 d1"));
        QCOMPARE(built.named("q").text(), std::string("d0 r1+, 1 -> d0 1"));
        QCOMPARE(built.named("r").text(), std::string("d0^ d1 -> d0^ d1"));
        QCOMPARE(built.named("s").text(), std::string("d0 d1^ -> d0 d1^"));
    }
    void bodiesAndTheirNodesHaveRules() {
        const auto body = ModelBuilder().op("Relu", {"x"}, {"b"}).output("b", {4});
        const BuiltRules built(
            ModelBuilder()
                .input("c", {}, T::BOOL)
                .input("x", {4})
                .output("y", {4})
                .op("If", {"c"}, {"y"}, "branch",
                    {{"then_branch", body.graph()}, {"else_branch", body.graph()}})
                .model());
        const Rule& rule = built.named("branch");
        QVERIFY(rule.known);
        QCOMPARE(rule.inputs.size(), std::size_t{2});  // The condition, then what the bodies read.
        QCOMPARE(QString::fromStdString(rule.text()), QStringLiteral("., i1d0 -> i1d0"));
        QCOMPARE(rule.strictReason, std::string("proposal 0007 lists If as unsupported"));
        QVERIFY(built.rules->of(built.model->graph().nodes.back().id) != nullptr);
    }
    void calledFunctionsHaveTheRuleOfTheirNodes() {
        const auto body = ModelBuilder(18)
                              .input("a", {})
                              .ints("axes", {1})
                              .op("Constant", {}, {"at"}, "", {{"value_ints", {1}}})
                              .op("ReduceSum", {"a", "at"}, {"b"}, "sum")
                              .output("b");
        const BuiltRules built(ModelBuilder(18)
                                   .function("my", "Total", body)
                                   .opset("my", 1)
                                   .input("x", {4, 6})
                                   .output("y", {4, 1})
                                   .op("Total", {"x"}, {"y"}, "call", {}, "my")
                                   .model());
        const Rule& rule = built.named("call");
        QVERIFY(rule.known);
        QCOMPARE(rule.op, std::string("my::Total"));
        QCOMPARE(QString::fromStdString(rule.text()), QStringLiteral("i0d0 i0d1^ -> i0d0 1"));
        QCOMPARE(rule.factors[1].reason, std::string("`sum` inside sums over it"));
    }
    void functionsThatCannotBeLookedIntoSayWhy() {
        const auto body = ModelBuilder(17)
                              .input("a", {})
                              .op("ReduceMean", {"a"}, {"b"}, "", {{"axes", {0}}})
                              .output("b");
        const BuiltRules other(ModelBuilder(18)
                                   .function("my", "Mean", body)
                                   .input("x", {4})
                                   .output("y", {1})
                                   .op("Mean", {"x"}, {"y"}, "call", {}, "my")
                                   .model());
        QVERIFY(!other.named("call").known);
        QCOMPARE(other.named("call").strictReason,
                 std::string("the function imports other versions of operator sets"));
        const auto itself = ModelBuilder(18)
                                .opset("my", 1)
                                .input("a", {})
                                .op("Again", {"a"}, {"b"}, "", {}, "my")
                                .output("b");
        const BuiltRules again(ModelBuilder(18)
                                   .function("my", "Again", itself)
                                   .opset("my", 1)
                                   .input("x", {4})
                                   .output("y", {4})
                                   .op("Again", {"x"}, {"y"}, "call", {}, "my")
                                   .model());
        QVERIFY(!again.named("call").known);
        QCOMPARE(again.named("call").strictReason, std::string("the function calls itself"));
    }
    void customOperatorsHaveNoRule() {
        const Rule rule = lastRule(ModelBuilder()
                                       .opset("com.example", 1)
                                       .input("x", {4, 1})
                                       .output("y", {4})
                                       .op("Foo", {"x", ""}, {"y"}, "", {}, "com.example"));
        QCOMPARE(QString::fromStdString(rule.text()), QStringLiteral("i0d0^ 1, _ -> o0d0^"));
        QCOMPARE(rule.factors[0].reason, std::string("no rule for com.example::Foo"));
    }
    void attributesOfACallerAreKnownInTheCall() {
        auto axis = Attribute::reference("axis", "axis", onnx::AttributeProto::INT);
        const auto body =
            ModelBuilder().input("a", {}).op("Softmax", {"a"}, {"b"}, "", {axis}).output("b");
        const BuiltRules built(ModelBuilder()
                                   .function("my", "Soft", body, {}, {"axis"})
                                   .input("x", {4})
                                   .output("y", {4})
                                   .op("Soft", {"x"}, {"y"}, "call", {{"axis", 0}}, "my")
                                   .model());
        for (const NodeInfo& node : built.model->graph().nodes)
            QCOMPARE(built.rules->of(node.id)->known, static_cast<bool>(node.function));
    }
    void extraAndMissingInputsFallBack() {
        QVERIFY(
            !lastRule(ModelBuilder().input("a", {4, 8}).output("y", {4}).op("MatMul", {"a"}, {"y"}))
                 .known);
        QVERIFY(
            !lastRule(
                 ModelBuilder().input("a", {4, 8}).output("y", {4}).op("MatMul", {"a", ""}, {"y"}))
                 .known);
        QVERIFY(!lastRule(ModelBuilder()
                              .input("a", {4, 4})
                              .output("y", {4, 4})
                              .op("MatMul", {"a", "a", "a"}, {"y"}))
                     .known);
        QVERIFY(!lastRule(ModelBuilder()
                              .input("a", {4, 4})
                              .output("y", {4, 4})
                              .output("z", {4})
                              .op("MatMul", {"a", "a"}, {"y", "z"}))
                     .known);
        QVERIFY(!lastRule(ModelBuilder().input("a", {4, 4}).op("Relu", {"a"}, {""})).known);
        QVERIFY(!lastRule(ModelBuilder().output("y", {4}).op("Relu", {}, {"y"})).known);
    }
    void everyOperatorSurvivesHostileShapes() {
        const std::vector<Shape> shapes = {
            {}, {0}, {1}, {3}, {2, 3}, {1LL << 62, 1LL << 62}, {2, 3, 4, 5}};
        for (const OperatorEntry& entry : Registry::standard().entries())
            for (const Shape& shape : shapes)
                for (const std::size_t inputs : {0, 1, 3, 7}) {
                    ModelBuilder builder(23);
                    builder.opset("com.microsoft", 1).input("x", shape).output("y", shape);
                    builder.op(entry.op, std::vector<std::string>(inputs, "x"), {"y"}, "",
                               {{"axis", -7},
                                {"axes", {9, 9}},
                                {"perm", {1LL << 40}},
                                {"blocksize", -1},
                                {"block_size", 0},
                                {"batch_dims", 3},
                                {"q_num_heads", -1},
                                {"equation", "..."},
                                {"starts", {1}}},
                               entry.domain);
                    const BuiltRules built(builder.model());
                    const NodeInfo& node = built.model->graph().nodes.front();
                    const NodeContext context{built.model->graph(), *built.shapes, node, 23};
                    QCOMPARE(QString::fromStdString(validateRule(built.last(), context)),
                             QString());
                }
    }
    void hundredThousandNodesAreQuick() {
        const auto model = chain(100000).model();
        const auto shapes = ShapeTable::build(model, {});
        QElapsedTimer timer;
        timer.start();
        const auto rules = RuleTable::build(model, shapes);
        const qint64 elapsed = timer.elapsed();
        QVERIFY(rules->of(model->graph().nodes.back().id)->known);
        qInfo() << "100,000 nodes:" << elapsed << "ms";
        QVERIFY2(elapsed < 5000,
                 qPrintable(QString::number(elapsed)));  // 0.5 s optimised and alone.
    }
    void aCancelledTableIsNull() {
        const auto model = chain(3).model();
        const CancelToken cancel = CancelToken::create();
        cancel.cancel();
        QVERIFY(RuleTable::build(model, ShapeTable::build(model, {}), cancel) == nullptr);
    }
    void everyStrictnessHasAReason() {
        for (const OperatorEntry& entry : Registry::standard().entries()) {
            QVERIFY2(entry.strict == entry.strictReason.empty(), entry.op.c_str());
            QVERIFY2(!entry.family.empty(), entry.op.c_str());
            QCOMPARE(Registry::standard().find(entry.domain, entry.op), &entry);
        }
        QVERIFY(Registry::standard().find("", "NoSuchOperator") == nullptr);
    }
};

QTEST_GUILESS_MAIN(TstRuleTable)
#include "tst_rule_table.moc"
