// SPDX-License-Identifier: Apache-2.0
#include "model/shapes.h"
#include "support/model_builder.h"

#include <QtTest>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

/// "FLOAT 8x16 (batchx16)": sizes with bindings, and the symbols where they differ.
QString shapeText(const Model& model, const ShapeTable& table, const std::string& value) {
    const TensorInfo& info = table.of(valueNamed(model.graph(), value));
    if (info.kind == TensorInfo::Kind::Unknown)
        return "unknown";
    if (info.kind == TensorInfo::Kind::Other)
        return "other";
    const QString type = QString::fromStdString(elementTypeName(info.elementType));
    if (!info.hasRank)
        return type + " *";
    QStringList sizes;
    QStringList symbols;
    for (std::size_t i = 0; i < info.dims.size(); ++i) {
        sizes.append(info.dims[i] < 0 ? "?" : QString::number(info.dims[i]));
        const Dimension& dimension = info.symbolic.at(i);
        symbols.append(!dimension.symbol.empty() ? QString::fromStdString(dimension.symbol)
                       : dimension.size < 0      ? "?"
                                                 : QString::number(dimension.size));
    }
    const QString plain = type + " " + sizes.join("x");
    return sizes == symbols ? plain : plain + " (" + symbols.join("x") + ")";
}

QString shapeText(const ModelBuilder& builder, const std::string& value, Bindings bindings = {}) {
    const auto model = builder.model();
    return shapeText(*model, *ShapeTable::build(model, std::move(bindings)), value);
}

constexpr auto kBool = T::BOOL;
constexpr auto kInt64 = T::INT64;

ModelBuilder mlp() {
    return std::move(ModelBuilder{}
                         .input("x", {"batch", 16})
                         .weight("w", {16, 4})
                         .op("MatMul", {"x", "w"}, {"h"}, "mm")
                         .op("Relu", {"h"}, {"y"})
                         .output("y"));
}

}  // namespace

class TstShapes : public QObject {
    Q_OBJECT

private slots:
    void symbolsGetTheirSizes() {
        QCOMPARE(shapeText(mlp(), "y"), QString("FLOAT 8x4 (batchx4)"));
        QCOMPARE(shapeText(mlp(), "y", {{{"batch", 3}}, 8}), QString("FLOAT 3x4 (batchx4)"));
        QCOMPARE(shapeText(mlp(), "y", {{}, 5}), QString("FLOAT 5x4 (batchx4)"));
        QCOMPARE(shapeText(mlp(), "w"), QString("FLOAT 16x4"));
    }

    void usedBindingsAreThoseOfTheInputs() {
        const auto model = ModelBuilder{}
                               .input("x", {"batch", "", 4})
                               .input("z", {"batch"})
                               .op("Relu", {"x"}, {"y"})
                               .output("y", {"unrelated", "", 4})
                               .model();
        const auto table = ShapeTable::build(model, {{{"batch", 3}, {"x#1", 7}, {"other", 1}}, 8});
        QCOMPARE(table->usedBindings(),
                 (std::map<std::string, std::int64_t>{{"batch", 3}, {"x#1", 7}}));
        QCOMPARE(table->bindings().fallback, 8);
        QCOMPARE(table->of(valueNamed(model->graph(), "y")).dims,
                 (std::vector<std::int64_t>{3, 7, 4}));
    }

    void negativeSizesAreNotTaken() {
        QCOMPARE(shapeText(mlp(), "y", {{{"batch", -3}}, 8}), QString("FLOAT 8x4 (batchx4)"));
    }

    void staleDeclarationsYieldToInference() {
        const auto builder = std::move(mlp().valueInfo("h", {"batch", 5}));
        QCOMPARE(shapeText(builder, "y"), QString("FLOAT 8x4 (batchx4)"));
        const auto model = builder.model();
        const auto complaints = ShapeTable::build(model, {})->complaints();
        QCOMPARE(complaints.size(), std::size_t(1));
        QCOMPARE(QString::fromStdString(complaints[0]),
                 QString("MatMul#0 mm: its output 'h' is declared as FLOAT 8x5, but is FLOAT 8x4"));
    }

    void declarationsFillWhatInferenceDoesNotKnow() {
        ModelBuilder builder;
        builder.input("x", {"batch", 16})
            .opset("custom", 1)
            .op("Magic", {"x"}, {"m"}, "", {}, "custom")
            .op("Relu", {"m"}, {"y"})
            .output("y");
        QCOMPARE(shapeText(builder, "y"), QString("unknown"));
        builder.valueInfo("m", {"batch", "hidden", 3});
        QCOMPARE(shapeText(builder, "y"), QString("FLOAT 8x?x3 (batchxhiddenx3)"));
        QCOMPARE(shapeText(builder, "y", {{{"hidden", 6}}, 8}),
                 QString("FLOAT 8x6x3 (batchxhiddenx3)"));
    }

    void theDefaultOfAnInputCountsAsItsValueUnlessAnotherIsGiven() {
        const auto model = ModelBuilder{}
                               .input("x", {8})
                               .input("shape", {2}, onnx::TensorProto::INT64)
                               .ints("shape", {2, 4})
                               .op("Reshape", {"x", "shape"}, {"y"})
                               .output("y")
                               .model();
        const ValueId y = valueNamed(model->graph(), "y");
        QCOMPARE(ShapeTable::build(model, {})->of(y).dims, (std::vector<std::int64_t>{2, 4}));
        Bindings bindings;
        bindings.given = {"shape"};
        QVERIFY(!ShapeTable::build(model, bindings)->of(y).concrete());
    }

    void shapeArithmeticIsFolded() {
        // y = Reshape(x, [Shape(x)[0] * 2, -1])
        ModelBuilder builder;
        builder.input("x", {"batch", 6})
            .scalar("zero", 0)
            .scalar("two", 2)
            .ints("minus", {-1})
            .ints("axis", {0})
            .op("Shape", {"x"}, {"s"})
            .op("Gather", {"s", "zero"}, {"b"})
            .op("Mul", {"b", "two"}, {"b2"})
            .op("Unsqueeze", {"b2", "axis"}, {"b3"})
            .op("Concat", {"b3", "minus"}, {"target"}, "", {{"axis", 0}})
            .op("Reshape", {"x", "target"}, {"y"})
            .output("y");
        const auto model = builder.model();
        const auto table = ShapeTable::build(model, {});
        QCOMPARE(table->of(valueNamed(model->graph(), "y")).dims,
                 (std::vector<std::int64_t>{16, 3}));
        QCOMPARE(table->constant(valueNamed(model->graph(), "target"))->ints,
                 (std::vector<std::int64_t>{16, -1}));
        QVERIFY(table->constant(valueNamed(model->graph(), "x")) == nullptr);
    }

    void symbolsAreFollowedThroughShapeArithmetic() {
        ModelBuilder builder;
        builder.input("x", {"batch", "seq", 6})
            .ints("two", {2, 3})
            .op("Shape", {"x"}, {"s"}, "", {{"end", 2}})
            .op("Concat", {"s", "two"}, {"target"}, "", {{"axis", 0}})
            .op("Reshape", {"x", "target"}, {"y"})
            .output("y");
        QCOMPARE(shapeText(builder, "y"), QString("FLOAT 8x8x2x3 (batchxseqx2x3)"));
    }

    void symbolsAreFoundBehindAnInferredSize() {
        ModelBuilder builder;
        builder.input("x", {"batch", "seq", 6})
            .ints("heads", {0, -1, 2, 3})
            .ints("flat", {-1, 6})
            .op("Reshape", {"x", "heads"}, {"y"})
            .op("Reshape", {"x", "flat"}, {"z"})
            .op("Neg", {"z"}, {"z2"})
            .output("y");
        QCOMPARE(shapeText(builder, "y"), QString("FLOAT 8x8x2x3 (batchxseqx2x3)"));
        const auto model = builder.model();
        const auto table = ShapeTable::build(model, {});
        const TensorInfo& z = table->of(valueNamed(model->graph(), "z"));
        QCOMPARE(z.dims, (std::vector<std::int64_t>{64, 6}));
        QVERIFY(isGeneratedSymbol(z.symbolic[0].symbol));
        QCOMPARE(table->of(valueNamed(model->graph(), "z2")).symbolic, z.symbolic);
        QVERIFY(!isGeneratedSymbol("batch"));
    }

    void anonymousInputsAreNamedByTheirPlace() {
        ModelBuilder builder;
        builder.input("x", {"", 4}).op("Relu", {"x"}, {"y"}).output("y");
        QCOMPARE(shapeText(builder, "x"), QString("FLOAT 8x4 (x#0x4)"));
        QCOMPARE(shapeText(builder, "y"), QString("FLOAT 8x4 (x#0x4)"));
        QVERIFY(isGeneratedSymbol("x#0"));
    }

    void manyAndHugeSymbolsAreHarmless() {
        Shape shape;
        Bindings bindings;
        for (int i = 0; i < 1000; ++i)
            shape.push_back("s" + std::to_string(i));
        bindings.sizes["s0"] = std::numeric_limits<std::int64_t>::max();
        bindings.sizes["s1"] = 0;
        ModelBuilder builder;
        builder.input("x", shape)
            .op("Shape", {"x"}, {"s"})
            .op("Neg", {"x"}, {"y"})
            .op("Size", {"x"}, {"n"})
            .output("y");
        const auto model = builder.model();
        QCOMPARE(ShapeTable::build(model, bindings)->of(valueNamed(model->graph(), "y")).dims[0],
                 std::numeric_limits<std::int64_t>::max());
    }

    void rangeOverABoundSymbolIsConcrete() {
        ModelBuilder builder;
        builder.input("x", {"batch", "seq"})
            .scalar("zero", 0)
            .scalar("one", 1)
            .op("Shape", {"x"}, {"s"})
            .op("Gather", {"s", "one"}, {"n"})
            .op("Range", {"zero", "n", "one"}, {"r"})
            .op("Add", {"r", "one"}, {"y"})
            .output("y");
        QCOMPARE(shapeText(builder, "y", {{{"seq", 5}}, 8}).left(7), QString("INT64 5"));
    }

    void equalUnknownSizesHaveEqualSymbols() {
        ModelBuilder builder;
        builder.input("x", {"n"})
            .op("NonZero", {"x"}, {"i"})
            .op("Neg", {"i"}, {"a"})
            .op("Add", {"a", "i"}, {"y"})
            .output("y");
        const auto model = builder.model();
        const auto table = ShapeTable::build(model, {});
        const TensorInfo& i = table->of(valueNamed(model->graph(), "i"));
        const TensorInfo& y = table->of(valueNamed(model->graph(), "y"));
        QCOMPARE(y.dims, (std::vector<std::int64_t>{1, -1}));
        QVERIFY(!i.symbolic[1].symbol.empty());
        QCOMPARE(y.symbolic[1], i.symbolic[1]);
        QVERIFY(isGeneratedSymbol(i.symbolic[1].symbol));
    }

    void partlyKnownShapesKeepWhatIsKnown() {
        ModelBuilder builder;
        builder.input("x", {4, 6})
            .ints("four", {4})
            .op("NonZero", {"x"}, {"i"})
            .op("Shape", {"i"}, {"s"})
            .op("Concat", {"s", "four"}, {"target"}, "", {{"axis", 0}})
            .op("ConstantOfShape", {"target"}, {"y"})
            .output("y");
        const auto model = builder.model();
        QCOMPARE(ShapeTable::build(model, {})->of(valueNamed(model->graph(), "y")).dims,
                 (std::vector<std::int64_t>{2, -1, 4}));
    }

    void nodesOutOfOrderAreInferred() {
        ModelBuilder builder;
        builder.input("x", {2, 3}).op("Relu", {"h"}, {"y"}).op("Neg", {"x"}, {"h"}).output("y");
        QCOMPARE(shapeText(builder, "y"), QString("FLOAT 2x3"));
    }

    void cyclesStayUnknown() {
        ModelBuilder builder;
        builder.op("Relu", {"b"}, {"a"}).op("Relu", {"a"}, {"b"}).output("b", {"n", 4});
        QCOMPARE(shapeText(builder, "a"), QString("unknown"));
    }

    void errorsNameTheNodeAndDoNotStop() {
        ModelBuilder builder;
        builder.input("x", {2, 3})
            .input("z", {4, 5})
            .op("MatMul", {"x", "z"}, {"bad"}, "mm")
            .op("Relu", {"x"}, {"y"})
            .output("y");
        const auto model = builder.model();
        const auto table = ShapeTable::build(model, {});
        QCOMPARE(shapeText(*model, *table, "y"), QString("FLOAT 2x3"));
        QCOMPARE(table->complaints().size(), std::size_t(1));
        QVERIFY2(QString::fromStdString(table->complaints()[0])
                     .startsWith("MatMul#0 mm: Incompatible dimensions"),
                 table->complaints()[0].c_str());
    }

    void malformedNodesAreHarmless_data() {
        QTest::addColumn<QString>("op");
        for (const char* op : {"MatMul",
                               "Gemm",
                               "Conv",
                               "Reshape",
                               "Concat",
                               "Split",
                               "Slice",
                               "Gather",
                               "If",
                               "Loop",
                               "Scan",
                               "Range",
                               "Expand",
                               "ConstantOfShape",
                               "Einsum",
                               "LSTM",
                               "Attention",
                               "Resize",
                               "Cast",
                               "Transpose",
                               "Unsqueeze",
                               "TopK",
                               "Pad",
                               "Shape",
                               "OneHot",
                               "SequenceAt",
                               "Constant",
                               "Where",
                               "Tile",
                               "ReduceSum",
                               "LayerNormalization",
                               "QuantizeLinear",
                               "Identity",
                               "Optional",
                               "SplitToSequence",
                               "RotaryEmbedding",
                               "Squeeze",
                               "Size",
                               "Upsample",
                               "AveragePool",
                               "CumSum",
                               "Compress"})
            QTest::newRow(op) << op;
    }

    void malformedNodesAreHarmless() {
        QFETCH(QString, op);
        const std::string type = op.toStdString();
        ModelBuilder builder;
        builder.input("x", {2, 3})
            .input("s", {}, T::STRING)
            .inputOfUnknownShape("u")
            .ints("i", {7, -9, 1 << 30});
        const std::vector<std::vector<std::string>> inputs = {
            {},
            {""},
            {"x"},
            {"s", "s"},
            {"u", "u", "u"},
            {"x", "i"},
            {"i", "i", "i", "i", "i"},
            {"ghost", "x", "i"},
            {"x", "x", "x", "x", "x", "x", "x", "x"}};
        int n = 0;
        for (const auto& list : inputs) {
            for (const int outputs : {0, 1, 3}) {
                std::vector<std::string> names;
                for (int i = 0; i < outputs; ++i)
                    names.push_back("o" + std::to_string(n++));
                builder.op(type, list, names);
                builder.op(type, list,
                           names.empty() ? names : std::vector<std::string>{"p" + names[0]}, "",
                           {{"axis", 1 << 30},
                            {"perm", {5, -1}},
                            {"equation", "ij,jk->"},
                            {"kernel_shape", {0, -1}},
                            {"to", 12345},
                            {"axes", {99}},
                            {"value", onnx::TensorProto()},
                            {"body", onnx::GraphProto()},
                            {"then_branch", onnx::GraphProto()},
                            {"else_branch", onnx::GraphProto()},
                            {"num_outputs", -1},
                            {"strides", {0}},
                            {"hidden_size", -5}});
            }
        }
        (void)ShapeTable::build(builder.model(), {});
    }

    void theTakenBranchGivesTheShape() {
        const auto branch = [](const char* op, std::vector<Attribute> attributes) {
            return ModelBuilder{}.op(op, {"x"}, {"t"}, "", attributes).output("t").graph();
        };
        ModelBuilder builder;
        builder.input("x", {"n", 4})
            .scalar("one", 1)
            .scalar("zero", 0)
            .op("Shape", {"x"}, {"s"})
            .op("Gather", {"s", "zero"}, {"d"})
            .op("Equal", {"d", "one"}, {"c"})
            .op("If", {"c"}, {"y"}, "if",
                {{"then_branch", branch("Flatten", {{"axis", 0}})},
                 {"else_branch", branch("Transpose", {{"perm", {1, 0}}})}})
            .output("y");
        const auto dims = [&](std::int64_t n) {
            const auto model = builder.model();
            return ShapeTable::build(model, {{{"n", n}}, 8})
                ->of(valueNamed(model->graph(), "y"))
                .dims;
        };
        QCOMPARE(dims(1), (std::vector<std::int64_t>{1, 4}));
        QCOMPARE(dims(5), (std::vector<std::int64_t>{4, 5}));
    }

    void errorsInABranchThatIsNotTakenAreQuiet() {
        const auto bad = ModelBuilder{}
                             .ints("axes", {0})
                             .op("Squeeze", {"x", "axes"}, {"t"}, "squeeze")
                             .output("t")
                             .graph();
        const auto good = ModelBuilder{}.op("Identity", {"x"}, {"t"}).output("t").graph();
        ModelBuilder builder;
        onnx::TensorProto no = intTensor("c", {}, {});
        no.set_data_type(T::BOOL);
        no.add_int32_data(0);
        builder.input("x", {3, 4})
            .initializer(no)
            .op("If", {"c"}, {"y"}, "if", {{"then_branch", bad}, {"else_branch", good}})
            .output("y");
        const auto model = builder.model();
        const auto table = ShapeTable::build(model, {});
        QVERIFY(table->complaints().empty());
        QCOMPARE(shapeText(*model, *table, "y"), QString("FLOAT 3x4"));
    }

    void loopStatesKeepTheShapeThatTheBodyKeeps() {
        const auto body = ModelBuilder{}
                              .input("i", {}, kInt64)
                              .input("c", {}, kBool)
                              .inputOfUnknownShape("kept")
                              .inputOfUnknownShape("grown")
                              .op("Identity", {"c"}, {"c2"})
                              .op("Relu", {"kept"}, {"kept2"}, "relu")
                              .op("Concat", {"grown", "kept"}, {"grown2"}, "", {{"axis", 0}})
                              .op("Neg", {"kept2"}, {"scanned"})
                              .output("c2")
                              .output("kept2")
                              .output("grown2")
                              .output("scanned")
                              .graph();
        ModelBuilder builder;
        builder.input("x", {"n", 4})
            .scalar("trips", 5)
            .op("Loop", {"trips", "", "x", "x"}, {"k", "g", "s"}, "loop", {{"body", body}})
            .output("k");
        QCOMPARE(shapeText(builder, "k"), QString("FLOAT 8x4 (nx4)"));
        QCOMPARE(shapeText(builder, "kept2"), QString("FLOAT 8x4 (nx4)"));
        QCOMPARE(shapeText(builder, "g").left(9), QString("FLOAT ?x4"));
        QCOMPARE(shapeText(builder, "s"), QString("FLOAT 5x8x4 (5xnx4)"));
    }

    void functionsAreInferredPerCall() {
        const auto linear = ModelBuilder{}
                                .input("a", {1})
                                .input("w", {1})
                                .op("MatMul", {"a", "w"}, {"m"}, "mm")
                                .op("Relu", {"m"}, {"b"})
                                .output("b");
        ModelBuilder builder;
        builder.function("d", "Linear", linear)
            .input("x", {"batch", 16})
            .weight("w1", {16, 32})
            .weight("w2", {32, 8})
            .op("Linear", {"x", "w1"}, {"h"}, "one", {}, "d")
            .op("Linear", {"h", "w2"}, {"y"}, "two", {}, "d")
            .output("y");
        QCOMPARE(shapeText(builder, "h"), QString("FLOAT 8x32 (batchx32)"));
        QCOMPARE(shapeText(builder, "y"), QString("FLOAT 8x8 (batchx8)"));
        // Inside the function only what all calls have in common.
        QCOMPARE(shapeText(builder, "m").left(9), QString("FLOAT 8x?"));
    }

    void functionsSeeTheirAttributes() {
        const auto body =
            ModelBuilder{}.input("a", {1}).op("Transpose", {"a"}, {"b"}, "").output("b");
        onnx::ModelProto proto = ModelBuilder{}
                                     .function("d", "F", body, {}, {"order"})
                                     .input("x", {2, 3})
                                     .op("F", {"x"}, {"same"}, "", {{"order", {0, 1}}}, "d")
                                     .op("F", {"x"}, {"turned"}, "", {{"order", {1, 0}}}, "d")
                                     .output("same")
                                     .build();
        *proto.mutable_functions(0)->mutable_node(0)->add_attribute() =
            Attribute::reference("perm", "order", onnx::AttributeProto::INTS).proto;
        const auto model = *Model::fromBytes(proto.SerializeAsString());
        const auto table = ShapeTable::build(model, {});
        QCOMPARE(shapeText(*model, *table, "same"), QString("FLOAT 2x3"));
        QCOMPARE(shapeText(*model, *table, "turned"), QString("FLOAT 3x2"));
    }

    void functionsThatCallThemselvesEnd() {
        const auto body = ModelBuilder{}
                              .opset("d", 1)
                              .input("a", {1})
                              .op("F", {"a"}, {"b"}, "inner", {}, "d")
                              .output("b");
        const auto model = ModelBuilder{}
                               .function("d", "F", body)
                               .input("x", {1})
                               .op("F", {"x"}, {"y"}, "outer", {}, "d")
                               .output("y")
                               .model();
        const auto table = ShapeTable::build(model, {});
        QCOMPARE(shapeText(*model, *table, "y"), QString("unknown"));
        QVERIFY(!table->complaints().empty());
    }

    void functionsThatDoubleAtEveryLevelEnd() {
        // Each calls the next twice, on different shapes: 2^60 calls, were each made.
        ModelBuilder builder;
        for (int i = 0; i < 60; ++i) {
            const std::string next = "F" + std::to_string(i + 1);
            const auto body = ModelBuilder{}
                                  .opset("d", 1)
                                  .input("a", {1})
                                  .op("Concat", {"a", "a"}, {"aa"}, "", {{"axis", 0}})
                                  .op(next, {"a"}, {"p"}, "", {}, "d")
                                  .op(next, {"aa"}, {"q"}, "", {}, "d")
                                  .op("Add", {"p", "q"}, {"b"})
                                  .output("b");
            builder.function("d", "F" + std::to_string(i), body);
        }
        const auto model =
            builder.input("x", {1}).op("F0", {"x"}, {"y"}, "", {}, "d").output("y").model();
        QElapsedTimer timer;
        timer.start();
        (void)ShapeTable::build(model, {});
        QVERIFY(timer.elapsed() < 20000);
    }

    void otherKindsOfValuesAreOther() {
        ModelBuilder builder;
        builder.input("x", {2}).op("SequenceConstruct", {"x", "x"}, {"y"}).output("y");
        QCOMPARE(shapeText(builder, "y"), QString("other"));
    }

    void aCancelledBuildGivesATable() {
        const CancelToken cancel = CancelToken::create();
        cancel.cancel();
        const auto model = mlp().model();
        QVERIFY(ShapeTable::build(model, {}, cancel) != nullptr);
    }

    void countsSaturate() {
        TensorInfo info;
        info.kind = TensorInfo::Kind::Tensor;
        info.hasRank = true;
        info.dims = {std::int64_t(1) << 40, std::int64_t(1) << 40};
        QCOMPARE(info.elementCount(), std::numeric_limits<std::int64_t>::max());
        info.dims.push_back(0);
        QCOMPARE(info.elementCount(), 0);
        info.dims.push_back(-1);
        QCOMPARE(info.elementCount(), -1);
        QCOMPARE(storageBytes(T::DOUBLE, std::numeric_limits<std::int64_t>::max() / 2),
                 std::numeric_limits<std::int64_t>::max());
        QCOMPARE(storageBytes(T::INT4, 3), 2);
        QCOMPARE(storageBytes(999, 3), -1);
    }
};

QTEST_GUILESS_MAIN(TstShapes)
#include "tst_shapes.moc"
