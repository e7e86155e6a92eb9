// SPDX-License-Identifier: Apache-2.0
#include "factor_case.h"

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

onnx::TensorProto flag(const std::string& name, bool value) {
    onnx::TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(T::BOOL);
    tensor.add_int32_data(value ? 1 : 0);
    return tensor;
}

/// x of [4,6] by a node `p`, and a condition of the data.
ModelBuilder choice() {
    return ModelBuilder(17)
        .input("given", {4, 6})
        .input("c", {}, T::BOOL)
        .op("Identity", {"given"}, {"x"}, "p");
}

ModelBuilder withIf(const ModelBuilder& yes, const ModelBuilder& no) {
    return choice()
        .op("If", {"c"}, {"y"}, "call",
            {{"then_branch", yes.graph("yes")}, {"else_branch", no.graph("no")}})
        .output("y", {4, 6});
}

ModelBuilder loop(const ModelBuilder& body, const std::vector<std::string>& outputs) {
    ModelBuilder model(17);
    model.scalar("trips", 3)
        .initializer(flag("go", true))
        .input("x", {4, 6})
        .op("Loop", {"trips", "go", "x"}, outputs, "call", {{"body", body.graph("body")}});
    for (const std::string& output : outputs)
        model.output(output);
    return model;
}

ModelBuilder loopBody() {
    return ModelBuilder(17)
        .input("i", {}, T::INT64)
        .input("go_in", {}, T::BOOL)
        .input("s", {4, 6})
        .op("Identity", {"go_in"}, {"go_out"})
        .output("go_out", {}, T::BOOL);
}

}  // namespace

/// Nodes that run other graphs: each factor of the derived rule split over 2 and 3 devices, and the
/// bodies run on the parts.
class TstPlanBodies : public QObject {
    Q_OBJECT

private slots:
    void branches() {
        const auto yes = ModelBuilder(17).op("Relu", {"x"}, {"a"}).output("a", {4, 6});
        const auto no =
            ModelBuilder(17).op("Softmax", {"x"}, {"b"}, "norm", {{"axis", 1}}).output("b", {4, 6});
        VERIFY_FACTORS(withIf(yes, no), "call", "i1d0");
        VERIFY_FACTORS(withIf(yes, yes), "call", "i1d0 i1d1");
    }
    /// A tensor is an input of one and an output of the other; a body reads the former by name.
    void nodesApartReadWhatTheyAreGiven() {
        const auto neg = ModelBuilder(17).op("Neg", {"x"}, {"a"}).output("a", {4, 6});
        const auto analysis = PlanCase(withIf(neg, neg), "tp=2").analyse();
        const auto plan = lowerApart(
            *analysis, {nodeNamed(analysis->graph(), "p"), nodeNamed(analysis->graph(), "call")});
        QVERIFY(plan);
        auto inputs = randomInputs(*analysis->document.model, *analysis->shapes, 1);
        QVERIFY(inputs);
        Buffer twos = Buffer::host(T::FLOAT, {4, 6}).value();
        std::fill_n(reinterpret_cast<float*>(twos.data()), 24, 2.F);
        inputs->emplace("x", twos);
        RunOptions once;
        once.warmups = 0;
        once.makeEngine = [](DeviceId) { return makeOrtEngine(ortRuntime(), {}); };
        const auto result = execute(**plan, once, *inputs);
        QVERIFY2(result, result ? "" : result.error().text().c_str());
        std::map<std::string, float> first;
        for (const RunResult::Output& output : result->outputs)
            first[output.name] = reinterpret_cast<const float*>(output.pieces.at(0).data.data())[0];
        QCOMPARE(first.size(), std::size_t(2));
        QCOMPARE(first["y"], -2.F);
        QCOMPARE(first["x"], reinterpret_cast<const float*>(inputs->at("given").data())[0]);
    }
    /// A sequence is on each device; what is made of its elements may be split again.
    void bodiesOverASequence() {
        if (!ortRuntime())
            QSKIP("needs ONNX Runtime's library");
        const auto body = ModelBuilder(17)
                              .input("element", {4, 6})
                              .op("Add", {"element", "b"}, {"sum"})
                              .output("sum", {4, 6});
        ModelBuilder model(17);
        model.input("x", {4, 6})
            .input("z", {4, 6})
            .input("b", {6})
            .weight("w", {6, 8})
            .scalar("at", 1)
            .op("SequenceConstruct", {"x", "z"}, {"s"})
            .op("SequenceMap", {"s"}, {"t"}, "map", {{"body", body.graph("body")}})
            .op("SequenceAt", {"t", "at"}, {"e"})
            .op("MatMul", {"e", "w"}, {"y"}, "mm")
            .output("y", {4, 8});
        const auto analysis = PlanCase(model, "tp=2").shard("w@mm:1=tp").analyse();
        QVERIFY(analysis->count(Severity::Error) == 0);
        const auto plan = lower(*analysis), whole = lowerUnannotated(*analysis);
        QVERIFY2(plan, plan ? "" : plan.error().text().c_str());
        QVERIFY2(whole, whole ? "" : whole.error().text().c_str());
        RunOptions run;
        run.makeEngine = [](DeviceId) { return makeOrtEngine(ortRuntime(), {}); };
        const auto inputs = randomInputs(*analysis->document.model, *analysis->shapes, 1);
        const auto split = execute(**plan, run, *inputs),
                   reference = execute(**whole, run, *inputs);
        QVERIFY2(split, split ? "" : split.error().text().c_str());
        QVERIFY2(reference, reference ? "" : reference.error().text().c_str());
        const TensorCheck check = checkTensor(split->outputs[0], reference->outputs[0]);
        QVERIFY2(check.agrees, check.note.c_str());
        QCOMPARE(split->outputs[0].pieces.size(), std::size_t{2});
    }
    void shapesInsideBecomeLocal() {
        const auto yes = ModelBuilder(17)
                             .ints("wide", {4, 2, 3})
                             .ints("narrow", {4, 6})
                             .op("Reshape", {"x", "wide"}, {"w"})
                             .op("Neg", {"w"}, {"v"})
                             .op("Reshape", {"v", "narrow"}, {"a"})
                             .output("a", {4, 6});
        const auto no = ModelBuilder(17)
                            .op("Shape", {"x"}, {"size"})
                            .ints("part", {3, 3})
                            .op("Split", {"x", "part"}, {"l", "r"}, "", {{"axis", 1}})
                            .op("Concat", {"l", "r"}, {"lr"}, "", {{"axis", 1}})
                            .op("Expand", {"lr", "size"}, {"b"})
                            .output("b", {4, 6});
        VERIFY_FACTORS(withIf(yes, no), "call", "i1d0 i1d1_2");
    }
    void constantsInsideAreCut() {
        const auto yes = ModelBuilder(17)
                             .weight("bias", {6})
                             .op("Add", {"x", "bias"}, {"a"})
                             .output("a", {4, 6});
        const auto no = ModelBuilder(17)
                            .op("Constant", {}, {"b"}, "", {{"value", randomTensor("b", {4, 6})}})
                            .output("b", {4, 6});
        VERIFY_FACTORS(withIf(yes, no), "call", "i1d0 i1d1");
        const auto held =
            ModelBuilder(17).weight("w", {4, 6}).op("Identity", {"w"}, {"b"}).output("b", {4, 6});
        VERIFY_FACTORS(withIf(yes, held), "call", "i1d0 i1d1");
    }
    void loopStates() {
        const auto body = loopBody()
                              .weight("w", {6, 6})
                              .op("MatMul", {"s", "w"}, {"m"}, "product")
                              .op("Tanh", {"m"}, {"s_out"})
                              .output("s_out", {4, 6});
        VERIFY_FACTORS(loop(body, {"y"}), "call", "i2d0");
    }
    void loopsThatCollect() {
        const auto body = loopBody()
                              .weight("bias", {6})
                              .op("Add", {"s", "bias"}, {"s_out"})
                              .op("Neg", {"s"}, {"item"})
                              .output("s_out", {4, 6})
                              .output("item", {4, 6});
        VERIFY_FACTORS(loop(body, {"y", "items"}), "call", "i2d0 i2d1");
    }
    void branchesInsideLoops() {
        const auto yes = ModelBuilder(17).op("Relu", {"s"}, {"a"}).output("a", {4, 6});
        const auto no =
            ModelBuilder(17).weight("k", {6}).op("Mul", {"s", "k"}, {"b"}).output("b", {4, 6});
        const auto body = loopBody()
                              .scalar("one", 1)
                              .op("Less", {"i", "one"}, {"early"})
                              .op("If", {"early"}, {"s_out"}, "inner",
                                  {{"then_branch", yes.graph()}, {"else_branch", no.graph()}})
                              .output("s_out", {4, 6});
        VERIFY_FACTORS(loop(body, {"y"}), "call", "i2d0 i2d1");
    }
    void scans() {
        const auto body = ModelBuilder(17)
                              .input("s", {4, 6})
                              .input("item", {4, 6})
                              .op("Add", {"s", "item"}, {"s_out"})
                              .op("Softmax", {"s_out"}, {"o"}, "norm", {{"axis", 1}})
                              .output("s_out", {4, 6})
                              .output("o", {4, 6});
        const auto model = ModelBuilder(17)
                               .input("x", {4, 6})
                               .input("items", {4, 5, 6})
                               .op("Scan", {"x", "items"}, {"y", "all"}, "call",
                                   {{"body", body.graph("body")},
                                    {"num_scan_inputs", 1},
                                    {"scan_input_axes", {1}}})
                               .output("y")
                               .output("all");
        VERIFY_FACTORS(model, "call", "i0d0");
    }
    void functions() {
        const auto body =
            ModelBuilder(17)
                .input("a", {})
                .input("w", {})
                .op("MatMul", {"a", "w"}, {"m"}, "product")
                .op("Constant", {}, {"shape"}, "", {{"value", intTensor("shape", {3}, {4, 2, 4})}})
                .op("Reshape", {"m", "shape"}, {"b"}, "heads")
                .output("b");
        const auto model = ModelBuilder(17)
                               .function("my", "Project", body)
                               .opset("my", 1)
                               .input("x", {4, 6})
                               .weight("w", {6, 8})
                               .op("Project", {"x", "w"}, {"y"}, "call", {}, "my")
                               .output("y", {4, 2, 4});
        VERIFY_FACTORS(model, "call", "i0d0 i1d1 i1d1_2");
    }
    void functionsOnDifferentShapes() {
        const auto linear = ModelBuilder(17)
                                .input("a", {})
                                .input("w", {})
                                .input("b", {})
                                .op("MatMul", {"a", "w"}, {"m"}, "product")
                                .op("Add", {"m", "b"}, {"s"}, "bias")
                                .op("Shape", {"s"}, {"shape"})
                                .op("ConstantOfShape", {"shape"}, {"zeros"})
                                .op("Sub", {"s", "zeros"}, {"y"})
                                .output("y");
        const auto twice = ModelBuilder(17)
                               .opset("my", 1)
                               .input("a", {})
                               .input("u", {})
                               .input("v", {})
                               .input("c", {})
                               .input("d", {})
                               .op("Linear", {"a", "u", "c"}, {"h"}, "first", {}, "my")
                               .op("Linear", {"h", "v", "d"}, {"y"}, "second", {}, "my")
                               .output("y");
        const auto model = ModelBuilder(17)
                               .function("my", "Linear", linear)
                               .function("my", "Twice", twice)
                               .opset("my", 1)
                               .input("x", {4, 6})
                               .input("z", {4, 8})
                               .weight("w1", {6, 8})
                               .weight("b1", {8})
                               .weight("w2", {8, 10})
                               .weight("b2", {10})
                               .weight("w3", {10, 12})
                               .weight("b3", {12})
                               .op("Linear", {"x", "w1", "b1"}, {"h"}, "one", {}, "my")
                               .op("Twice", {"z", "w2", "w3", "b2", "b3"}, {"y"}, "two", {}, "my")
                               .output("h", {4, 8})
                               .output("y", {4, 12});
        VERIFY_FACTORS(model, "one", "i0d0 i1d1");
        VERIFY_FACTORS(model, "two", "i0d0 i2d1");
    }
    void functionsWithAttributes() {
        using A = onnx::AttributeProto;
        const auto norm = ModelBuilder(17)
                              .input("a", {})
                              .op("Softmax", {"a"}, {"b"}, "norm",
                                  {Attribute::reference("axis", "along", A::INT)})
                              .output("b");
        const auto both =
            ModelBuilder(17)
                .opset("my", 1)
                .input("c", {})
                .input("a", {})
                .op("If", {"c"}, {"b"}, "choose",
                    {{"then_branch", ModelBuilder(17)
                                         .op("Norm", {"a"}, {"p"}, "inner",
                                             {Attribute::reference("along", "axis", A::INT)}, "my")
                                         .output("p")
                                         .graph("yes")},
                     {"else_branch", ModelBuilder(17)
                                         .op("LogSoftmax", {"a"}, {"q"}, "other",
                                             {Attribute::reference("axis", "axis", A::INT)})
                                         .output("q")
                                         .graph("no")}})
                .output("b");
        const auto model = choice()
                               .opset("my", 1)
                               .function("my", "Norm", norm, {}, {"along"})
                               .function("my", "Both", both, {}, {"axis"})
                               .op("Norm", {"x"}, {"r"}, "rows", {{"along", 1}}, "my")
                               .op("Norm", {"x"}, {"s"}, "columns", {{"along", 0}}, "my")
                               .op("Norm", {"x"}, {"t"}, "preset", {}, "my")
                               .op("Both", {"c", "x"}, {"u"}, "nested", {{"axis", 0}}, "my")
                               .output("r", {4, 6})
                               .output("s", {4, 6})
                               .output("t", {4, 6})
                               .output("u", {4, 6});
        VERIFY_FACTORS(model, "rows", "i0d0");
        VERIFY_FACTORS(model, "columns", "i0d1");
        VERIFY_FACTORS(model, "preset", "i0d0");
        VERIFY_FACTORS(model, "nested", "i1d1");
    }
};

QTEST_GUILESS_MAIN(TstPlanBodies)
#include "tst_plan_bodies.moc"
