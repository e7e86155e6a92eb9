// SPDX-License-Identifier: Apache-2.0
//
// ONNX Runtime's contrib operators, com.microsoft.
#include "rules/examples.h"

namespace shardwright {

namespace {

struct Row {
    const char* op;
    const char* graph;
};

// clang-format off
constexpr Row kRows[] = {
    {"Attention", "(float[4,6,12] x, float[12,48] w, float[48] b) => (y) { y = com.microsoft.Attention<num_heads = 2>(x, w, b) }"},
    {"MultiHeadAttention", "(float[4,6,16] q, float[4,8,16] k, float[4,8,16] v) => (y) { y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k, v) }"},
    {"GroupQueryAttention", "(float[4,6,64] q, float[4,6,32] k, float[4,6,32] v) => (y, pk, pv) <int32[4] lengths = {5, 5, 5, 5}, int32 total = {6}> { y, pk, pv = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2>(q, k, v, , , lengths, total) }"},
    {"RotaryEmbedding", "(float[4,6,16] x, int64[4,6] ids, float[12,4] cos, float[12,4] sin) => (y) { y = com.microsoft.RotaryEmbedding(x, ids, cos, sin) }"},
    {"QAttention", "(uint8[4,6,12] x, int8[12,48] w, float[48] b, float xs, float ws, uint8 xz, int8 wz) => (y) { y = com.microsoft.QAttention<num_heads = 2>(x, w, b, xs, ws, , xz, wz) }"},
    {"EmbedLayerNormalization", "(int32[4,6] ids, int32[4,6] segments, float[12,8] words, float[8,8] places, float[4,8] kinds, float[8] g, float[8] b) => (y, m) { y, m = com.microsoft.EmbedLayerNormalization(ids, segments, words, places, kinds, g, b) }"},
    {"SkipLayerNormalization", "(float[4,6,8] x, float[4,6,8] skip, float[8] g, float[8] b) => (y) { y = com.microsoft.SkipLayerNormalization(x, skip, g, b) }"},
    {"SkipSimplifiedLayerNormalization", "(float[4,6,8] x, float[4,6,8] skip, float[8] g) => (y) { y = com.microsoft.SkipSimplifiedLayerNormalization(x, skip, g) }"},
    {"SimplifiedLayerNormalization", "(float[4,6,8] x, float[8] g) => (float[4,6,8] y) { y = com.microsoft.SimplifiedLayerNormalization(x, g) }"},
    {"FusedMatMul", "(float[4,8] a, float[8,6] b) => (y) { y = com.microsoft.FusedMatMul(a, b) }"},
    {"TransposeMatMul", "(float[4,8] a, float[8,6] b) => (float[4,6] y) { y = com.microsoft.TransposeMatMul(a, b) }"},
    {"FusedMatMulActivation", "(float[4,8] a, float[8,6] b) => (float[4,6] y) { y = com.microsoft.FusedMatMulActivation<activation = \"Relu\">(a, b) }"},
    {"FusedGemm", "(float[4,8] a, float[8,6] b, float[6] c) => (y) { y = com.microsoft.FusedGemm<activation = \"Relu\">(a, b, c) }"},
    {"GemmFastGelu", "(float[4,8] a, float[8,6] b, float[6] c) => (float[4,6] y) { y = com.microsoft.GemmFastGelu(a, b, c) }"},
    {"FusedConv", "(float[4,8,6,6] x, float[6,8,3,3] w, float[6] b) => (y) { y = com.microsoft.FusedConv<activation = \"Relu\">(x, w, b) }"},
    {"MatMulNBits", "(float[4,128] a, uint8[6,4,16] w, float[6,4] s) => (y) { y = com.microsoft.MatMulNBits<N = 6, K = 128, bits = 4, block_size = 32>(a, w, s) }"},
    {"MatMulBnb4", "(float[4,32] a, uint8[96] w, float[12] s) => (y) { y = com.microsoft.MatMulBnb4<N = 6, K = 32, block_size = 16, quant_type = 1>(a, w, s) }"},
    {"MoE", "(float[4,6,8] x, float[24,2] p, float[2,12,8] w1, float[2,12] b1, float[2,8,12] w2, float[2,8] b2) => (y) { y = com.microsoft.MoE<k = 1>(x, p, w1, b1, w2, b2) }"},
    {"CDist", "(float[4,8] a, float[6,8] b) => (float[4,6] y) { y = com.microsoft.CDist(a, b) }"},
    {"GatherBlockQuantized", "(uint8[6,16] table, int64[4] ids, float[6,2] s) => (y) { y = com.microsoft.GatherBlockQuantized<bits = 4, block_size = 16, gather_axis = 0, quantize_axis = 1>(table, ids, s) }"},
    {"Gelu", "(float[4,6] x) => (float[4,6] y) { y = com.microsoft.Gelu(x) }"},
    {"QuickGelu", "(float[4,6] x) => (float[4,6] y) { y = com.microsoft.QuickGelu(x) }"},
    {"FastGelu", "(float[4,6] x, float[6] b) => (float[4,6] y) { y = com.microsoft.FastGelu(x, b) }"},
    {"BiasGelu", "(float[4,6] x, float[6] b) => (float[4,6] y) { y = com.microsoft.BiasGelu(x, b) }"},
    {"Inverse", "(float[4,3,3] x) => (float[4,3,3] y) { y = com.microsoft.Inverse(x) }"},
    {"Trilu", "(float[4,6,6] x) => (float[4,6,6] y) { y = com.microsoft.Trilu(x) }"},
    {"GatherND", "(float[8,12,6] x, int64[4,2] i) => (float[4,6] y) { y = com.microsoft.GatherND(x, i) }"},
    {"Pad", "(float[4,6] x) => (float[4,8] y) <int64[4] pads = {0, 1, 0, 1}> { y = com.microsoft.Pad(x, pads) }"},
    {"Range", "() => (float[8] y) <float a = {0.0}, float b = {8.0}, float c = {1.0}> { y = com.microsoft.Range(a, b, c) }"},
    {"GridSample", "(float[4,6,8,8] x, float[4,4,2,2] grid) => (float[4,6,4,2] y) { y = com.microsoft.GridSample(x, grid) }"},
    {"DynamicQuantizeMatMul", "(float[4,8] a, uint8[8,6] b, float[6] s) => (y) { y = com.microsoft.DynamicQuantizeMatMul(a, b, s) }"},
    {"MatMulIntegerToFloat", "(uint8[4,8] a, uint8[8,6] b, float sa, float[6] sb) => (y) { y = com.microsoft.MatMulIntegerToFloat(a, b, sa, sb) }"},
    {"MatMulInteger16", "(int16[4,8] a, int16[8,6] b) => (int32[4,6] y) { y = com.microsoft.MatMulInteger16(a, b) }"},
    {"QGemm", "(uint8[4,8] a, float sa, uint8 za, int8[8,6] b, float[6] sb, int8[6] zb, int32[6] c, float sy, uint8 zy) => (uint8[4,6] y) { y = com.microsoft.QGemm(a, sa, za, b, sb, zb, c, sy, zy) }"},
    {"QLinearAdd", "(uint8[4,6] a, float sa, uint8 za, uint8[6] b, float sb, uint8 zb, float sy, uint8 zy) => (uint8[4,6] y) { y = com.microsoft.QLinearAdd(a, sa, za, b, sb, zb, sy, zy) }"},
    {"QLinearMul", "(uint8[4,6] a, float sa, uint8 za, uint8[6] b, float sb, uint8 zb, float sy, uint8 zy) => (uint8[4,6] y) { y = com.microsoft.QLinearMul(a, sa, za, b, sb, zb, sy, zy) }"},
    {"QLinearSigmoid", "(uint8[4,6] x, float s, uint8 z, float sy, uint8 zy) => (uint8[4,6] y) { y = com.microsoft.QLinearSigmoid(x, s, z, sy, zy) }"},
    {"QLinearLeakyRelu", "(uint8[4,6] x, float s, uint8 z, float sy, uint8 zy) => (uint8[4,6] y) { y = com.microsoft.QLinearLeakyRelu(x, s, z, sy, zy) }"},
    {"QLinearSoftmax", "(uint8[4,6] x, float s, uint8 z, float sy, uint8 zy) => (uint8[4,6] y) { y = com.microsoft.QLinearSoftmax<axis = -1, opset = 13>(x, s, z, sy, zy) }"},
    {"QLinearConcat", "(float sy, uint8 zy, uint8[4,6] a, float sa, uint8 za, uint8[4,6] b, float sb, uint8 zb) => (uint8[4,12] y) { y = com.microsoft.QLinearConcat<axis = 1>(sy, zy, a, sa, za, b, sb, zb) }"},
    {"QLinearWhere", "(bool[4,1] c, uint8[4,6] a, float sa, uint8 za, uint8[6] b, float sb, uint8 zb, float sy, uint8 zy) => (uint8[4,6] y) { y = com.microsoft.QLinearWhere(c, a, sa, za, b, sb, zb, sy, zy) }"},
    {"QLinearReduceMean", "(uint8[4,6] x, float s, uint8 z, float sy, uint8 zy) => (uint8[4,1] y) { y = com.microsoft.QLinearReduceMean<axes = [1]>(x, s, z, sy, zy) }"},
    {"QLinearAveragePool", "(uint8[4,6,8,8] x, float s, uint8 z, float sy, uint8 zy) => (uint8[4,6,4,6] y) { y = com.microsoft.QLinearAveragePool<kernel_shape = [2, 3], strides = [2, 1]>(x, s, z, sy, zy) }"},
    {"QLinearGlobalAveragePool", "(uint8[4,6,8,8] x, float s, uint8 z, float sy, uint8 zy) => (uint8[4,6,1,1] y) { y = com.microsoft.QLinearGlobalAveragePool(x, s, z, sy, zy) }"},
    {"NhwcMaxPool", "(uint8[4,8,8,6] x) => (uint8[4,7,7,6] y) { y = com.microsoft.NhwcMaxPool<kernel_shape = [2, 2]>(x) }"},
    {"QLinearConv", "(uint8[4,8,6,6] x, float sx, uint8 zx, int8[6,4,1,1] w, float[6] sw, int8[6] zw, float sy, uint8 zy, int32[6] b) => (uint8[4,6,6,6] y) { y = com.microsoft.QLinearConv<group = 2>(x, sx, zx, w, sw, zw, sy, zy, b) }"},
    {"QuantizeLinear", "(float[4,6] x, float s, uint8 z) => (uint8[4,6] y) { y = com.microsoft.QuantizeLinear(x, s, z) }"},
    {"DequantizeLinear", "(uint8[4,6] x, float s, uint8 z) => (float[4,6] y) { y = com.microsoft.DequantizeLinear(x, s, z) }"},
    {"BiasAdd", "(float[4,6,8] x, float[8] b, float[4,6,8] skip) => (float[4,6,8] y) { y = com.microsoft.BiasAdd(x, b, skip) }"},
    {"BiasSoftmax", "(float[4,6,8] x, float[1,6,8] b) => (y) { y = com.microsoft.BiasSoftmax<axis = 2, is_inner_broadcast = 0>(x, b) }"},
    {"GroupNorm", "(float[4,6,6,8] x, float[8] g, float[8] b) => (y) { y = com.microsoft.GroupNorm<activation = 0, groups = 2, channels_last = 1>(x, g, b) }"},
    {"SkipGroupNorm", "(float[4,6,6,8] x, float[8] g, float[8] b, float[4,6,6,8] skip) => (y) { y = com.microsoft.SkipGroupNorm<activation = 0, groups = 2, channels_last = 1>(x, g, b, skip) }"},
    {"ScaledSiLU", "(float[4,6] x) => (y) { y = com.microsoft.ScaledSiLU(x) }"},
    {"DecoderMaskedMultiHeadAttention", "(float[4,1,24] q, float[4,1,24] k, float[4,1,24] v, float[4,3,8,8] pk, float[4,3,8,8] pv) => (float[4,1,24] y, float[4,3,8,8] nk, float[4,3,8,8] nv) <int32[1] n = {5}> { y, nk, nv = com.microsoft.DecoderMaskedMultiHeadAttention<num_heads = 3, past_present_share_buffer = 1>(q, k, v, , , pk, pv, n) }"},
    {"QMoE", "(float[4,6,32] x, float[24,2] p, uint8[2,128,16] w1, float[2,128] s1, uint8[2,32,32] w2, float[2,32] s2) => (y) { y = com.microsoft.QMoE<k = 1, activation_type = \"swiglu\", swiglu_fusion = 1, expert_weight_bits = 4>(x, p, w1, s1, , w2, s2) }"},
    {"BiasSplitGelu", "(float[4,6,16] x, float[16] b) => (float[4,6,8] y) { y = com.microsoft.BiasSplitGelu(x, b) }"},
};
// clang-format on

}  // namespace

std::vector<OperatorExample> contribExamples() {
    std::vector<OperatorExample> examples;
    for (const Row& row : kRows)
        examples.push_back({"com.microsoft", row.op, row.graph, 0});
    return examples;
}

}  // namespace shardwright
