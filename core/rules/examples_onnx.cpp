// SPDX-License-Identifier: Apache-2.0
//
// A table; its length is the number of operators.
#include "rules/examples.h"

namespace shardwright {

namespace {

struct Row {
    const char* op;
    const char* graph;
    int opset = 0;
};

// clang-format off
constexpr Row kRows[] = {
    // Elementwise operators that need more than the same tensors as their kin.
    {"BitCast", "(float[4,6] x) => (y) { y = BitCast<to = 6>(x) }"},
    {"BitShift", "(uint8[4,6] a, uint8[6] b) => (y) { y = BitShift<direction = \"LEFT\">(a, b) }"},
    {"BitwiseAnd", "(int32[4,6] a, int32[6] b) => (y) { y = BitwiseAnd(a, b) }"},
    {"BitwiseNot", "(int32[4,6] x) => (y) { y = BitwiseNot(x) }"},
    {"BitwiseOr", "(int32[4,6] a, int32[6] b) => (y) { y = BitwiseOr(a, b) }"},
    {"BitwiseXor", "(int32[4,6] a, int32[6] b) => (y) { y = BitwiseXor(a, b) }"},
    {"And", "(bool[4,6] a, bool[6] b) => (y) { y = And(a, b) }"},
    {"Or", "(bool[4,6] a, bool[6] b) => (y) { y = Or(a, b) }"},
    {"Xor", "(bool[4,6] a, bool[6] b) => (y) { y = Xor(a, b) }"},
    {"Not", "(bool[4,6] x) => (y) { y = Not(x) }"},
    {"Cast", "(float[4,6] x) => (y) { y = Cast<to = 11>(x) }"},
    {"CastLike", "(float[4,6] x, double[2] like) => (y) { y = CastLike(x, like) }"},
    {"Mod", "(int32[4,6] a, int32[6] b) => (y) { y = Mod(a, b) }"},
    {"ScaledTanh", "(float[4,6] x) => (float[4,6] y) { y = ScaledTanh<alpha = 1.5, beta = 0.5>(x) }"},
    {"SwiGLU", "(float[4,6] a, float[4,6] b) => (y) { y = SwiGLU(a, b) }"},
    {"Where", "(bool[4,1] c, float[4,6] a, float[6] b) => (y) { y = Where(c, a, b) }"},
    {"Dropout", "(float[4,6] x) => (y, m) { y, m = Dropout(x) }"},

    // Products and convolutions.
    {"Einsum", "(float[4,6,8] a, float[4,8,10] b) => (y) { y = Einsum<equation = \"bij,bjk->bik\">(a, b) }"},
    {"Gemm", "(float[4,8] a, float[8,6] b, float[6] c) => (y) { y = Gemm(a, b, c) }"},
    {"MatMul", "(float[4,6,8] a, float[8,10] b) => (y) { y = MatMul(a, b) }"},
    {"MatMulInteger", "(uint8[4,8] a, uint8[8,6] b, uint8 za, uint8[6] zb) => (y) { y = MatMulInteger(a, b, za, zb) }"},
    {"QLinearMatMul", "(uint8[4,8] a, float sa, uint8 za, uint8[8,6] b, float[6] sb, uint8[6] zb, float sy, uint8 zy) => (y) { y = QLinearMatMul(a, sa, za, b, sb, zb, sy, zy) }"},
    {"Conv", "(float[4,8,6,6] x, float[6,4,3,3] w, float[6] b) => (y) { y = Conv<group = 2, pads = [1, 1, 1, 1]>(x, w, b) }"},
    {"ConvTranspose", "(float[4,8,6,6] x, float[8,3,2,2] w, float[6] b) => (y) { y = ConvTranspose<group = 2, strides = [2, 2]>(x, w, b) }"},
    {"ConvInteger", "(uint8[4,8,6,6] x, uint8[6,4,3,3] w, uint8 zx, uint8 zw) => (y) { y = ConvInteger<group = 2>(x, w, zx, zw) }"},
    {"QLinearConv", "(uint8[4,8,6,6] x, float sx, uint8 zx, int8[6,4,1,1] w, float[6] sw, int8[6] zw, float sy, uint8 zy, int32[6] b) => (y) { y = QLinearConv<group = 2>(x, sx, zx, w, sw, zw, sy, zy, b) }"},
    {"DeformConv", "(float[4,8,6,6] x, float[6,4,3,3] w, float[4,36,4,4] offset, float[6] b, float[4,18,4,4] mask) => (y) { y = DeformConv<group = 2, offset_group = 2>(x, w, offset, b, mask) }"},
    {"CausalConvWithState", "(float[4,6,8] x, float[6,1,3] w, float[6] b, float[4,6,2] past) => (y, present) { y, present = CausalConvWithState(x, w, b, past) }"},

    // Pools and regions.
    {"AveragePool", "(float[4,6,8,8] x) => (y) { y = AveragePool<kernel_shape = [2, 3], strides = [2, 1]>(x) }"},
    {"LpPool", "(float[4,6,8,8] x) => (y) { y = LpPool<kernel_shape = [2, 3], strides = [2, 1]>(x) }"},
    {"MaxPool", "(float[4,6,8,8] x) => (y) { y = MaxPool<kernel_shape = [2, 3], strides = [2, 1]>(x) }"},
    {"GlobalAveragePool", "(float[4,6,8,8] x) => (y) { y = GlobalAveragePool(x) }"},
    {"GlobalLpPool", "(float[4,6,8,8] x) => (y) { y = GlobalLpPool(x) }"},
    {"GlobalMaxPool", "(float[4,6,8,8] x) => (y) { y = GlobalMaxPool(x) }"},
    {"MaxUnpool", "(float[2,4,4,4] x, int64[2,4,4,4] i) => (y) { y = MaxUnpool<kernel_shape = [2, 2], strides = [2, 2]>(x, i) }"},
    {"MaxRoiPool", "(float[2,4,8,8] x, float[6,5] rois) => (y) { y = MaxRoiPool<pooled_shape = [2, 2]>(x, rois) }"},
    {"RoiAlign", "(float[4,4,8,8] x, float[6,4] rois, int64[6] images) => (y) { y = RoiAlign<output_height = 2, output_width = 2>(x, rois, images) }"},

    // Resizing.
    {"Resize", "(float[4,6,8,8] x) => (y) <float[4] scales = {1.0, 1.0, 2.0, 1.5}> { y = Resize(x, , scales) }"},
    {"Upsample", "(float[4,6,8,8] x) => (y) <float[4] scales = {1.0, 1.0, 2.0, 1.5}> { y = Upsample(x, scales) }", 9},
    {"GridSample", "(float[4,6,8,8] x, float[4,4,2,2] grid) => (y) { y = GridSample(x, grid) }"},
    {"AffineGrid", "(float[4,2,3] theta) => (y) <int64[4] size = {4, 3, 6, 8}> { y = AffineGrid(theta, size) }"},
    {"CenterCropPad", "(float[4,8] x) => (y) <int64[1] shape = {4}> { y = CenterCropPad<axes = [1]>(x, shape) }"},
    {"Col2Im", "(float[4,24,9] x) => (y) <int64[2] image = {4, 4}, int64[2] block = {2, 2}> { y = Col2Im(x, image, block) }"},

    // Sequences in time, signals.
    {"RNN", "(float[6,4,2] x, float[2,8,2] w, float[2,8,8] r, float[2,16] b, int32[4] lengths, float[2,4,8] h0) => (y, h) { y, h = RNN<hidden_size = 8, direction = \"bidirectional\">(x, w, r, b, lengths, h0) }"},
    {"GRU", "(float[6,4,2] x, float[2,24,2] w, float[2,24,8] r, float[2,48] b, int32[4] lengths, float[2,4,8] h0) => (y, h) { y, h = GRU<hidden_size = 8, direction = \"bidirectional\">(x, w, r, b, lengths, h0) }"},
    {"LSTM", "(float[6,4,2] x, float[2,32,2] w, float[2,32,8] r, float[2,64] b, int32[4] lengths, float[2,4,8] h0, float[2,4,8] c0, float[2,24] p) => (y, h, c) { y, h, c = LSTM<hidden_size = 8, direction = \"bidirectional\">(x, w, r, b, lengths, h0, c0, p) }"},
    {"LinearAttention", "(float[4,6,32] q, float[4,6,16] k, float[4,6,8] v, float[4,2,8,4] past, float[4,6,2] decay, float[4,6,2] beta) => (y, present) { y, present = LinearAttention<q_num_heads = 4, kv_num_heads = 2>(q, k, v, past, decay, beta) }"},
    {"DFT", "(float[4,6,8,2] x) => (y) { y = DFT(x) }"},
    {"STFT", "(float[4,32,1] x, float[8] window) => (y) <int64 step = {4}> { y = STFT<onesided = 1>(x, step, window) }"},
    {"BlackmanWindow", "() => (y) <int64 n = {8}> { y = BlackmanWindow(n) }"},
    {"HammingWindow", "() => (y) <int64 n = {8}> { y = HammingWindow(n) }"},
    {"HannWindow", "() => (y) <int64 n = {8}> { y = HannWindow(n) }"},
    {"MelWeightMatrix", "() => (y) <int64 bins = {8}, int64 length = {16}, int64 rate = {8192}, float low = {0.0}, float high = {4096.0}> { y = MelWeightMatrix(bins, length, rate, low, high) }"},

    // Reductions.
    {"ReduceL1", "(float[4,6] x) => (y) <int64[1] axes = {1}> { y = ReduceL1(x, axes) }"},
    {"ReduceL2", "(float[4,6] x) => (y) <int64[1] axes = {1}> { y = ReduceL2(x, axes) }"},
    {"ReduceLogSum", "(float[4,6] x) => (y) <int64[1] axes = {1}> { y = ReduceLogSum(x, axes) }"},
    {"ReduceLogSumExp", "(float[4,6] x) => (y) <int64[1] axes = {1}> { y = ReduceLogSumExp(x, axes) }"},
    {"ReduceMax", "(float[4,6] x) => (y) <int64[1] axes = {1}> { y = ReduceMax(x, axes) }"},
    {"ReduceMean", "(float[4,6] x) => (y) <int64[1] axes = {1}> { y = ReduceMean(x, axes) }"},
    {"ReduceMin", "(float[4,6] x) => (y) <int64[1] axes = {1}> { y = ReduceMin(x, axes) }"},
    {"ReduceProd", "(float[4,6] x) => (y) <int64[1] axes = {1}> { y = ReduceProd(x, axes) }"},
    {"ReduceSum", "(float[4,6] x) => (y) <int64[1] axes = {1}> { y = ReduceSum(x, axes) }"},
    {"ReduceSumSquare", "(float[4,6] x) => (y) <int64[1] axes = {1}> { y = ReduceSumSquare(x, axes) }"},

    // Quantisation.
    {"QuantizeLinear", "(float[4,6] x, float[6] scale, uint8[6] zero) => (y) { y = QuantizeLinear<axis = 1>(x, scale, zero) }"},
    {"DequantizeLinear", "(uint8[4,6] x, float[6] scale, uint8[6] zero) => (y) { y = DequantizeLinear<axis = 1>(x, scale, zero) }"},
    {"DynamicQuantizeLinear", "(float[4,6] x) => (y, scale, zero) { y, scale, zero = DynamicQuantizeLinear(x) }"},

    // Views and layouts.
    {"Reshape", "(float[4,6,8] x) => (y) <int64[4] shape = {4, 6, 2, 4}> { y = Reshape(x, shape) }"},
    {"Flatten", "(float[4,6,8] x) => (y) { y = Flatten(x) }"},
    {"Squeeze", "(float[4,1,6] x) => (y) <int64[1] axes = {1}> { y = Squeeze(x, axes) }"},
    {"Unsqueeze", "(float[4,6] x) => (y) <int64[1] axes = {1}> { y = Unsqueeze(x, axes) }"},
    {"Transpose", "(float[4,6,8] x) => (y) { y = Transpose<perm = [0, 2, 1]>(x) }"},
    {"DepthToSpace", "(float[4,8,6,6] x) => (y) { y = DepthToSpace<blocksize = 2>(x) }"},
    {"SpaceToDepth", "(float[4,2,6,6] x) => (y) { y = SpaceToDepth<blocksize = 2>(x) }"},

    // Parts.
    {"Concat", "(float[4,6] a, float[4,6] b) => (y) { y = Concat<axis = 1>(a, b) }"},
    {"Split", "(float[4,12] x) => (a, b) { a, b = Split<axis = 1, num_outputs = 2>(x) }"},
    {"Expand", "(float[4,1] x) => (y) <int64[3] shape = {2, 4, 6}> { y = Expand(x, shape) }"},
    {"Tile", "(float[4,6] x) => (y) <int64[2] repeats = {1, 2}> { y = Tile(x, repeats) }"},
    {"Pad", "(float[4,6] x) => (y) <int64[4] pads = {0, 1, 0, 1}> { y = Pad(x, pads) }"},
    {"Slice", "(float[4,6] x) => (y) <int64[1] starts = {1}, int64[1] ends = {5}, int64[1] axes = {1}> { y = Slice(x, starts, ends, axes) }"},

    // Along a whole axis.
    {"Softmax", "(float[4,6] x) => (y) { y = Softmax(x) }"},
    {"LogSoftmax", "(float[4,6] x) => (y) { y = LogSoftmax(x) }"},
    {"Hardmax", "(float[4,6] x) => (y) { y = Hardmax(x) }"},
    {"ArgMax", "(float[4,6] x) => (y) { y = ArgMax<axis = 1>(x) }"},
    {"ArgMin", "(float[4,6] x) => (y) { y = ArgMin<axis = 1>(x) }"},
    {"TopK", "(float[4,6] x) => (y, i) <int64[1] k = {2}> { y, i = TopK(x, k) }"},
    {"CumSum", "(float[4,6] x) => (y) <int64 axis = {1}> { y = CumSum(x, axis) }"},
    {"CumProd", "(float[4,6] x) => (y) <int64 axis = {1}> { y = CumProd(x, axis) }"},
    {"Trilu", "(float[4,6,6] x) => (y) { y = Trilu(x) }"},
    {"OneHot", "(int64[4,6] i, float[2] values) => (y) <int64 depth = {8}> { y = OneHot(i, depth, values) }"},
    {"ReverseSequence", "(float[6,4,8] x, int64[4] lengths) => (y) { y = ReverseSequence(x, lengths) }"},
    {"Det", "(float[4,3,3] x) => (y) { y = Det(x) }"},

    // Normalisation and losses.
    {"LayerNormalization", "(float[4,6,8] x, float[8] scale, float[8] bias) => (y) { y = LayerNormalization(x, scale, bias) }"},
    {"RMSNormalization", "(float[4,6,8] x, float[8] scale) => (y) { y = RMSNormalization(x, scale) }"},
    {"SimplifiedLayerNormalization", "(float[4,6,8] x, float[8] scale) => (float[4,6,8] y) { y = SimplifiedLayerNormalization(x, scale) }"},
    {"BatchNormalization", "(float[4,6,8] x, float[6] scale, float[6] bias, float[6] mean, float[6] var) => (y) { y = BatchNormalization(x, scale, bias, mean, var) }"},
    {"InstanceNormalization", "(float[4,6,8] x, float[6] scale, float[6] bias) => (y) { y = InstanceNormalization(x, scale, bias) }"},
    {"GroupNormalization", "(float[4,6,8] x, float[6] scale, float[6] bias) => (float[4,6,8] y) { y = GroupNormalization<num_groups = 2>(x, scale, bias) }"},
    {"LpNormalization", "(float[4,6] x) => (y) { y = LpNormalization(x) }"},
    {"MeanVarianceNormalization", "(float[4,6,8,8] x) => (float[4,6,8,8] y) { y = MeanVarianceNormalization(x) }"},
    {"LRN", "(float[4,6,8,8] x) => (y) { y = LRN<size = 3>(x) }"},
    {"NegativeLogLikelihoodLoss", "(float[4,6,8] x, int64[4,8] t) => (y) { y = NegativeLogLikelihoodLoss(x, t) }"},
    {"SoftmaxCrossEntropyLoss", "(float[4,6,8] x, int64[4,8] t) => (y, p) { y, p = SoftmaxCrossEntropyLoss(x, t) }"},

    // By index.
    {"Gather", "(float[12,6] x, int64[4] i) => (y) { y = Gather(x, i) }"},
    {"GatherElements", "(float[4,12] x, int64[4,6] i) => (y) { y = GatherElements<axis = 1>(x, i) }"},
    {"GatherND", "(float[8,12,6] x, int64[4,2] i) => (y) { y = GatherND(x, i) }"},
    {"Scatter", "(float[4,12] x, int64[4,6] i, float[4,6] u) => (y) { y = Scatter<axis = 1>(x, i, u) }", 10},
    {"ScatterElements", "(float[4,12] x, int64[4,6] i, float[4,6] u) => (y) { y = ScatterElements<axis = 1>(x, i, u) }"},
    {"ScatterND", "(float[8,6] x, int64[4,1] i, float[4,6] u) => (y) { y = ScatterND(x, i, u) }"},
    {"TensorScatter", "(float[4,2,8,6] cache, float[4,2,3,6] u, int64[4] at) => (y) { y = TensorScatter(cache, u, at) }"},

    // Sizes that depend on the data: the output's are declared.
    {"Compress", "(float[4,6] x) => (float[4,3] y) <bool[6] c = {1, 0, 1, 0, 0, 1}> { y = Compress<axis = 1>(x, c) }"},
    {"NonMaxSuppression", "(float[2,6,4] boxes, float[2,3,6] scores) => (int64[5,3] y) { y = NonMaxSuppression(boxes, scores) }"},
    {"NonZero", "(float[4,6] x) => (int64[2,5] y) { y = NonZero(x) }"},
    {"Unique", "(float[8] x) => (float[5] y) { y = Unique(x) }"},
    {"ImageDecoder", "(uint8[64] x) => (uint8[4,6,3] y) { y = ImageDecoder(x) }"},
    {"TfIdfVectorizer", "(int64[4,6] x) => (y) { y = TfIdfVectorizer<max_gram_length = 1, max_skip_count = 0, min_gram_length = 1, mode = \"TF\", ngram_counts = [0], ngram_indexes = [0, 1, 2, 3], pool_int64s = [2, 3, 5, 7]>(x) }"},

    // Generators.
    {"Constant", "() => (y) { y = Constant<value = float[2] {1.0, 2.0}>() }"},
    {"ConstantOfShape", "() => (y) <int64[2] shape = {4, 6}> { y = ConstantOfShape(shape) }"},
    {"EyeLike", "(float[4,6] x) => (y) { y = EyeLike(x) }"},
    {"Range", "() => (y) <int64 start = {0}, int64 limit = {8}, int64 step = {1}> { y = Range(start, limit, step) }"},
    {"Shape", "(float[4,6] x) => (y) { y = Shape(x) }"},
    {"Size", "(float[4,6] x) => (y) { y = Size(x) }"},
    {"Bernoulli", "(float[12,16] x) => (y) { y = Bernoulli(x) }"},
    {"Multinomial", "(float[4,6] x) => (y) { y = Multinomial<sample_size = 8>(x) }"},
    {"RandomNormal", "() => (y) { y = RandomNormal<shape = [4, 6]>() }"},
    {"RandomUniform", "() => (y) { y = RandomUniform<shape = [4, 6]>() }"},
    {"RandomNormalLike", "(float[4,6] x) => (y) { y = RandomNormalLike(x) }"},
    {"RandomUniformLike", "(float[4,6] x) => (y) { y = RandomUniformLike(x) }"},

    // Sequences, optionals and strings.
    {"ConcatFromSequence", "(seq(float[4,6]) s) => (float[4,12] y) { y = ConcatFromSequence<axis = 1>(s) }"},
    {"Optional", "(float[4,6] x) => (y) { y = Optional(x) }"},
    {"OptionalGetElement", "(optional(float[4,6]) x) => (float[4,6] y) { y = OptionalGetElement(x) }"},
    {"OptionalHasElement", "(optional(float[4,6]) x) => (bool y) { y = OptionalHasElement(x) }"},
    {"SequenceAt", "(seq(float[4,6]) s, int64 i) => (float[4,6] y) { y = SequenceAt(s, i) }"},
    {"SequenceConstruct", "(float[4,6] a, float[4,6] b) => (y) { y = SequenceConstruct(a, b) }"},
    {"SequenceEmpty", "() => (y) { y = SequenceEmpty() }"},
    {"SequenceErase", "(seq(float[4,6]) s, int64 i) => (y) { y = SequenceErase(s, i) }"},
    {"SequenceInsert", "(seq(float[4,6]) s, float[4,6] x) => (y) { y = SequenceInsert(s, x) }"},
    {"SequenceLength", "(seq(float[4,6]) s) => (int64 y) { y = SequenceLength(s) }"},
    {"SplitToSequence", "(float[4,6] x) => (y) { y = SplitToSequence(x) }"},
    {"StringConcat", "(string[4,6] a, string[6] b) => (y) { y = StringConcat(a, b) }"},
    {"RegexFullMatch", "(string[4,6] x) => (y) { y = RegexFullMatch<pattern = \"a*\">(x) }"},
    {"StringNormalizer", "(string[6] x) => (string[6] y) { y = StringNormalizer(x) }"},
    {"StringSplit", "(string[4] x) => (string[4,2] y, int64[4] n) { y, n = StringSplit(x) }"},

    // Through their bodies.
    {"If", "(bool c, float[4,6] x) => (float[4,6] y) { y = If<then_branch = yes () => (float[4,6] a) { a = Relu(x) }, else_branch = no () => (float[4,6] b) { b = Softmax(x) }>(c) }"},
    {"Loop", "(int64 n, bool go, float[4,6] x) => (float[4,6] y) { y = Loop<body = step (int64 i, bool c, float[4,6] a) => (bool d, float[4,6] b) { d = Identity(c) b = Softmax(a) }>(n, go, x) }"},
    {"Scan", "(float[4,6] h, float[8,4,6] x) => (float[4,6] hn, float[8,4,6] y) { hn, y = Scan<num_scan_inputs = 1, body = step (float[4,6] a, float[4,6] b) => (float[4,6] c, float[4,6] d) { c = Add(a, b) d = Softmax(c) }>(h, x) }"},
    {"SequenceMap", "(seq(float[4,6]) s) => (seq(float[4,6]) y) { y = SequenceMap<body = each (float[4,6] a) => (float[4,6] b) { b = Relu(a) }>(s) }"},

    // Attention.
    {"Attention", "(float[4,4,6,8] q, float[4,2,6,8] k, float[4,2,6,8] v) => (y) { y = Attention(q, k, v) }"},
    {"RotaryEmbedding", "(float[4,2,6,8] x, float[4,6,4] cos, float[4,6,4] sin) => (y) { y = RotaryEmbedding(x, cos, sin) }"},
};

/// y = Op(x) of real numbers.
constexpr const char* kUnary[] = {
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Clip", "Cos", "Cosh",
    "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity", "IsInf", "IsNaN",
    "LeakyRelu", "Log", "Mish", "Neg", "Reciprocal", "Relu", "Round", "Selu", "Shrink",
    "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh",
    "ThresholdedRelu"};

/// y = Op(a, b) of real numbers.
constexpr const char* kBroadcast[] = {
    "Add", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean", "Min",
    "Mul", "PRelu", "Pow", "Sub", "Sum"};
// clang-format on

}  // namespace

std::vector<OperatorExample> onnxExamples() {
    std::vector<OperatorExample> examples;
    for (const Row& row : kRows)
        examples.push_back({"", row.op, row.graph, row.opset});
    for (const std::string op : kUnary)
        examples.push_back({"", op, "(float[4,6] x) => (y) { y = " + op + "(x) }", 0});
    for (const std::string op : kBroadcast)
        examples.push_back(
            {"", op, "(float[4,6] a, float[6] b) => (y) { y = " + op + "(a, b) }", 0});
    return examples;
}

}  // namespace shardwright
