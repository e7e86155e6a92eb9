// SPDX-License-Identifier: Apache-2.0
//
// ai.onnx.ml, the optimizers of ai.onnx.preview.training, and ai.onnx.preview.
#include "rules/examples.h"

namespace shardwright {

namespace {

struct Row {
    const char* domain;
    const char* op;
    const char* graph;
};

constexpr const char* kMl = "ai.onnx.ml";
constexpr const char* kTraining = "ai.onnx.preview.training";

// clang-format off
constexpr Row kRows[] = {
    {kMl, "ArrayFeatureExtractor", "(float[4,6] x, int64[2] i) => (float[4,2] y) { y = ai.onnx.ml.ArrayFeatureExtractor(x, i) }"},
    {kMl, "Binarizer", "(float[4,6] x) => (float[4,6] y) { y = ai.onnx.ml.Binarizer<threshold = 0.5>(x) }"},
    {kMl, "CastMap", "(map(int64, float) x) => (float[1,6] y) { y = ai.onnx.ml.CastMap(x) }"},
    {kMl, "CategoryMapper", "(string[4,6] x) => (int64[4,6] y) { y = ai.onnx.ml.CategoryMapper<cats_int64s = [1, 2], cats_strings = [\"a\", \"b\"]>(x) }"},
    {kMl, "DictVectorizer", "(map(int64, float) x) => (float[1,2] y) { y = ai.onnx.ml.DictVectorizer<int64_vocabulary = [1, 2]>(x) }"},
    {kMl, "FeatureVectorizer", "(float[4,6] a, float[4,2] b) => (float[4,8] y) { y = ai.onnx.ml.FeatureVectorizer<inputdimensions = [6, 2]>(a, b) }"},
    {kMl, "Imputer", "(float[4,6] x) => (float[4,6] y) { y = ai.onnx.ml.Imputer<imputed_value_floats = [0.5]>(x) }"},
    {kMl, "LabelEncoder", "(int64[4,6] x) => (int64[4,6] y) { y = ai.onnx.ml.LabelEncoder<keys_int64s = [1, 2], values_int64s = [3, 4]>(x) }"},
    {kMl, "LinearClassifier", "(float[4,2] x) => (int64[4] y, float[4,3] z) { y, z = ai.onnx.ml.LinearClassifier<classlabels_ints = [0, 1, 2], coefficients = [1.0, 2.0, -3.0, 4.0, 2.0, -1.0], intercepts = [0.5, 0.5, 0.25]>(x) }"},
    {kMl, "LinearRegressor", "(float[4,2] x) => (float[4,2] y) { y = ai.onnx.ml.LinearRegressor<coefficients = [1.0, 2.0, 3.0, 4.0], targets = 2>(x) }"},
    {kMl, "Normalizer", "(float[4,6] x) => (float[4,6] y) { y = ai.onnx.ml.Normalizer<norm = \"L2\">(x) }"},
    {kMl, "OneHotEncoder", "(int64[4,6] x) => (float[4,6,2] y) { y = ai.onnx.ml.OneHotEncoder<cats_int64s = [1, 2]>(x) }"},
    {kMl, "SVMClassifier", "(float[4,2] x) => (int64[4] y, float[4,2] z) { y, z = ai.onnx.ml.SVMClassifier<classlabels_ints = [0, 1], coefficients = [1.0, -2.0, 3.0, 4.0], rho = [0.5, 0.5], kernel_type = \"LINEAR\", kernel_params = [1.0, 0.0, 3.0]>(x) }"},
    {kMl, "SVMRegressor", "(float[4,2] x) => (float[4,1] y) { y = ai.onnx.ml.SVMRegressor<coefficients = [1.0, -2.0], rho = [0.5], kernel_type = \"LINEAR\", kernel_params = [1.0, 0.0, 3.0]>(x) }"},
    {kMl, "Scaler", "(float[4,6] x) => (float[4,6] y) { y = ai.onnx.ml.Scaler<offset = [0.5], scale = [2.0]>(x) }"},
    {kMl, "TreeEnsemble", "(float[4,2] x) => (float[4,2] y) { y = ai.onnx.ml.TreeEnsemble<n_targets = 2, nodes_featureids = [0], nodes_truenodeids = [0], nodes_falsenodeids = [1], nodes_trueleafs = [1], nodes_falseleafs = [1], nodes_modes = uint8[1] {0}, nodes_splits = float[1] {0.5}, leaf_targetids = [0, 1], leaf_weights = float[2] {1.0, 2.0}, tree_roots = [0]>(x) }"},
    {kMl, "TreeEnsembleClassifier", "(float[4,2] x) => (int64[4] y, float[4,2] z) { y, z = ai.onnx.ml.TreeEnsembleClassifier<classlabels_int64s = [0, 1]>(x) }"},
    {kMl, "TreeEnsembleRegressor", "(float[4,2] x) => (float[4,2] y) { y = ai.onnx.ml.TreeEnsembleRegressor<n_targets = 2>(x) }"},
    {kMl, "ZipMap", "(float[4,2] x) => (seq(map(int64, float)) y) { y = ai.onnx.ml.ZipMap<classlabels_int64s = [0, 1]>(x) }"},
    {kTraining, "Adagrad", "(float r, int64 t, float[4,6] x, float[4,6] g, float[4,6] h) => (float[4,6] xn, float[4,6] hn) { xn, hn = ai.onnx.preview.training.Adagrad(r, t, x, g, h) }"},
    {kTraining, "Adam", "(float r, int64 t, float[4,6] x, float[4,6] g, float[4,6] v, float[4,6] h) => (float[4,6] xn, float[4,6] vn, float[4,6] hn) { xn, vn, hn = ai.onnx.preview.training.Adam(r, t, x, g, v, h) }"},
    {kTraining, "Gradient", "(float[4,6] x) => (float[4,6] d) { d = ai.onnx.preview.training.Gradient<xs = [\"x\"], y = \"z\">(x) }"},
    {kTraining, "Momentum", "(float r, int64 t, float[4,6] x, float[4,6] g, float[4,6] v) => (float[4,6] xn, float[4,6] vn) { xn, vn = ai.onnx.preview.training.Momentum<alpha = 0.5, beta = 1.0, mode = \"standard\", norm_coefficient = 0.1>(r, t, x, g, v) }"},
    {"ai.onnx.preview", "FlexAttention", "(float[4,4,6,8] q, float[4,2,6,8] k, float[4,2,6,8] v) => (float[4,4,6,8] y) { y = ai.onnx.preview.FlexAttention(q, k, v) }"},
};
// clang-format on

}  // namespace

std::vector<OperatorExample> machineLearningExamples() {
    std::vector<OperatorExample> examples;
    for (const Row& row : kRows)
        examples.push_back({row.domain, row.op, row.graph, 0});
    return examples;
}

}  // namespace shardwright
