// SPDX-License-Identifier: Apache-2.0
#include "factor_case.h"

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

constexpr const char* kMs = "com.microsoft";

ModelBuilder contrib() {
    return ModelBuilder(17).opset(kMs, 1);
}

onnx::TensorProto int32s(const std::string& name, const std::vector<std::int64_t>& dims,
                         const std::vector<std::int64_t>& values, int type = T::INT32) {
    onnx::TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(type);
    tensor.mutable_dims()->Add(dims.begin(), dims.end());
    for (const std::int64_t value : values)
        tensor.add_int32_data(static_cast<std::int32_t>(value));
    return tensor;
}

onnx::TensorProto reals(const std::string& name, const std::vector<float>& values) {
    onnx::TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(T::FLOAT);
    tensor.add_dims(static_cast<std::int64_t>(values.size()));
    tensor.mutable_float_data()->Add(values.begin(), values.end());
    return tensor;
}

}  // namespace

/// Contrib operators on ONNX Runtime's kernels: each factor of the rule split over 2 and 3 devices.
class TstPlanContrib : public QObject {
    Q_OBJECT

private slots:
    void attentionWithFusedWeights() {
        const auto model =
            contrib()
                .input("x", {3, 5, 12})
                .weight("w", {12, 72})
                .weight("bias", {72})
                .op("Attention", {"x", "w", "bias"}, {"y"}, "a", {{"num_heads", 3}}, kMs)
                .output("y", {3, 5, 24});
        VERIFY_FACTORS(model, "a", "b h");
    }
    void attentionWithPastAndMask() {
        const auto model =
            contrib()
                .input("x", {2, 3, 12})
                .weight("w", {12, 72})
                .weight("bias", {72})
                .input("past", {2, 2, 3, 4, 8})
                .initializer(int32s("mask", {2, 7}, {1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1}))
                .op("Attention", {"x", "w", "bias", "mask", "past"}, {"y", "present"}, "a",
                    {{"num_heads", 3}, {"unidirectional", 1}}, kMs)
                .output("y", {2, 3, 24})
                .output("present", {2, 2, 3, 7, 8});
        VERIFY_FACTORS(model, "a", "b h");
    }
    void multiHeadAttention() {
        const auto model =
            contrib()
                .input("q", {3, 6, 24})
                .input("k", {3, 5, 24})
                .input("v", {3, 5, 48})
                .op("MultiHeadAttention", {"q", "k", "v"}, {"y"}, "a", {{"num_heads", 3}}, kMs)
                .output("y");
        VERIFY_FACTORS(model, "a", "b h s e");
    }
    void multiHeadAttentionWithBiasAndPast() {
        const auto model =
            contrib()
                .input("q", {2, 4, 24})
                .input("k", {2, 4, 24})
                .input("v", {2, 4, 24})
                .weight("bias", {72})
                .input("scores", {1, 3, 4, 7})
                .input("pk", {2, 3, 3, 8})
                .input("pv", {2, 3, 3, 8})
                .op("MultiHeadAttention", {"q", "k", "v", "bias", "", "scores", "pk", "pv"},
                    {"y", "nk", "nv"}, "a", {{"num_heads", 3}}, kMs)
                .output("y")
                .output("nk")
                .output("nv");
        VERIFY_FACTORS(model, "a", "b h s");
    }
    void groupQueryAttention() {
        ModelBuilder model = contrib();
        model.input("q", {2, 4, 96})
            .input("k", {2, 4, 32})
            .input("v", {2, 4, 32})
            .initializer(int32s("lengths", {2}, {3, 3}))
            .initializer(int32s("total", {}, {4}))
            .op("GroupQueryAttention", {"q", "k", "v", "", "", "lengths", "total"},
                {"y", "nk", "nv"}, "a", {{"num_heads", 6}, {"kv_num_heads", 2}}, kMs)
            .output("y")
            .output("nk")
            .output("nv");
        VERIFY_FACTORS(model, "a", "b h g");
    }
    void groupQueryAttentionWithRotaryAndPast() {
        ModelBuilder model = contrib();
        model.input("q", {3, 1, 64})
            .input("k", {3, 1, 32})
            .input("v", {3, 1, 32})
            .input("pk", {3, 2, 5, 16})
            .input("pv", {3, 2, 5, 16})
            .weight("cos", {9, 8})
            .weight("sin", {9, 8})
            .initializer(int32s("lengths", {3}, {5, 3, 4}))
            .initializer(int32s("total", {}, {6}))
            .op("GroupQueryAttention",
                {"q", "k", "v", "pk", "pv", "lengths", "total", "cos", "sin"}, {"y", "nk", "nv"},
                "a", {{"num_heads", 4}, {"kv_num_heads", 2}, {"do_rotary", 1}}, kMs)
            .output("y")
            .output("nk")
            .output("nv");
        VERIFY_FACTORS(model, "a", "b h g");
    }
    void rotaryEmbedding() {
        const auto model =
            contrib()
                .input("x", {2, 4, 24})
                .initializer(intTensor("ids", {2, 4}, {0, 1, 2, 3, 5, 6, 7, 8}))
                .weight("cos", {9, 4})
                .weight("sin", {9, 4})
                .op("RotaryEmbedding", {"x", "ids", "cos", "sin"}, {"y"}, "r", {}, kMs)
                .output("y");
        VERIFY_FACTORS(model, "r", "b h s");
    }
    void quantisedAttention() {
        const auto model = contrib()
                               .input("x", {2, 4, 12}, T::UINT8)
                               .weight("w", {12, 72}, T::INT8)
                               .weight("bias", {72})
                               .real("xs", 0.01F)
                               .real("ws", 0.02F)
                               .initializer(int32s("xz", {}, {128}, T::UINT8))
                               .initializer(int32s("wz", {}, {0}, T::INT8))
                               .op("QAttention", {"x", "w", "bias", "xs", "ws", "", "xz", "wz"},
                                   {"y"}, "a", {{"num_heads", 3}}, kMs)
                               .output("y");
        VERIFY_FACTORS(model, "a", "b h");
    }
    void embedLayerNormalization() {
        const auto model = contrib()
                               .initializer(int32s("ids", {2, 4}, {0, 1, 2, 3, 5, 6, 7, 8}))
                               .initializer(int32s("segments", {2, 4}, {0, 0, 1, 1, 0, 1, 1, 1}))
                               .input("words", {9, 8})
                               .weight("positions", {6, 8})
                               .weight("kinds", {2, 8})
                               .weight("g", {8})
                               .weight("bias", {8})
                               .op("EmbedLayerNormalization",
                                   {"ids", "segments", "words", "positions", "kinds", "g", "bias"},
                                   {"y", ""}, "e", {}, kMs)
                               .output("y");
        VERIFY_FACTORS(model, "e", "b");
    }
    void skipLayerNormalization() {
        const auto model = contrib()
                               .input("x", {2, 4, 8})
                               .input("skip", {2, 4, 8})
                               .weight("g", {8})
                               .op("SkipSimplifiedLayerNormalization", {"x", "skip", "g"},
                                   {"y", "", "", "sum"}, "n", {}, kMs)
                               .output("y")
                               .output("sum");
        VERIFY_FACTORS(model, "n", "d0 d1");
    }
    void fusedMatMul() {
        const auto model = contrib()
                               .input("a", {2, 6, 4})
                               .input("b", {2, 5, 6})
                               .op("FusedMatMul", {"a", "b"}, {"y"}, "m",
                                   {{"transA", 1}, {"transB", 1}, {"alpha", 0.5}}, kMs)
                               .output("y");
        VERIFY_FACTORS(model, "m", "b0 m k n");
    }
    void fusedGemm() {
        const auto model =
            contrib()
                .input("a", {4, 6})
                .input("b", {6, 5})
                .weight("c", {5})
                .op("FusedGemm", {"a", "b", "c"}, {"y"}, "m", {{"activation", "Relu"}}, kMs)
                .output("y");
        VERIFY_FACTORS(model, "m", "m n");
    }
    void matMulNBits() {
        const auto model =
            contrib()
                .input("a", {3, 4, 128})
                .weight("w", {6, 4, 16}, T::UINT8)
                .weight("scales", {6, 4})
                .weight("zeros", {6, 2}, T::UINT8)
                .weight("bias", {6})
                .op("MatMulNBits", {"a", "w", "scales", "zeros", "", "bias"}, {"y"}, "m",
                    {{"N", 6}, {"K", 128}, {"bits", 4}, {"block_size", 32}}, kMs)
                .output("y");
        VERIFY_FACTORS(model, "m", "n k m0 m1");
    }
    void matMulNBitsWithoutZeroPoints() {
        const auto model = contrib()
                               .input("a", {4, 96})
                               .weight("w", {6, 3, 32}, T::UINT8)
                               .weight("scales", {6, 3})
                               .op("MatMulNBits", {"a", "w", "scales"}, {"y"}, "m",
                                   {{"N", 6}, {"K", 96}, {"bits", 8}, {"block_size", 32}}, kMs)
                               .output("y");
        VERIFY_FACTORS(model, "m", "n k m0");
    }
    void matMulBnb4() {
        const auto model =
            contrib()
                .input("a", {4, 32})
                .weight("w", {96}, T::UINT8)
                .weight("scales", {12})
                .op("MatMulBnb4", {"a", "w", "scales"}, {"y"}, "m",
                    {{"N", 6}, {"K", 32}, {"block_size", 16}, {"quant_type", 1}}, kMs)
                .output("y");
        VERIFY_FACTORS(model, "m", "n m0");
    }
    void mixtureOfExperts() {
        const auto model = contrib()
                               .input("x", {2, 3, 8})
                               .input("p", {6, 4})
                               .weight("w1", {4, 6, 8})
                               .weight("b1", {4, 6})
                               .weight("w2", {4, 8, 6})
                               .weight("b2", {4, 8})
                               .op("MoE", {"x", "p", "w1", "b1", "w2", "b2"}, {"y"}, "m",
                                   {{"k", 2}, {"activation_type", "gelu"}}, kMs)
                               .output("y");
        VERIFY_FACTORS(model, "m", "m0 m1 i");
    }
    void mixtureOfGatedExperts() {
        const auto model =
            contrib()
                .input("x", {6, 8})
                .input("p", {6, 4})
                .weight("w1", {4, 12, 8})
                .weight("b1", {4, 12})
                .weight("w2", {4, 8, 6})
                .op("MoE", {"x", "p", "w1", "b1", "w2"}, {"y"}, "m",
                    {{"k", 2}, {"activation_type", "swiglu"}, {"swiglu_fusion", 1}}, kMs)
                .output("y");
        VERIFY_FACTORS(model, "m", "m0 i");
    }
    void gatherOfAQuantisedTable() {
        const auto model =
            contrib()
                .weight("table", {6, 16}, T::UINT8)
                .initializer(intTensor("ids", {2, 3}, {0, 5, 3, 2, 1, 4}))
                .weight("scales", {6, 2})
                .op("GatherBlockQuantized", {"table", "ids", "scales"}, {"y"}, "g",
                    {{"bits", 4}, {"block_size", 16}, {"gather_axis", 0}, {"quantize_axis", 1}},
                    kMs)
                .output("y");
        VERIFY_FACTORS(model, "g", "i0 i1 v");
    }
    void quantisedProducts() {
        const auto dynamic = contrib()
                                 .input("a", {2, 4, 8})
                                 .weight("b", {8, 6}, T::UINT8)
                                 .weight("scales", {6})
                                 .weight("zeros", {6}, T::UINT8)
                                 .weight("bias", {6})
                                 .op("DynamicQuantizeMatMul", {"a", "b", "scales", "zeros", "bias"},
                                     {"y"}, "m", {}, kMs)
                                 .output("y");
        VERIFY_FACTORS(dynamic, "m", "n");
        const auto toFloat = contrib()
                                 .input("a", {4, 8}, T::UINT8)
                                 .weight("b", {8, 6}, T::UINT8)
                                 .real("as", 0.25F)
                                 .weight("bs", {6})
                                 .initializer(int32s("az", {}, {3}, T::UINT8))
                                 .weight("bias", {6})
                                 .op("MatMulIntegerToFloat",
                                     {"a", "b", "as", "bs", "az", "", "bias"}, {"y"}, "m", {}, kMs)
                                 .output("y");
        VERIFY_FACTORS(toFloat, "m", "m k n");
    }
    void quantisedGemm() {
        ModelBuilder model = contrib();
        model.input("a", {4, 8}, T::UINT8)
            .real("as", 0.25F)
            .initializer(int32s("az", {}, {3}, T::UINT8))
            .weight("b", {6, 8}, T::INT8)
            .initializer(reals("bs", {0.25F, 0.5F, 1.0F, 2.0F, 0.5F, 0.125F}))
            .initializer(int32s("bz", {6}, {0, 0, 0, 0, 0, 0}, T::INT8))
            .initializer(int32s("c", {6}, {1, 2, 3, 4, 5, 6}))
            .real("ys", 8.0F)
            .initializer(int32s("yz", {}, {100}, T::UINT8))
            .op("QGemm", {"a", "as", "az", "b", "bs", "bz", "c", "ys", "yz"}, {"y"}, "m",
                {{"transB", 1}}, kMs)
            .output("y");
        VERIFY_FACTORS(model, "m", "m n");
    }
    void quantisedElementwise() {
        ModelBuilder base = contrib();
        base.input("a", {4, 6}, T::UINT8)
            .input("b", {6}, T::UINT8)
            .real("s", 0.25F)
            .real("t", 0.5F)
            .initializer(int32s("z", {}, {128}, T::UINT8));
        ModelBuilder add = base;
        add.op("QLinearAdd", {"a", "s", "z", "b", "t", "z", "t", "z"}, {"y"}, "n", {}, kMs)
            .output("y");
        VERIFY_FACTORS(add, "n", "d0 d1");
        ModelBuilder sigmoid = base;
        sigmoid.op("QLinearSigmoid", {"a", "s", "z", "t", "z"}, {"y"}, "n", {}, kMs).output("y");
        VERIFY_FACTORS(sigmoid, "n", "d0 d1");
        ModelBuilder softmax = base;
        softmax
            .op("QLinearSoftmax", {"a", "s", "z", "t", "z"}, {"y"}, "n",
                {{"axis", -1}, {"opset", 13}}, kMs)
            .output("y");
        VERIFY_FACTORS(softmax, "n", "d0");
        ModelBuilder concat = base;
        concat
            .op("QLinearConcat", {"t", "z", "a", "s", "z", "a", "t", "z"}, {"y"}, "n",
                {{"axis", 1}}, kMs)
            .output("y");
        VERIFY_FACTORS(concat, "n", "d0 a");
        ModelBuilder where = base;
        where.initializer(int32s("c", {4, 1}, {1, 0, 0, 1}, T::BOOL))
            .op("QLinearWhere", {"c", "a", "s", "z", "b", "t", "z", "t", "z"}, {"y"}, "n", {}, kMs)
            .output("y");
        VERIFY_FACTORS(where, "n", "d0 d1");
    }
    void quantisedPools() {
        ModelBuilder base = contrib();
        base.input("x", {3, 6, 5, 4}, T::UINT8)
            .real("s", 0.25F)
            .real("t", 0.5F)
            .initializer(int32s("z", {}, {128}, T::UINT8));
        ModelBuilder global = base;
        global
            .op("QLinearGlobalAveragePool", {"x", "s", "z", "t", "z"}, {"y"}, "n",
                {{"channels_last", 1}}, kMs)
            .output("y");
        VERIFY_FACTORS(global, "n", "n c");
        ModelBuilder nhwc = base;
        nhwc.op("NhwcMaxPool", {"x"}, {"y"}, "n", {{"kernel_shape", {2, 2}}}, kMs).output("y");
        VERIFY_FACTORS(nhwc, "n", "n c");
    }
    void fusedConvolution() {
        const auto model =
            contrib()
                .input("x", {3, 4, 6, 6})
                .weight("w", {6, 4, 3, 3})
                .weight("b", {6})
                .input("z", {3, 6, 4, 4})
                .op("FusedConv", {"x", "w", "b", "z"}, {"y"}, "n", {{"activation", "Relu"}}, kMs)
                .output("y");
        VERIFY_FACTORS(model, "n", "n o");
    }
    void quantizeLinear() {
        const auto model =
            contrib()
                .input("x", {4, 6})
                .initializer(reals("s", {0.25F, 0.5F, 1.0F, 2.0F, 0.5F, 0.125F}))
                .weight("z", {6}, T::UINT8)
                .op("QuantizeLinear", {"x", "s", "z"}, {"q"}, "n", {{"axis", 1}}, kMs)
                .op("DequantizeLinear", {"q", "s", "z"}, {"y"}, "d", {{"axis", 1}}, kMs)
                .output("y");
        VERIFY_FACTORS(model, "n", "d0 d1");
        VERIFY_FACTORS(model, "d", "d0 d1");
    }
    void smallOnes() {
        const auto gelu = contrib()
                              .input("x", {4, 6})
                              .weight("b", {6})
                              .op("BiasGelu", {"x", "b"}, {"y"}, "n", {}, kMs)
                              .output("y");
        VERIFY_FACTORS(gelu, "n", "d0 d1");
        const auto inverse =
            contrib().input("x", {4, 3, 3}).op("Inverse", {"x"}, {"y"}, "n", {}, kMs).output("y");
        VERIFY_FACTORS(inverse, "n", "d0");
        const auto distances =
            contrib()
                .input("a", {4, 6})
                .input("b", {5, 6})
                .op("CDist", {"a", "b"}, {"y"}, "n", {{"metric", "euclidean"}}, kMs)
                .output("y");
        VERIFY_FACTORS(distances, "n", "m n");
    }
};

QTEST_GUILESS_MAIN(TstPlanContrib)
#include "tst_plan_contrib.moc"
