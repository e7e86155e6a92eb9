// SPDX-License-Identifier: Apache-2.0
#include "model/shapes.h"
#include "support/model_builder.h"

#include <QTest>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

constexpr const char* kMs = "com.microsoft";

/// "FLOAT 2x3, INT64 ?x4": what is known of the outputs of the last node.
QString outputs(const ModelBuilder& builder) {
    const auto model = builder.model();
    const auto shapes = ShapeTable::build(model, {});
    std::string text;
    for (const ValueId id : model->graph().main().nodes.empty()
                                ? std::vector<ValueId>{}
                                : model->graph().node(model->graph().main().nodes.back()).outputs) {
        text += text.empty() ? "" : ", ";
        if (!id) {
            text += "_";
            continue;
        }
        const TensorInfo& info = shapes->of(id);
        text += elementTypeName(info.elementType);
        for (std::size_t d = 0; d < info.dims.size(); ++d)
            text += (d == 0 ? " " : "x") +
                    (info.dims[d] < 0 ? std::string("?") : std::to_string(info.dims[d]));
        if (!info.hasRank)
            text += " unknown";
    }
    for (const std::string& complaint : shapes->complaints())
        text += "; " + complaint;
    return QString::fromStdString(text);
}

ModelBuilder contrib() {
    return ModelBuilder(17).opset(kMs, 1).opset("ai.onnx.ml", 3);
}

}  // namespace

/// Shapes of operators of which libonnx has no schema or no inference function.
class TstExtraInference : public QObject {
    Q_OBJECT

private slots:
    void formerVersions() {
        const auto old = [] { return ModelBuilder(1).input("x", {2, 3, 8}); };
        for (const char* op : {"Relu", "Sigmoid", "Exp", "Sqrt", "Elu", "Clip", "Neg"})
            QCOMPARE(outputs(old().op(op, {"x"}, {"y"})), QString("FLOAT 2x3x8"));
        QCOMPARE(
            outputs(old().input("b", {8}).op("Add", {"x", "b"}, {"y"}, "", {{"broadcast", 1}})),
            QString("FLOAT 2x3x8"));
        QCOMPARE(outputs(old().op("Dropout", {"x"}, {"y", "m"})),
                 QString("FLOAT 2x3x8, FLOAT 2x3x8"));
        QCOMPARE(outputs(old().input("z", {2, 5, 8}).op("Concat", {"x", "z"}, {"y"})),
                 QString("FLOAT 2x8x8"));
        QCOMPARE(outputs(old().op("Reshape", {"x"}, {"y"}, "", {{"shape", {0, -1, 4}}})),
                 QString("FLOAT 2x6x4"));
        QCOMPARE(outputs(old().op("Reshape", {"x"}, {"y"}, "", {{"shape", {0, -1, 5}}})),
                 QString("FLOAT 2x?x5"));
        QCOMPARE(
            outputs(ModelBuilder(1)
                        .input("a", {4, 8})
                        .input("b", {6, 8})
                        .input("c", {6})
                        .op("Gemm", {"a", "b", "c"}, {"y"}, "", {{"transB", 1}, {"broadcast", 1}})),
            QString("FLOAT 4x6"));
        QCOMPARE(outputs(ModelBuilder(1)
                             .input("a", {1, 2, 8, 8})
                             .op("LpPool", {"a"}, {"y"}, "", {{"kernel_shape", {2, 2}}})),
                 QString("FLOAT 1x2x7x7"));
    }

    void attention() {
        QCOMPARE(outputs(contrib()
                             .input("x", {2, 3, 8})
                             .weight("w", {8, 72})
                             .input("past", {2, 2, 4, 5, 6})
                             .op("Attention", {"x", "w", "", "", "past"}, {"y", "p"}, "",
                                 {{"num_heads", 4}}, kMs)),
                 QString("FLOAT 2x3x24, FLOAT 2x2x4x8x6"));
        QCOMPARE(outputs(contrib()
                             .input("x", {2, 3, 8})
                             .weight("w", {8, 40})
                             .op("Attention", {"x", "w"}, {"y"}, "",
                                 {{"num_heads", 4}, {"qkv_hidden_sizes", {16, 16, 8}}}, kMs)),
                 QString("FLOAT 2x3x8"));
    }
    void packedQueries() {
        QCOMPARE(outputs(contrib()
                             .input("q", {2, 3, 4, 3, 8}, T::FLOAT16)
                             .op("MultiHeadAttention", {"q"}, {"y", "k", "v"}, "",
                                 {{"num_heads", 4}}, kMs)),
                 QString("FLOAT16 2x3x32, FLOAT16 2x4x3x8, FLOAT16 2x4x3x8"));
        QCOMPARE(
            outputs(contrib()
                        .input("q", {2, 3, 128})
                        .input("n", {2}, T::INT32)
                        .input("t", {}, T::INT32)
                        .op("GroupQueryAttention", {"q", "", "", "", "", "n", "t"}, {"y", "k", "v"},
                            "", {{"num_heads", 4}, {"kv_num_heads", 2}}, kMs)),
            QString("FLOAT 2x3x64, FLOAT 2x2x?x16, FLOAT 2x2x?x16"));
    }
    void productsAndWhatIsFused() {
        QCOMPARE(outputs(contrib()
                             .input("a", {2, 6, 4})
                             .input("b", {5, 6})
                             .op("FusedMatMul", {"a", "b"}, {"y"}, "",
                                 {{"transA", 1}, {"transB", 1}}, kMs)),
                 QString("FLOAT 2x4x5"));
        QCOMPARE(outputs(contrib()
                             .input("a", {2, 64})
                             .weight("w", {6, 2, 16}, T::UINT8)
                             .weight("s", {6, 2})
                             .op("MatMulNBits", {"a", "w", "s"}, {"y"}, "",
                                 {{"K", 64}, {"N", 6}, {"block_size", 32}}, kMs)),
                 QString("FLOAT 2x6"));
        QCOMPARE(outputs(contrib()
                             .input("x", {2, 6, 5, 4}, T::UINT8)
                             .op("NhwcMaxPool", {"x"}, {"y"}, "", {{"kernel_shape", {2, 3}}}, kMs)),
                 QString("UINT8 2x5x3x4"));
    }
    void typesFollowTheRightInput() {
        QCOMPARE(outputs(contrib()
                             .input("q", {4}, T::UINT8)
                             .real("s", 1)
                             .op("DequantizeLinear", {"q", "s"}, {"y"}, "", {}, kMs)),
                 QString("FLOAT 4"));
        QCOMPARE(
            outputs(contrib()
                        .input("a", {2, 4}, T::UINT8)
                        .input("b", {4, 3}, T::UINT8)
                        .input("as", {}, T::FLOAT16)
                        .input("bs", {}, T::FLOAT16)
                        .op("MatMulIntegerToFloat", {"a", "b", "as", "bs"}, {"y"}, "", {}, kMs)),
            QString("FLOAT16 2x3"));
    }
    void machineLearning() {
        QCOMPARE(
            outputs(contrib()
                        .input("x", {"n", 4})
                        .op("LinearRegressor", {"x"}, {"y"}, "",
                            {{"targets", 3}, Attribute::floats("coefficients", {})}, "ai.onnx.ml")),
            QString("FLOAT 8x3"));
        QCOMPARE(outputs(contrib()
                             .input("x", {5, 4}, T::INT64)
                             .op("Scaler", {"x"}, {"y"}, "", {}, "ai.onnx.ml")),
                 QString("FLOAT 5x4"));
    }
    void missingAndAbsurdInputsAreNoCrash() {
        for (const char* op :
             {"Attention", "MultiHeadAttention", "GroupQueryAttention", "FusedMatMul", "QGemm",
              "QLinearConcat", "NhwcMaxPool", "BiasSplitGelu", "GatherBlockQuantized", "CDist"})
            for (const Shape& shape :
                 {Shape{}, Shape{0}, Shape{1LL << 62, 1LL << 62}, Shape{2, 0, 1LL << 62}})
                for (const std::size_t count : {0, 1, 3, 9}) {
                    const std::string text =
                        outputs(contrib()
                                    .input("x", shape)
                                    .op(op, std::vector<std::string>(count, "x"), {"y", "", "z"},
                                        "",
                                        {{"num_heads", 1LL << 62},
                                         {"kv_num_heads", -1},
                                         {"bits", 0},
                                         {"kernel_shape", {0, -1}}},
                                        kMs))
                            .toStdString();
                    QVERIFY(!text.empty());
                }
    }
};

QTEST_GUILESS_MAIN(TstExtraInference)
#include "tst_extra_inference.moc"
