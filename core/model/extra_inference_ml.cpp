// SPDX-License-Identifier: Apache-2.0
//
// Operators of ai.onnx.ml that libonnx knows without an inference function. Rank 1 counts as one
// row.
#include "model/extra_inference_helpers.h"

namespace shardwright::extra {

namespace {

Dim rowsOf(const Dims& x) {
    return x.size() > 1 ? x.front() : sized(1);
}

/// FLOAT [rows, targets].
onnx::InferenceFunction regressor(const char* targets) {
    return [targets](Context& context) {
        setType(context, 0, onnx::TensorProto::FLOAT);
        const auto x = dimsOf(context, 0);
        if (x && !x->empty())
            setShape(context, 0,
                     {rowsOf(*x), sized(targets != nullptr ? attribute(context, targets, 1) : 1)});
    };
}

/// Labels [rows], and scores [rows, classes].
void treeClassifier(Context& context) {
    const auto* words = context.getAttribute("classlabels_strings");
    const auto* numbers = context.getAttribute("classlabels_int64s");
    const bool strings = words != nullptr && words->strings_size() > 0;
    setType(context, 0, strings ? onnx::TensorProto::STRING : onnx::TensorProto::INT64);
    setType(context, 1, onnx::TensorProto::FLOAT);
    const auto x = dimsOf(context, 0);
    if (!x || x->empty())
        return;
    const int classes = strings              ? words->strings_size()
                        : numbers != nullptr ? numbers->ints_size()
                                             : 0;
    setShape(context, 0, {rowsOf(*x)});
    setShape(context, 1, {rowsOf(*x), classes > 0 ? sized(classes) : unknown()});
}

void featureVectorizer(Context& context) {
    setType(context, 0, onnx::TensorProto::FLOAT);
    const auto x = dimsOf(context, 0);
    const auto* widths = context.getAttribute("inputdimensions");
    if (!x || x->empty() || widths == nullptr)
        return;
    std::int64_t total = 0;
    for (const std::int64_t width : widths->ints())
        if (__builtin_add_overflow(total, width, &total))
            return;
    setShape(context, 0, {rowsOf(*x), sized(total)});
}

}  // namespace

void addMachineLearning(Table& table) {
    const char* ml = "ai.onnx.ml";
    table[{ml, "Imputer"}] = like();
    for (const char* op : {"Normalizer", "Scaler"})
        table[{ml, op}] =
            both(like(), [](Context& context) { setType(context, 0, onnx::TensorProto::FLOAT); });
    table[{ml, "LinearRegressor"}] = regressor("targets");
    table[{ml, "SVMRegressor"}] = regressor(nullptr);
    table[{ml, "TreeEnsembleRegressor"}] = regressor("n_targets");
    table[{ml, "TreeEnsembleClassifier"}] = treeClassifier;
    table[{ml, "FeatureVectorizer"}] = featureVectorizer;
}

}  // namespace shardwright::extra
