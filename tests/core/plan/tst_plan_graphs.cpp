// SPDX-License-Identifier: Apache-2.0
#include "plan_case.h"

using namespace shardwright;
using namespace shardwright::test;

/// Graphs with stages, bodies, shape arithmetic and odd names.
class TstPlanGraphs : public QObject {
    Q_OBJECT

    static ModelBuilder chain(int layers) {
        ModelBuilder b;
        b.input("x", {4, 8});
        std::string at = "x";
        for (int i = 0; i < layers; ++i) {
            const std::string n = std::to_string(i);
            b.weight("w" + n, {8, 8}).op("MatMul", {at, "w" + n}, {"h" + n}, "mm" + n);
            b.op("Relu", {"h" + n}, {"r" + n}, "relu" + n);
            at = "r" + n;
        }
        return b.output(at, {4, 8});
    }

    /// y = condition ? h + w : h * w, with a node name that occurs twice in one branch.
    static ModelBuilder branches() {
        const auto then = ModelBuilder()
                              .op("Add", {"h", "w"}, {"t1"}, "same")
                              .op("Relu", {"t1"}, {"t"}, "same")
                              .output("t")
                              .graph("then");
        const auto otherwise =
            ModelBuilder().op("Mul", {"h", "w"}, {"e"}).output("e").graph("else");
        return ModelBuilder()
            .input("x", {4, 6})
            .input("condition", {}, onnx::TensorProto::BOOL)
            .weight("w", {4, 6})
            .weight("w1", {6, 6})
            .op("MatMul", {"x", "w1"}, {"h"}, "mm")
            .op("If", {"condition"}, {"y"}, "if",
                {{"then_branch", then}, {"else_branch", otherwise}})
            .op("Relu", {"y"}, {"z"}, "relu")
            .output("z", {4, 6});
    }

private slots:
    void stagesOnDevicesOfTheirOwn() {
        PlanCase c(chain(4), "pp=4");
        for (int i = 0; i < 4; ++i)
            c.stage("mm" + std::to_string(i) + "=" + std::to_string(i))
                .stage("relu" + std::to_string(i) + "=" + std::to_string(i));
        VERIFY_PLAN(c, "3 send");
        QCOMPARE(c.plan().phases, 4);
        for (int d = 0; d < 4; ++d) {
            QCOMPARE(c.plan().devices[std::size_t(d)].segments.size(), std::size_t{1});
            QCOMPARE(c.plan().devices[std::size_t(d)].segments[0].phase, d);
        }
    }
    void stagesOfTwoDevices() {
        PlanCase c(chain(4), "pp=2,tp=2");
        for (int i = 0; i < 4; ++i) {
            const std::string n = std::to_string(i), stage = std::to_string(i / 2);
            c.stage("mm" + n + "=" + stage).stage("relu" + n + "=" + stage);
            c.shard("w" + n + "@mm" + n + (i % 2 ? ":0=tp" : ":1=tp"));
        }
        VERIFY_PLAN(c, "2 all-reduce, 2 send");
    }
    void constantOfAnotherStageIsSent() {
        onnx::TensorProto ones = randomTensor("ones", {8});
        PlanCase c(ModelBuilder()
                       .input("x", {4, 8})
                       .op("Constant", {}, {"k"}, "const", {{"value", ones}})
                       .op("Relu", {"x"}, {"a"}, "first")
                       .op("Add", {"a", "k"}, {"y"}, "second")
                       .output("y", {4, 8}),
                   "pp=2");
        c.stage("const=0").stage("first=0").stage("second=1");
        VERIFY_PLAN(c, "2 send");
    }

    void bodiesReadWholeTensors() {
        PlanCase c(branches(), "d=2");
        c.shard("w1@mm:replicated");
        VERIFY_PLAN(c, "");
    }
    void bodiesReadWhatACollectiveGave() {
        PlanCase c(branches(), "d=2");
        c.shard("x@mm:1=d").shard("w1@mm:0=d");
        VERIFY_PLAN(c, "1 all-reduce");
    }
    void bodiesReadRenamedTensors() {
        // Device 0 has the product whole as its node left it and whole as the broadcast gave it:
        // the branches read the latter, which has another name there.
        PlanCase c(branches(), "d=2");
        c.layout("x", "mm", -1, {{0}}).layout("h", "mm", -1, {{0, 1}});
        VERIFY_PLAN(c, "1 broadcast");
        const auto& tensors = c.plan().devices[0].tensors;
        QVERIFY(std::any_of(tensors.begin(), tensors.end(),
                            [](const LocalTensor& t) { return t.name == "h.part1"; }));
    }
    void loopsRunEverywhere() {
        const auto body = ModelBuilder()
                              .input("i", {}, onnx::TensorProto::INT64)
                              .input("go", {}, onnx::TensorProto::BOOL)
                              .inputOfUnknownShape("sum")
                              .op("Add", {"sum", "h"}, {"more"})
                              .op("Identity", {"go"}, {"on"})
                              .output("on", {}, onnx::TensorProto::BOOL)
                              .output("more")
                              .graph("body");
        PlanCase c(ModelBuilder()
                       .input("x", {4, 6})
                       .weight("w1", {6, 6})
                       .scalar("n", 3)
                       .op("MatMul", {"x", "w1"}, {"h"}, "mm")
                       .op("Loop", {"n", "", "h"}, {"y"}, "loop", {{"body", body}})
                       .op("Relu", {"y"}, {"z"}, "relu")
                       .output("z", {4, 6}),
                   "d=2");
        c.shard("x@mm:1=d").shard("w1@mm:0=d");
        VERIFY_PLAN(c, "1 all-reduce");
    }
    void functionsAreCopiedAlong() {
        const auto body =
            ModelBuilder().op("Relu", {"a"}, {"t"}, "n").op("Exp", {"t"}, {"b"}, "n2");
        ModelBuilder inner = body;
        inner.inputOfUnknownShape("a").output("b");
        PlanCase c(ModelBuilder()
                       .opset("own", 1)
                       .function("own", "F", inner)
                       .input("x", {4, 6})
                       .weight("w", {6, 6})
                       .op("MatMul", {"x", "w"}, {"h"}, "mm")
                       .op("F", {"h"}, {"y"}, "call", {}, "own")
                       .output("y", {4, 6}),
                   "d=2");
        c.shard("x@mm:1=d").shard("w@mm:0=d");
        VERIFY_PLAN(c, "1 all-reduce");
    }

    void shapesAreThoseOfTheWholeTensor() {
        PlanCase c(ModelBuilder()
                       .input("x", {"batch", 6})
                       .weight("w", {6, 4})
                       .scalar("zero", 0)
                       .ints("rest", {-1})
                       .op("MatMul", {"x", "w"}, {"h"}, "mm")
                       .op("Shape", {"h"}, {"s"}, "shape")
                       .op("Gather", {"s", "zero"}, {"b"}, "batch")
                       .ints("axes", {0})
                       .op("Unsqueeze", {"b", "axes"}, {"b1"}, "un")
                       .op("Concat", {"b1", "rest"}, {"target"}, "cat", {{"axis", 0}})
                       .op("Reshape", {"h", "target"}, {"r"}, "reshape")
                       .op("ConstantOfShape", {"s"}, {"zeros"}, "zeros")
                       .op("Add", {"r", "zeros"}, {"y"}, "add")
                       .output("y", {"batch", 4})
                       .output("s", {2}, onnx::TensorProto::INT64),
                   "d=4");
        c.bind("batch", 10).shard("x@mm:0=d");
        VERIFY_PLAN(c, "");
        // Nobody observes the shape arithmetic here, so it is folded.
        const auto analysis = c.analyse();
        const auto plan = lower(*analysis);
        QVERIFY(plan);
        for (const NodeId node : (*plan)->devices[0].segments[0].nodes)
            QVERIFY2(analysis->graph().opType(node) != "Concat" &&
                         analysis->graph().opType(node) != "Unsqueeze",
                     analysis->graph().label(node).c_str());
    }

    void nodeNamesThatOccurTwice() {
        PlanCase c(ModelBuilder()
                       .input("x", {4, 6})
                       .op("Relu", {"x"}, {"a"}, "n")
                       .op("Sigmoid", {"a"}, {"b"}, "n")
                       .op("Tanh", {"b"}, {"y"}, "last")
                       .output("y", {4, 6}),
                   "d=2");
        c.shard("b@last:0=d");
        VERIFY_PLAN(c, "");
    }
    void omittedInputsAndOutputs() {
        PlanCase c(ModelBuilder()
                       .input("x", {4, 6})
                       .real("high", 1.0F)
                       .op("Clip", {"x", "", "high"}, {"a"}, "clip")
                       .op("Dropout", {"a"}, {"y"}, "drop")
                       .output("y", {4, 6}),
                   "d=2");
        c.shard("x@clip:0=d");
        VERIFY_PLAN(c, "");
    }
    void namesThatLookLikeOurs() {
        PlanCase c(ModelBuilder()
                       .input("x", {4, 6})
                       .weight("x.part1", {6, 4})
                       .op("MatMul", {"x", "x.part1"}, {"x.term1"}, "mm")
                       .op("Relu", {"x.term1"}, {"x.t1"}, "relu")
                       .output("x.t1", {4, 4}),
                   "d=2");
        c.shard("x@mm:1=d").shard("x.part1@mm:0=d");
        VERIFY_PLAN(c, "1 all-reduce");
    }
    void outputsThatNobodyComputes() {
        PlanCase c(ModelBuilder()
                       .input("x", {4, 6})
                       .weight("w", {6, 6})
                       .op("MatMul", {"x", "w"}, {"y"}, "mm")
                       .output("y", {4, 6})
                       .output("x", {4, 6})
                       .output("w", {6, 6}),
                   "d=2");
        c.shard("x@mm:0=d");
        VERIFY_PLAN(c, "");
    }
    void exchangesOfUnusedResultsAreDone() {
        PlanCase c(ModelBuilder()
                       .input("x", {4, 6})
                       .weight("w", {6, 6})
                       .op("MatMul", {"x", "w"}, {"unused"}, "mm")
                       .op("Relu", {"x"}, {"y"}, "relu")
                       .output("y", {4, 6}),
                   "d=2");
        c.shard("x@mm:1=d").shard("w@mm:0=d");
        // Without observing, nothing reads the result; its communication is predicted all the same.
        const auto plan = lower(*c.analyse());
        QVERIFY(plan);
        QCOMPARE((*plan)->exchanges.at(0).size(), std::size_t{1});
        QCOMPARE((*plan)->predictedTotal(CollectiveKind::AllReduce).count, 1);
        VERIFY_PLAN(c, "1 all-reduce");
    }
    void withoutConfigurationOneDeviceRunsAll() {
        const auto model = chain(2);
        Analyser analyser;
        const auto analysis = analyser.run(model.document(), {});
        QVERIFY(analysis);
        const auto plan = lower(**analysis);
        QVERIFY(plan);
        QCOMPARE((*plan)->deviceCount, 1);
        QCOMPARE((*plan)->devices[0].segments.size(), std::size_t{1});
    }
};

QTEST_GUILESS_MAIN(TstPlanGraphs)
#include "tst_plan_graphs.moc"
