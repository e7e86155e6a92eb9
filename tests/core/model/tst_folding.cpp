// SPDX-License-Identifier: Apache-2.0
#include "model/shapes.h"
#include "support/model_builder.h"

#include <QtTest>

#include <limits>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

/// "INT64 [2, 3]: 1 2 3 4 5 6", or what is known instead.
QString constantText(const Model& model, const std::string& value) {
    const auto table =
        ShapeTable::build(std::shared_ptr<const Model>(&model, [](const Model*) {}), {});
    const ConstantValue* constant = table->constant(valueNamed(model.graph(), value));
    if (constant == nullptr)
        return table->complaints().empty()
                   ? QString("unknown")
                   : QString::fromStdString("unknown; " + table->complaints()[0]);
    QStringList dims;
    for (const std::int64_t dim : constant->dims)
        dims.append(QString::number(dim));
    QStringList elements;
    for (const std::int64_t element : constant->ints)
        elements.append(QString::number(element));
    for (const double element : constant->reals)
        elements.append(QString::number(element));
    return QString("%1 [%2]: %3")
        .arg(QString::fromStdString(elementTypeName(constant->elementType)), dims.join(", "),
             elements.join(" "));
}

/// Runs one operator on constants a, b, c, d, ... .
QString folded(ModelBuilder builder, const std::string& op, const std::vector<std::string>& inputs,
               const std::vector<Attribute>& attributes = {}) {
    return constantText(
        *builder.op(op, inputs, {"result"}, "node", attributes).output("result").model(), "result");
}

onnx::TensorProto typed(const std::string& name, int type, const std::vector<std::int64_t>& dims,
                        const std::vector<std::int64_t>& values) {
    onnx::TensorProto tensor = intTensor(name, dims, {});
    tensor.set_data_type(type);
    for (const std::int64_t value : values)
        tensor.add_int32_data(static_cast<std::int32_t>(value));
    return tensor;
}

onnx::TensorProto reals(const std::string& name, const std::vector<std::int64_t>& dims,
                        const std::vector<float>& values) {
    onnx::TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(T::FLOAT);
    tensor.mutable_dims()->Add(dims.begin(), dims.end());
    tensor.mutable_float_data()->Add(values.begin(), values.end());
    return tensor;
}

}  // namespace

class TstFolding : public QObject {
    Q_OBJECT

private slots:
    void binaryOperators_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* op, const char* expected) {
            QTest::newRow(op) << op << expected;
        };
        // a = 7 -7 6, b = 2 2 -4
        row("Add", "INT64 [3]: 9 -5 2");
        row("Sub", "INT64 [3]: 5 -9 10");
        row("Mul", "INT64 [3]: 14 -14 -24");
        row("Div", "INT64 [3]: 3 -3 -1");
        row("Mod", "INT64 [3]: 1 1 -2");
        row("Min", "INT64 [3]: 2 -7 -4");
        row("Max", "INT64 [3]: 7 2 6");
        row("Equal", "BOOL [3]: 0 0 0");
        row("Less", "BOOL [3]: 0 1 0");
        row("LessOrEqual", "BOOL [3]: 0 1 0");
        row("Greater", "BOOL [3]: 1 0 1");
        row("GreaterOrEqual", "BOOL [3]: 1 0 1");
    }

    void binaryOperators() {
        QFETCH(QString, op);
        QFETCH(QString, expected);
        QCOMPARE(folded(ModelBuilder{}.ints("a", {7, -7, 6}).ints("b", {2, 2, -4}),
                        op.toStdString(), {"a", "b"}),
                 expected);
    }

    void remainderTakesTheSignThatTheAttributeSays() {
        QCOMPARE(folded(ModelBuilder{}.ints("a", {7, -7, 6}).ints("b", {2, 2, -4}), "Mod",
                        {"a", "b"}, {{"fmod", 1}}),
                 QString("INT64 [3]: 1 -1 2"));
    }

    void binaryOperatorsBroadcast() {
        ModelBuilder builder;
        builder.initializer(intTensor("a", {2, 1}, {10, 20}))
            .initializer(intTensor("b", {3}, {1, 2, 3}));
        QCOMPARE(folded(builder, "Add", {"a", "b"}), QString("INT64 [2, 3]: 11 12 13 21 22 23"));
        QCOMPARE(folded(builder, "Sub", {"b", "a"}), QString("INT64 [2, 3]: -9 -8 -7 -19 -18 -17"));
    }

    void divisionByZeroIsNotFolded() {
        QVERIFY(folded(ModelBuilder{}.scalar("a", 1).scalar("b", 0), "Div", {"a", "b"})
                    .startsWith("unknown"));
        QVERIFY(folded(ModelBuilder{}.scalar("a", 1).scalar("b", 0), "Mod", {"a", "b"})
                    .startsWith("unknown"));
        const std::int64_t least = std::numeric_limits<std::int64_t>::min();
        QVERIFY(folded(ModelBuilder{}.scalar("a", least).scalar("b", -1), "Div", {"a", "b"})
                    .startsWith("unknown"));
    }

    void integersWrapToTheirType() {
        ModelBuilder builder;
        builder.initializer(typed("a", T::UINT8, {1}, {200}))
            .initializer(typed("b", T::UINT8, {1}, {100}));
        QCOMPARE(folded(builder, "Add", {"a", "b"}), QString("UINT8 [1]: 44"));
        ModelBuilder wide;
        wide.initializer(typed("a", T::INT32, {}, {2147483647}))
            .initializer(typed("b", T::INT32, {}, {1}));
        QCOMPARE(folded(wide, "Add", {"a", "b"}), QString("INT32 []: -2147483648"));
    }

    void logicAndUnaryOperators() {
        ModelBuilder builder;
        builder.initializer(typed("p", T::BOOL, {2}, {1, 0}))
            .initializer(typed("q", T::BOOL, {2}, {1, 1}))
            .ints("n", {-3, 4});
        QCOMPARE(folded(builder, "And", {"p", "q"}), QString("BOOL [2]: 1 0"));
        QCOMPARE(folded(builder, "Or", {"p", "q"}), QString("BOOL [2]: 1 1"));
        QCOMPARE(folded(builder, "Not", {"p"}), QString("BOOL [2]: 0 1"));
        QCOMPARE(folded(builder, "Neg", {"n"}), QString("INT64 [2]: 3 -4"));
        QCOMPARE(folded(builder, "Abs", {"n"}), QString("INT64 [2]: 3 4"));
    }

    void floatingPointIsComputedInItsPrecision() {
        ModelBuilder builder;
        builder.initializer(reals("a", {2}, {2.5f, -2.5f})).initializer(reals("b", {}, {2.0f}));
        QCOMPARE(folded(builder, "Div", {"a", "b"}), QString("FLOAT [2]: 1.25 -1.25"));
        QCOMPARE(folded(builder, "Floor", {"a"}), QString("FLOAT [2]: 2 -3"));
        QCOMPARE(folded(builder, "Ceil", {"a"}), QString("FLOAT [2]: 3 -2"));
        QCOMPARE(folded(builder, "Pow", {"a", "b"}), QString("FLOAT [2]: 6.25 6.25"));
        QCOMPARE(folded(builder, "Cast", {"a"}, {{"to", int(T::INT64)}}),
                 QString("INT64 [2]: 2 -2"));
    }

    void castsBetweenTypes() {
        ModelBuilder builder;
        builder.ints("n", {300, 0, -1}).initializer(typed("like", T::BOOL, {}, {0}));
        QCOMPARE(folded(builder, "Cast", {"n"}, {{"to", int(T::UINT8)}}),
                 QString("UINT8 [3]: 44 0 255"));
        QCOMPARE(folded(builder, "Cast", {"n"}, {{"to", int(T::FLOAT)}}),
                 QString("FLOAT [3]: 300 0 -1"));
        QCOMPARE(folded(builder, "Cast", {"n"}, {{"to", int(T::BOOL)}}),
                 QString("BOOL [3]: 1 0 1"));
        QCOMPARE(folded(builder, "CastLike", {"n", "like"}), QString("BOOL [3]: 1 0 1"));
        QVERIFY(folded(builder, "Cast", {"n"}, {{"to", int(T::STRING)}}).startsWith("unknown"));
    }

    void whereChoosesAndBroadcasts() {
        ModelBuilder builder;
        builder.initializer(typed("c", T::BOOL, {2, 1}, {1, 0})).ints("a", {1, 2}).scalar("b", 9);
        QCOMPARE(folded(builder, "Where", {"c", "a", "b"}), QString("INT64 [2, 2]: 1 2 9 9"));
    }

    void reducesOverAxes() {
        ModelBuilder builder;
        builder.initializer(intTensor("a", {2, 3}, {1, 2, 3, 4, 5, 6}))
            .ints("axes", {-1})
            .ints("none", {});
        QCOMPARE(folded(builder, "ReduceSum", {"a", "axes"}), QString("INT64 [2, 1]: 6 15"));
        QCOMPARE(folded(builder, "ReduceProd", {"a", "axes"}, {{"keepdims", 0}}),
                 QString("INT64 [2]: 6 120"));
        QCOMPARE(folded(builder, "ReduceMax", {"a"}, {{"keepdims", 0}}), QString("INT64 []: 6"));
        QCOMPARE(folded(builder, "ReduceMin", {"a", "none"}), QString("INT64 [1, 1]: 1"));
        QCOMPARE(folded(builder, "ReduceSum", {"a", "none"}, {{"noop_with_empty_axes", 1}}),
                 QString("INT64 [2, 3]: 1 2 3 4 5 6"));
    }

    void gathers() {
        ModelBuilder builder;
        builder.initializer(intTensor("a", {2, 3}, {1, 2, 3, 4, 5, 6}))
            .scalar("last", -1)
            .initializer(intTensor("two", {1, 2}, {0, 2}))
            .scalar("bad", 2);
        QCOMPARE(folded(builder, "Gather", {"a", "last"}), QString("INT64 [3]: 4 5 6"));
        QCOMPARE(folded(builder, "Gather", {"a", "two"}, {{"axis", 1}}),
                 QString("INT64 [2, 1, 2]: 1 3 4 6"));
        QVERIFY(folded(builder, "Gather", {"a", "bad"}).startsWith("unknown"));
    }

    void concatenates() {
        ModelBuilder builder;
        builder.initializer(intTensor("a", {2, 1}, {1, 2}))
            .initializer(intTensor("b", {2, 2}, {3, 4, 5, 6}))
            .ints("none", {})
            .ints("c", {7});
        QCOMPARE(folded(builder, "Concat", {"a", "b"}, {{"axis", -1}}),
                 QString("INT64 [2, 3]: 1 3 4 2 5 6"));
        QCOMPARE(folded(builder, "Concat", {"none", "c", "none"}, {{"axis", 0}}),
                 QString("INT64 [1]: 7"));
    }

    void changesRank() {
        ModelBuilder builder;
        builder.initializer(intTensor("a", {1, 2}, {1, 2}))
            .ints("ends", {0, -1})
            .ints("first", {0})
            .ints("free", {-1, 1})
            .ints("keep", {0, 2, 1});
        QCOMPARE(folded(builder, "Unsqueeze", {"a", "ends"}), QString("INT64 [1, 1, 2, 1]: 1 2"));
        QCOMPARE(folded(builder, "Squeeze", {"a", "first"}), QString("INT64 [2]: 1 2"));
        QCOMPARE(folded(builder, "Squeeze", {"a"}), QString("INT64 [2]: 1 2"));
        QCOMPARE(folded(builder, "Reshape", {"a", "free"}), QString("INT64 [2, 1]: 1 2"));
        QCOMPARE(folded(builder, "Reshape", {"a", "keep"}), QString("INT64 [1, 2, 1]: 1 2"));
        QCOMPARE(folded(builder, "Flatten", {"a"}, {{"axis", 0}}), QString("INT64 [1, 2]: 1 2"));
        QCOMPARE(folded(builder, "Identity", {"a"}), QString("INT64 [1, 2]: 1 2"));
    }

    void oldOpsetsHaveAxesAsAttributes() {
        ModelBuilder builder(11);
        builder.initializer(intTensor("a", {2}, {1, 2}));
        QCOMPARE(folded(builder, "Unsqueeze", {"a"}, {{"axes", {0}}}),
                 QString("INT64 [1, 2]: 1 2"));
        QCOMPARE(folded(builder, "ReduceSum", {"a"}, {{"axes", {0}}, {"keepdims", 0}}),
                 QString("INT64 []: 3"));
        ModelBuilder oldest(9);
        oldest.initializer(intTensor("a", {3}, {1, 2, 3}));
        QCOMPARE(folded(oldest, "Slice", {"a"}, {{"starts", {1}}, {"ends", {99}}}),
                 QString("INT64 [2]: 2 3"));
    }

    void slices_data() {
        QTest::addColumn<QList<int>>("arguments");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* name, QList<int> arguments, const char* expected) {
            QTest::newRow(name) << arguments << expected;
        };
        // Of 0 1 2 3 4: start, end, step.
        row("middle", {1, 3, 1}, "INT64 [2]: 1 2");
        row("negative", {-2, -1, 1}, "INT64 [1]: 3");
        row("clamped", {-99, 99, 2}, "INT64 [3]: 0 2 4");
        row("empty", {3, 1, 1}, "INT64 [0]: ");
        row("backwards", {-1, -99, -1}, "INT64 [5]: 4 3 2 1 0");
        row("backwards by two", {3, 0, -2}, "INT64 [2]: 3 1");
        row("beyond", {99, 199, 1}, "INT64 [0]: ");
        row("no step", {0, 1, 0}, "unknown");
    }

    void slices() {
        QFETCH(QList<int>, arguments);
        QFETCH(QString, expected);
        ModelBuilder builder;
        builder.ints("a", {0, 1, 2, 3, 4})
            .ints("start", {arguments[0]})
            .ints("end", {arguments[1]})
            .ints("axes", {0})
            .ints("step", {arguments[2]});
        QVERIFY2(
            folded(builder, "Slice", {"a", "start", "end", "axes", "step"}).startsWith(expected),
            qPrintable(folded(builder, "Slice", {"a", "start", "end", "axes", "step"})));
    }

    void slicesToTheEnds() {
        ModelBuilder builder;
        builder.initializer(intTensor("a", {2, 3}, {1, 2, 3, 4, 5, 6}))
            .ints("start", {1, std::numeric_limits<std::int64_t>::max()})
            .ints("end", {std::numeric_limits<std::int64_t>::max(),
                          std::numeric_limits<std::int64_t>::min()})
            .ints("axes", {0, 1})
            .ints("step", {1, -1});
        QCOMPARE(folded(builder, "Slice", {"a", "start", "end", "axes", "step"}),
                 QString("INT64 [1, 3]: 6 5 4"));
    }

    void splits() {
        ModelBuilder builder;
        builder.ints("a", {1, 2, 3, 4, 5}).ints("sizes", {1, 4});
        const auto model = builder.op("Split", {"a", "sizes"}, {"p", "q"})
                               .op("Split", {"a"}, {"r", "s"}, "", {{"num_outputs", 2}})
                               .output("p")
                               .model();
        QCOMPARE(constantText(*model, "q"), QString("INT64 [4]: 2 3 4 5"));
        QCOMPARE(constantText(*model, "r"), QString("INT64 [3]: 1 2 3"));
        QCOMPARE(constantText(*model, "s"), QString("INT64 [2]: 4 5"));
    }

    void movesElements() {
        ModelBuilder builder;
        builder.initializer(intTensor("a", {2, 3}, {1, 2, 3, 4, 5, 6}))
            .initializer(intTensor("b", {2, 1}, {1, 2}))
            .ints("to", {3, 1, 2})
            .ints("times", {1, 2});
        QCOMPARE(folded(builder, "Transpose", {"a"}, {{"perm", {1, 0}}}),
                 QString("INT64 [3, 2]: 1 4 2 5 3 6"));
        QCOMPARE(folded(builder, "Expand", {"b", "to"}),
                 QString("INT64 [3, 2, 2]: 1 1 2 2 1 1 2 2 1 1 2 2"));
        QCOMPARE(folded(builder, "Tile", {"b", "times"}), QString("INT64 [2, 2]: 1 1 2 2"));
    }

    void createsTensors() {
        ModelBuilder builder;
        builder.ints("s", {2, 2}).scalar("a", 5).scalar("b", 0).scalar("c", -2);
        QCOMPARE(folded(builder, "ConstantOfShape", {"s"}, {{"value", intTensor("", {1}, {7})}}),
                 QString("INT64 [2, 2]: 7 7 7 7"));
        QCOMPARE(folded(builder, "ConstantOfShape", {"s"}), QString("FLOAT [2, 2]: 0 0 0 0"));
        QCOMPARE(folded(builder, "Range", {"a", "b", "c"}), QString("INT64 [3]: 5 3 1"));
        QCOMPARE(folded(builder, "Constant", {}, {{"value_ints", {1, 2}}}),
                 QString("INT64 [2]: 1 2"));
        QCOMPARE(folded(builder, "Constant", {}, {{"value_float", 0.5}}), QString("FLOAT []: 0.5"));
        QVERIFY(folded(ModelBuilder{}.scalar("a", 0).scalar("b", 1 << 20).scalar("c", 1), "Range",
                       {"a", "b", "c"})
                    .startsWith("unknown"));
    }

    void shapesAreFoldedWithoutElements() {
        ModelBuilder builder;
        builder.input("x", {4, 6, 8});
        QCOMPARE(folded(builder, "Shape", {"x"}), QString("INT64 [3]: 4 6 8"));
        QCOMPARE(folded(builder, "Shape", {"x"}, {{"start", -2}}), QString("INT64 [2]: 6 8"));
        QCOMPARE(folded(builder, "Shape", {"x"}, {{"start", 1}, {"end", 2}}),
                 QString("INT64 [1]: 6"));
        QCOMPARE(folded(builder, "Size", {"x"}), QString("INT64 []: 192"));
    }

    void hugeSizesWithoutElementsAreHarmless() {
        ModelBuilder builder;
        const std::int64_t huge = std::int64_t(1) << 62;
        builder.initializer(intTensor("a", {huge, 0, huge}, {}))
            .ints("zero", {0})
            .ints("one", {1})
            .ints("s", {0, huge, huge});
        for (const char* op :
             {"Identity", "Transpose", "Flatten", "Neg", "ReduceSum", "Squeeze", "Size", "Shape"})
            (void)folded(builder, op, {"a"});
        for (const char* op : {"Gather", "Reshape", "Expand", "Slice", "Tile", "Concat", "Add",
                               "Split", "Unsqueeze"})
            (void)folded(builder, op, {"a", "zero"});
        (void)folded(builder, "Slice", {"a", "zero", "one"});
        (void)folded(builder, "ConstantOfShape", {"s"});
    }

    void malformedConstantsAreUnknown() {
        onnx::TensorProto wrong = intTensor("a", {3}, {1});
        QVERIFY(folded(ModelBuilder{}.initializer(wrong), "Identity", {"a"}).startsWith("unknown"));
        QVERIFY(folded(ModelBuilder{}.initializer(wrong).ints("b", {1, 2}), "Reshape", {"b", "a"})
                    .startsWith("unknown"));
    }
};

QTEST_GUILESS_MAIN(TstFolding)
#include "tst_folding.moc"
