// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of com.microsoft:
// onnxruntime/core/graph/contrib_ops/{contrib_defs,quantization_defs}.cc.
#include "model/extra_inference_helpers.h"

#include <algorithm>

namespace shardwright::extra {

namespace {

onnx::InferenceFunction typed(onnx::InferenceFunction function, std::int32_t elementType) {
    return both(std::move(function),
                [elementType](Context& context) { setType(context, 0, elementType); });
}

onnx::InferenceFunction typedAs(onnx::InferenceFunction function, std::size_t input) {
    return both(std::move(function), [input](Context& context) { setTypeOf(context, 0, input); });
}

/// The last two dimensions may be swapped before the product; not where the first one moves among
/// them.
void transposedMatMul(Context& context) {
    setTypeOf(context, 0, 0);
    auto a = dimsOf(context, 0), b = dimsOf(context, 1);
    if (!a || !b || a->empty() || b->empty() || attribute(context, "transBatchA", 0) != 0 ||
        attribute(context, "transBatchB", 0) != 0)
        return;
    const bool row = a->size() == 1, column = b->size() == 1;
    if (!row && attribute(context, "transA", 0) != 0)
        std::swap((*a)[a->size() - 1], (*a)[a->size() - 2]);
    if (!column && attribute(context, "transB", 0) != 0)
        std::swap((*b)[b->size() - 1], (*b)[b->size() - 2]);
    onnx::TensorShapeProto left, right, batch;
    for (std::size_t i = 0; i + 2 < a->size(); ++i)
        *left.add_dim() = (*a)[i];
    for (std::size_t i = 0; i + 2 < b->size(); ++i)
        *right.add_dim() = (*b)[i];
    onnx::bidirectionalBroadcastShapeInference(left, right, batch);
    Dims y(batch.dim().begin(), batch.dim().end());
    if (!row)
        y.push_back((*a)[a->size() - 2]);
    if (!column)
        y.push_back(b->back());
    setShape(context, 0, y);
}

/// The width of the result is an attribute.
onnx::InferenceFunction widened(const char* name) {
    return [name](Context& context) {
        setTypeOf(context, 0, 0);
        auto dims = dimsOf(context, 0);
        if (!dims || dims->empty())
            return;
        dims->back() = sized(attribute(context, name, -1));
        setShape(context, 0, *dims);
    };
}

void quantisedGemm(Context& context) {
    as("Gemm", 13, {0, 3, 6})(context);
    if (context.hasInput(7))
        setTypeOf(context, 0, 8);
    else
        setType(context, 0, onnx::TensorProto::FLOAT);
}

void distances(Context& context) {
    setTypeOf(context, 0, 0);
    const auto a = dimsOf(context, 0), b = dimsOf(context, 1);
    if (a && b && a->size() == 2 && b->size() == 2)
        setShape(context, 0, {(*a)[0], (*b)[0]});
}

/// Data [v, ...] with several numbers a byte where it is UINT8, indices of any rank.
void gatherQuantised(Context& context) {
    setTypeOf(context, 0, 2);
    const auto data = dimsOf(context, 0), indices = dimsOf(context, 1);
    if (!data || !indices || data->empty())
        return;
    const auto rank = static_cast<std::int64_t>(data->size());
    std::int64_t axis = attribute(context, "gather_axis", 0);
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank)
        return;
    Dims y(data->begin(), data->begin() + axis);
    y.insert(y.end(), indices->begin(), indices->end());
    y.insert(y.end(), data->begin() + axis + 1, data->end());
    const std::int64_t bits = attribute(context, "bits", 4);
    const onnx::TypeProto* type = context.getInputType(0);
    const bool packed = type->tensor_type().elem_type() == onnx::TensorProto::UINT8;
    if (packed && axis + 1 < rank && (bits == 2 || bits == 4))
        y.back() = y.back() * (8 / bits);
    setShape(context, 0, y);
}

}  // namespace

void addProducts(Table& table) {
    const char* ms = "com.microsoft";
    const auto product = as("MatMul", 13, {0, 1});
    for (const char* op : {"FusedMatMul", "TransposeMatMul", "FusedMatMulActivation"})
        table[{ms, op}] = transposedMatMul;
    table[{ms, "GemmFastGelu"}] = product;
    table[{ms, "FusedGemm"}] = as("Gemm", 13, {0, 1, 2});
    table[{ms, "QGemm"}] = quantisedGemm;
    table[{ms, "DynamicQuantizeMatMul"}] = typedAs(product, 0);
    table[{ms, "MatMulIntegerToFloat"}] = typedAs(product, 2);
    table[{ms, "MatMulInteger16"}] = typed(product, onnx::TensorProto::INT32);
    for (const char* op : {"MatMulNBits", "MatMulBnb4"})
        table[{ms, op}] = widened("N");
    for (const char* op : {"MoE", "QMoE"})
        table[{ms, op}] = like();
    table[{ms, "CDist"}] = distances;
    table[{ms, "GatherBlockQuantized"}] = gatherQuantised;
    table[{ms, "FusedConv"}] = as("Conv", 11, {0, 1, 2});
    table[{ms, "QLinearConv"}] =
        asChannelsLast("QLinearConv", 10, {0, 1, 2, 3, 4, 5, 6, 7, 8}, "channels_last");
}

}  // namespace shardwright::extra
