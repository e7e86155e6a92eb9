// SPDX-License-Identifier: Apache-2.0
#include "ui/canvas/canvas_theme.h"

#include <algorithm>
#include <array>
#include <span>

namespace shardwright {

namespace {

constexpr std::array<std::string_view, 14> kProducts{
    "MatMul",        "Gemm",          "Conv",        "ConvTranspose", "Attention",
    "MatMulInteger", "QLinearMatMul", "QLinearConv", "ConvInteger",   "Einsum",
    "LSTM",          "GRU",           "RNN",         "DeformConv"};
constexpr std::array<std::string_view, 20> kActivations{
    "Relu",      "Sigmoid",  "Tanh",  "Gelu",        "Softmax",         "LogSoftmax", "Erf",
    "LeakyRelu", "Elu",      "Selu",  "HardSigmoid", "HardSwish",       "Mish",       "PRelu",
    "Softplus",  "Softsign", "Swish", "Celu",        "ThresholdedRelu", "Hardmax"};
constexpr std::array<std::string_view, 10> kNormalisations{"LayerNormalization",
                                                           "BatchNormalization",
                                                           "InstanceNormalization",
                                                           "GroupNormalization",
                                                           "RMSNormalization",
                                                           "LpNormalization",
                                                           "LRN",
                                                           "MeanVarianceNormalization",
                                                           "Dropout",
                                                           "SkipLayerNormalization"};
constexpr std::array<std::string_view, 15> kPoolings{
    "MaxPool",       "AveragePool", "GlobalAveragePool",
    "GlobalMaxPool", "LpPool",      "GlobalLpPool",
    "ArgMax",        "ArgMin",      "TopK",
    "CumSum",        "CumProd",     "NonMaxSuppression",
    "Unique",        "NonZero",     "MaxRoiPool"};
constexpr std::array<std::string_view, 33> kMovements{"Reshape",
                                                      "Transpose",
                                                      "Concat",
                                                      "Split",
                                                      "Slice",
                                                      "Gather",
                                                      "GatherElements",
                                                      "GatherND",
                                                      "Scatter",
                                                      "ScatterElements",
                                                      "ScatterND",
                                                      "Squeeze",
                                                      "Unsqueeze",
                                                      "Flatten",
                                                      "Expand",
                                                      "Tile",
                                                      "Pad",
                                                      "Shape",
                                                      "Size",
                                                      "Identity",
                                                      "Cast",
                                                      "CastLike",
                                                      "DepthToSpace",
                                                      "SpaceToDepth",
                                                      "Resize",
                                                      "Compress",
                                                      "OneHot",
                                                      "ReverseSequence",
                                                      "Trilu",
                                                      "EyeLike",
                                                      "RotaryEmbedding",
                                                      "Upsample",
                                                      "TensorScatter"};
constexpr std::array<std::string_view, 8> kConstants{
    "Constant",      "ConstantOfShape",  "Range",     "RandomNormal",
    "RandomUniform", "RandomNormalLike", "Bernoulli", "RandomUniformLike"};
constexpr std::array<std::string_view, 6> kControls{
    "If", "Loop", "Scan", "SequenceMap", "Optional", "OptionalGetElement"};
constexpr std::array<std::string_view, 3> kQuantisations{"QuantizeLinear", "DequantizeLinear",
                                                         "DynamicQuantizeLinear"};

bool isIn(std::span<const std::string_view> list, std::string_view op) {
    return std::find(list.begin(), list.end(), op) != list.end();
}

}  // namespace

OpFamily opFamily(std::string_view domain, std::string_view op) {
    if (!domain.empty() && domain != "ai.onnx" && domain != "com.microsoft")
        return OpFamily::Function;
    if (isIn(kProducts, op))
        return OpFamily::MatrixProduct;
    if (isIn(kActivations, op))
        return OpFamily::Activation;
    if (isIn(kNormalisations, op))
        return OpFamily::Normalisation;
    if (isIn(kPoolings, op) || op.starts_with("Reduce"))
        return OpFamily::Reduction;
    if (isIn(kMovements, op))
        return OpFamily::Movement;
    if (isIn(kConstants, op))
        return OpFamily::Constant;
    if (isIn(kControls, op) || op.starts_with("Sequence"))
        return OpFamily::Control;
    if (isIn(kQuantisations, op))
        return OpFamily::Quantisation;
    return domain.empty() || domain == "ai.onnx" ? OpFamily::Elementwise : OpFamily::Other;
}

}  // namespace shardwright
