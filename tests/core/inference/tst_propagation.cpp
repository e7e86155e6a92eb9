// SPDX-License-Identifier: Apache-2.0
#include "inference/propagation.h"

#include "propagation_fixture.h"
#include "support/generated_transformer.h"

#include <QtTest>

using namespace shardwright;
using namespace shardwright::test;

namespace {

/// x[8,16] -> mm1 -> h[8,32] -> relu -> r -> mm2 -> y[8,16]
std::shared_ptr<const Model> mlp() {
    return ModelBuilder{}
        .input("x", {8, 16})
        .weight("w1", {16, 32})
        .weight("w2", {32, 16})
        .op("MatMul", {"x", "w1"}, {"h"}, "mm1")
        .op("Relu", {"h"}, {"r"}, "relu")
        .op("MatMul", {"r", "w2"}, {"y"}, "mm2")
        .output("y", {8, 16})
        .model();
}

/// x[8,16] -> mm1 -> h[8,32] -> what runs a body, `call` -> r[8,32] -> mm2 -> y[8,16]
ModelBuilder around() {
    return ModelBuilder{}
        .opset("my", 1)
        .input("x", {8, 16})
        .input("c", {}, onnx::TensorProto::BOOL)
        .scalar("trips", 3)
        .weight("w1", {16, 32})
        .weight("w2", {32, 16})
        .op("MatMul", {"x", "w1"}, {"h"}, "mm1");
}

std::shared_ptr<const Model> throughBody(const QString& kind) {
    ModelBuilder model = around();
    const auto step = [](const char* in, const char* out) {
        return ModelBuilder{}
            .input("i", {}, onnx::TensorProto::INT64)
            .input("g", {}, onnx::TensorProto::BOOL)
            .input(in, {8, 32})
            .op("Identity", {"g"}, {"k"})
            .op("Relu", {in}, {out})
            .output("k", {}, onnx::TensorProto::BOOL)
            .output(out, {8, 32});
    };
    if (kind == "If")
        model.op("If", {"c"}, {"r"}, "call",
                 {{"then_branch", ModelBuilder{}.op("Relu", {"h"}, {"a"}).output("a").graph()},
                  {"else_branch", ModelBuilder{}.op("Neg", {"h"}, {"b"}).output("b").graph()}});
    else if (kind == "Loop")
        model.op("Loop", {"trips", "c", "h"}, {"r"}, "call", {{"body", step("s", "t").graph()}});
    else if (kind == "Loop that reads from outside")
        model.input("s0", {8, 32})
            .op("Loop", {"trips", "c", "s0"}, {"r"}, "call",
                {{"body", ModelBuilder{}
                              .input("i", {}, onnx::TensorProto::INT64)
                              .input("g", {}, onnx::TensorProto::BOOL)
                              .input("s", {8, 32})
                              .op("Identity", {"g"}, {"k"})
                              .op("Add", {"s", "h"}, {"t"})
                              .output("k", {}, onnx::TensorProto::BOOL)
                              .output("t", {8, 32})
                              .graph()}});
    else if (kind == "Scan")
        model.op("Scan", {"h"}, {"r"}, "call",
                 {{"body", ModelBuilder{}
                               .input("row", {32})
                               .op("Relu", {"row"}, {"done"})
                               .output("done", {32})
                               .graph()},
                  {"num_scan_inputs", 1}});
    else if (kind == "If in an If")
        model.op(
            "If", {"c"}, {"r"}, "call",
            {{"then_branch", ModelBuilder{}.op("Relu", {"h"}, {"a"}).output("a").graph()},
             {"else_branch",
              ModelBuilder{}
                  .op("If", {"c"}, {"b"}, "inner",
                      {{"then_branch", ModelBuilder{}.op("Neg", {"h"}, {"d"}).output("d").graph()},
                       {"else_branch", ModelBuilder{}.op("Abs", {"h"}, {"e"}).output("e").graph()}})
                  .output("b")
                  .graph()}});
    else
        model
            .function("my", "F", ModelBuilder{}.input("p", {}).op("Relu", {"p"}, {"q"}).output("q"))
            .op("F", {"h"}, {"r"}, "call", {}, "my");
    return model.op("MatMul", {"r", "w2"}, {"y"}, "mm2").output("y", {8, 16}).model();
}

}  // namespace

class TstPropagation : public QObject {
    Q_OBJECT
private slots:
    void aSplitColumnWeightSplitsTheRowWeight() {
        PropagationCase c(mlp(), "tp=2");
        c.put("mm1", "w1", ", tp");
        const Propagator p = c.propagated();
        QCOMPARE(axesOf(c, p, "h"), QString("[, tp]"));
        QCOMPARE(axesOf(c, p, "r"), QString("[, tp]"));
        QCOMPARE(axesOf(c, p, "w2"), QString("[tp, ]"));
        QCOMPARE(axesOf(c, p, "y"), QString("[, ]"));
        QCOMPARE(axesOf(c, p, "x"), QString("[, ]"));
    }

    void directionsSayWhichTensorsMayChange() {
        PropagationCase c(mlp(), "tp=2");
        c.put("relu", "h", ", tp");
        c.options.direction = PropagationDirection::Forward;
        const Propagator forward = c.propagated();
        QCOMPARE(axesOf(c, forward, "r"), QString("[, tp]"));
        QCOMPARE(axesOf(c, forward, "h"), QString("[, ]"));
        QCOMPARE(axesOf(c, forward, "w1"), QString("[, ]"));
        c.options.direction = PropagationDirection::Reverse;
        const Propagator reverse = c.propagated();
        QCOMPARE(axesOf(c, reverse, "r"), QString("[, ]"));
        QCOMPARE(axesOf(c, reverse, "h"), QString("[, tp]"));
        QCOMPARE(axesOf(c, reverse, "w1"), QString("[, tp]"));
    }

    void explicitLayoutsStayAsTheyAre() {
        PropagationCase c(mlp(), "tp=2");
        c.put("mm1", "w1", ", tp");
        c.put("relu", "r", ", ");
        const Propagator p = c.propagated();
        QCOMPARE(axesOf(c, p, "h"), QString("[, tp]"));
        QCOMPARE(axesOf(c, p, "r"), QString("[, ]"));
        QCOMPARE(axesOf(c, p, "w2"), QString("[, ]"));
        QVERIFY(p.isExplicit({nodeNamed(c.graph(), "relu"), true, 0}));
        QVERIFY(!p.isExplicit({nodeNamed(c.graph(), "mm1"), true, 0}));
    }

    void everyAxisIsTracedToItsAnnotation() {
        PropagationCase c(mlp(), "tp=2");
        c.put("mm1", "w1", ", tp");
        const Propagator p = c.propagated();
        const NodeId mm2 = nodeNamed(c.graph(), "mm2");
        const auto origin = p.originOf({mm2, false, 1}, p.space().whole(0));
        QVERIFY(origin);
        QCOMPARE(origin->annotation, (NodeSlot{nodeNamed(c.graph(), "mm1"), false, 1}));
        QCOMPARE(origin->value, valueNamed(c.graph(), "w1"));
        const QString words = QString::fromStdString(p.explain(*origin, p.space().whole(0)));
        for (const char* part :
             {"axis tp is set on `w1` at MatMul `mm1`", "forward through MatMul `mm1`",
              "forward through Relu `relu`", "sideways through MatMul `mm2`", "to `w2`"})
            QVERIFY2(words.contains(part), qPrintable(words));
        QVERIFY(!p.originOf({mm2, true, 0}, p.space().whole(0)));
    }

    void twoAnnotationsAgreeOnTheirCommonBeginning() {
        const auto model = ModelBuilder{}
                               .input("a", {8, 8})
                               .input("b", {8, 8})
                               .op("Add", {"a", "b"}, {"c"}, "add")
                               .output("c", {8, 8})
                               .model();
        PropagationCase c(model, "p=2,q=2,r=2");
        c.put("add", "a", "p+q, ");
        c.put("add", "b", "p+r, ");
        QCOMPARE(axesOf(c, c.propagated(), "c"), QString("[p, ]"));
        c.put("add", "b", "r, ");
        QCOMPARE(axesOf(c, c.propagated(), "c"), QString("[, ]"));
    }

    void policiesDecideConflictsDifferently() {
        const auto model = ModelBuilder{}
                               .input("a", {8, 16})
                               .input("b", {8, 16})
                               .op("Add", {"a", "b"}, {"c"}, "add")
                               .output("c", {8, 16})
                               .model();
        PropagationCase c(model, "p=2");
        c.put("add", "a", "p, ");
        c.put("add", "b", ", p");
        QCOMPARE(axesOf(c, c.propagated(), "c"), QString("[, ]"));
        for (const char* name : {"paddle", "shardy-aggressive"}) {
            c.options.policy = *findPropagationPolicy(name);
            QCOMPARE(axesOf(c, c.propagated(), "c"), QString("[p, ]"));
        }
        QVERIFY(!findPropagationPolicy("shardy"));
    }

    void proposal0007GoesForwardThroughWhatItCovers() {
        const auto model = ModelBuilder{}
                               .input("a", {8, 16})
                               .op("Relu", {"a"}, {"b"}, "relu")
                               .op("Softmax", {"b"}, {"c"}, "softmax", {{"axis", 1}})
                               .output("c", {8, 16})
                               .model();
        PropagationCase c(model, "p=2");
        c.options.policy = *findPropagationPolicy("onnx-0007");
        c.put("relu", "a", "p, ");
        const Propagator p = c.propagated();
        QCOMPARE(axesOf(c, p, "b"), QString("[p, ]"));
        QCOMPARE(axesOf(c, p, "c"), QString("[, ]"));
        QCOMPARE(axesOf(c, p, "a"), QString("[, ]"));
    }

    void axesGoThroughBodies_data() {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<QString>("policy");
        for (const char* kind :
             {"If", "If in an If", "Loop", "Loop that reads from outside", "Scan", "function"})
            for (const PropagationPolicy& policy : propagationPolicies())
                QTest::addRow("%s, %s", kind, policy.name.data())
                    << QString(kind) << QString::fromUtf8(policy.name.data());
    }
    void axesGoThroughBodies() {
        QFETCH(QString, kind);
        QFETCH(QString, policy);
        PropagationCase c(throughBody(kind), "tp=2");
        c.options.policy = *findPropagationPolicy(policy.toStdString());
        // The proposal has no rules for what runs bodies.
        const bool through = policy != "onnx-0007";
        c.put("mm1", "w1", ", tp");
        const Propagator forward = c.propagated();
        QCOMPARE(axesOf(c, forward, "h"), QString("[, tp]"));
        QCOMPARE(axesOf(c, forward, "r"), QString(through ? "[, tp]" : "[, ]"));
        QCOMPARE(axesOf(c, forward, "w2"), QString(through ? "[tp, ]" : "[, ]"));
        c.remove(nodeNamed(c.graph(), "mm1"), "w1");
        c.put("mm2", "w2", "tp, ");
        const Propagator reverse = c.propagated();
        QCOMPARE(axesOf(c, reverse, "h"), QString(through ? "[, tp]" : "[, ]"));
        QCOMPARE(axesOf(c, reverse, "w1"), QString(through ? "[, tp]" : "[, ]"));
        if (!through)
            return;
        const auto origin =
            reverse.originOf({nodeNamed(c.graph(), "mm1"), false, 1}, reverse.space().whole(0));
        QVERIFY(origin);
        QCOMPARE(origin->value, valueNamed(c.graph(), "w2"));
        const std::string words = reverse.explain(*origin, reverse.space().whole(0));
        QVERIFY2(words.find("`call`") != std::string::npos, words.c_str());
    }

    void axesThatMustStayWholeAreNotPassedOn() {
        const auto model = ModelBuilder{}
                               .input("a", {8, 16})
                               .op("Softmax", {"a"}, {"b"}, "softmax", {{"axis", 1}})
                               .output("b", {8, 16})
                               .model();
        PropagationCase c(model, "p=2,q=2");
        c.put("softmax", "a", "p, q");
        QCOMPARE(axesOf(c, c.propagated(), "b"), QString("[p, ]"));
    }

    void aFusedInnerDimensionBecomesAComponent() {
        const auto model = ModelBuilder{}
                               .input("a", {4, 6})
                               .ints("s", {24})
                               .op("Reshape", {"a", "s"}, {"b"}, "reshape")
                               .output("b", {24})
                               .model();
        PropagationCase c(model, "p=2");
        c.put("reshape", "a", ", p");
        QCOMPARE(axesOf(c, c.propagated(), "b"), QString("[4*6/p]"));
        c.options.policy = *findPropagationPolicy("shardy-basic");
        QCOMPARE(axesOf(c, c.propagated(), "b"), QString("[]"));
    }

    void anAxisIsCutWhereADimensionIs() {
        const auto model = ModelBuilder{}
                               .input("a", {8})
                               .ints("s", {2, 4})
                               .op("Reshape", {"a", "s"}, {"b"}, "reshape")
                               .output("b", {2, 4})
                               .model();
        PropagationCase c(model, "p=4");
        c.put("reshape", "a", "p");
        const Propagator p = c.propagated();
        QCOMPARE(axesOf(c, p, "b"), QString("[p:(1)2, p:(2)2]"));
        const auto layout = p.space().toLayout(*p.of(valueNamed(c.graph(), "b")), {2, 4});
        QVERIFY(layout);
        QCOMPARE(layout->groups(), (std::vector<DeviceGroup>{{0}, {1}, {2}, {3}}));
    }

    void prioritiesLetOneAxisGoFirst() {
        const auto model = ModelBuilder{}
                               .input("a", {8, 8})
                               .input("b", {8, 8})
                               .op("Relu", {"a"}, {"a1"}, "relu")
                               .op("Add", {"a1", "b"}, {"c"}, "add")
                               .output("c", {8, 8})
                               .model();
        PropagationCase c(model, "p=2,q=2");
        c.put("relu", "a", "p, ");
        c.put("add", "b", "q, ");
        c.options.axisPriorities = {1, 0};
        QCOMPARE(axesOf(c, c.propagated(), "c"), QString("[q, ]"));
        c.options.axisPriorities = {0, 1};
        QCOMPARE(axesOf(c, c.propagated(), "c"), QString("[, ]"));
    }

    void layoutsThatNoMeshExplainsArePassedOnAsTheyAre() {
        PropagationCase c(mlp(), "tp=4");
        // Columns in two blocks, on devices 0 and 3 and on 1 alone.
        c.put(nodeNamed(c.graph(), "mm1"), "w1",
              Layout({16, 32}, {{{16, 1}}, {{32, 2}}}, {{0, 3}, {1}}));
        const Propagator p = c.propagated();
        const auto of = [&](const char* tensor, const std::vector<std::int64_t>& shape) {
            return *p.space().toLayout(*p.of(valueNamed(c.graph(), tensor)), shape);
        };
        QCOMPARE(of("r", {8, 32}), Layout({8, 32}, {{{8, 1}}, {{32, 2}}}, {{0, 3}, {1}}));
        QCOMPARE(of("w2", {32, 16}), Layout({32, 16}, {{{32, 2}}, {{16, 1}}}, {{0, 3}, {1}}));
    }

    void equalBiasesThatAnExporterSharedDoNotLinkTheirNodes() {
        const auto model = ModelBuilder{}
                               .input("a", {8, 16})
                               .input("b", {8, 16})
                               .weight("bias", {16})
                               .op("Add", {"a", "bias"}, {"c"}, "add1")
                               .op("Add", {"b", "bias"}, {"d"}, "add2")
                               .output("c", {8, 16})
                               .output("d", {8, 16})
                               .model();
        PropagationCase c(model, "p=2");
        c.put("add1", "a", ", p");
        const Propagator p = c.propagated();
        QCOMPARE(axesOf(c, p, "c"), QString("[, p]"));
        QCOMPARE(axesOf(c, p, "d"), QString("[, ]"));
        QCOMPARE(axesText(p.of(NodeSlot{nodeNamed(c.graph(), "add1"), false, 1}), p.space()),
                 QString("[p]"));
        QCOMPARE(axesText(p.of(NodeSlot{nodeNamed(c.graph(), "add2"), false, 1}), p.space()),
                 QString("[]"));
    }

    void aChainOfAHundredThousandNodesIsWalkedOnce() {
        constexpr int kNodes = 100'000;
        ModelBuilder builder;
        builder.input("t0", {8});
        for (int n = 0; n < kNodes; ++n)
            builder.op("Relu", {"t" + std::to_string(n)}, {"t" + std::to_string(n + 1)});
        builder.output("t" + std::to_string(kNodes), {8});
        PropagationCase c(builder.model(), "p=2");
        c.put(c.graph().main().nodes.back(), "t" + std::to_string(kNodes),
              *AxisSpace(c.configuration.mesh).toLayout(c.sharding("p", 1), {8}));
        const Propagator p = c.propagated();
        QCOMPARE(axesOf(c, p, "t0"), QString("[p]"));
        QVERIFY2(p.evaluations() < 10 * kNodes, qPrintable(QString::number(p.evaluations())));
        const auto origin =
            p.originOf({c.graph().main().nodes.front(), false, 0}, p.space().whole(0));
        QVERIFY(origin);
        QCOMPARE(static_cast<int>(origin->length), kNodes);
        QVERIFY(origin->hops.size() <= 6);
        QVERIFY(p.explain(*origin, p.space().whole(0)).size() < 2000);
    }

    void anUpdateEqualsAFullRun_data() {
        QTest::addColumn<QString>("policy");
        for (const PropagationPolicy& policy : propagationPolicies())
            QTest::newRow(policy.name.data()) << QString::fromUtf8(policy.name.data());
    }
    void anUpdateEqualsAFullRun() {
        QFETCH(QString, policy);
        int additions = 0;
        for (unsigned seed = 1; seed <= 12; ++seed) {
            PropagationCase c(randomModel(seed, 40), "p=2,q=2,r=2");
            c.options.policy = *findPropagationPolicy(policy.toStdString());
            additions += compareUpdates(c, seed, 25);
        }
        QVERIFY(additions > 500);
    }

    void anUpdateEqualsAFullRunOnATransformer() {
        TransformerSizes sizes;
        sizes.layers = 3;
        PropagationCase c(transformer(sizes).model(), "dp=2,tp=2");
        QVERIFY(compareUpdates(c, 7, 60) > 100);
    }

    void anUpdateEqualsAFullRunThroughBodies() {
        ModelBuilder builder;
        builder.input("t0", {8, 16}).input("c", {}, onnx::TensorProto::BOOL).weight("b", {16});
        for (int n = 0; n < 8; ++n) {
            const std::string in = "t" + std::to_string(n), out = "t" + std::to_string(n + 1);
            const std::string other = "t" + std::to_string(n / 2);
            builder.op(
                "If", {"c"}, {out}, "if" + std::to_string(n),
                {{"then_branch", ModelBuilder{}
                                     .op("Add", {in, "b"}, {"u"})
                                     .op("Add", {"u", other}, {"v"})
                                     .output("v")
                                     .graph()},
                 {"else_branch", ModelBuilder{}.op("Relu", {in}, {"w"}).output("w").graph()}});
        }
        builder.op("Relu", {"t8"}, {"y"}, "relu").output("y", {8, 16});
        PropagationCase c(builder.model(), "p=2,q=2");
        const int additions = compareUpdates(c, 3, 150);
        QVERIFY2(additions > 200, qPrintable(QString::number(additions)));
    }

    void anUpdateLooksAtTheConeOfTheEditOnly() {
        ModelBuilder builder;
        builder.input("x", {8});
        for (int n = 0; n < 2000; ++n)
            builder.op("Relu", {n % 20 == 0 ? "x" : "t" + std::to_string(n - 1)},
                       {"t" + std::to_string(n)});
        builder.output("t1999", {8});
        PropagationCase c(builder.model(), "p=2");
        c.options.direction = PropagationDirection::Forward;
        Propagator p = c.propagated();
        const NodeId node = c.graph().main().nodes[1010];
        c.put(node, "t1010", *AxisSpace(c.configuration.mesh).toLayout(c.sharding("p", 1), {8}));
        p.update(c.annotations, std::vector{node});
        QCOMPARE(axesOf(c, p, "t1019"), QString("[p]"));
        QCOMPARE(axesOf(c, p, "t1020"), QString("[]"));
        QVERIFY2(p.evaluations() < 300, qPrintable(QString::number(p.evaluations())));
    }

private:
    /// Edits at random; after each, the update is compared with a run from nothing. Gives how many
    /// additions the histories had.
    static int compareUpdates(PropagationCase& c, unsigned seed, int edits) {
        std::mt19937 random(seed);
        Propagator incremental(c.input(), c.options);
        incremental.run(c.annotations);
        int additions = 0;
        for (int edit = 0; edit < edits; ++edit) {
            std::vector<NodeId> changed{randomEdit(c, random)};
            if (edit % 5 == 0)
                changed.push_back(randomEdit(c, random));
            std::sort(changed.begin(), changed.end());
            changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
            incremental.update(c.annotations, changed);
            Propagator full(c.input(), c.options);
            full.run(c.annotations);
            for (const ValueInfo& value : c.graph().values) {
                const QString mine = QString::fromStdString(incremental.historyOf(value.id));
                const QString theirs = QString::fromStdString(full.historyOf(value.id));
                additions += static_cast<int>(theirs.count('@'));
                if (mine != theirs)
                    QTest::qFail(
                        qPrintable(QString("seed %1, edit %2, `%3`:\n%4\n%5")
                                       .arg(seed)
                                       .arg(edit)
                                       .arg(QString::fromStdString(value.name), mine, theirs)),
                        __FILE__, __LINE__);
                if (mine != theirs)
                    return 0;
            }
        }
        return additions;
    }
};

QTEST_GUILESS_MAIN(TstPropagation)
#include "tst_propagation.moc"
