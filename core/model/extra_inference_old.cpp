// SPDX-License-Identifier: Apache-2.0
//
// Former versions of ai.onnx operators of which libonnx has the schema without an inference
// function: mostly version 1, which models of opset 1 to 5 use. Where a newer version has one, that
// is asked, so that this says nothing of it.
#include "model/extra_inference_helpers.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

namespace shardwright::extra {

namespace {

/// Its axis has a default before version 4.
void joined(Context& context) {
    setTypeOf(context, 0, 0);
    std::optional<Dims> result;
    const std::int64_t axis = attribute(context, "axis", 1);
    for (std::size_t slot = 0; slot < context.getNumInputs(); ++slot) {
        const auto dims = dimsOf(context, slot);
        if (!dims || axis < 0 || axis >= static_cast<std::int64_t>(dims->size()))
            return;
        if (!result) {
            result = dims;
            continue;
        }
        Dim& along = (*result)[static_cast<std::size_t>(axis)];
        const auto a = sizeOf(along), b = sizeOf((*dims)[static_cast<std::size_t>(axis)]);
        std::int64_t sum = 0;
        along = a && b && !__builtin_add_overflow(*a, *b, &sum) ? sized(sum) : unknown();
    }
    if (result)
        setShape(context, 0, *result);
}

/// The shape is an attribute: 0 keeps a dimension, -1 takes what is left.
void reshaped(Context& context) {
    setTypeOf(context, 0, 0);
    const auto* shape = context.getAttribute("shape");
    const auto input = dimsOf(context, 0);
    if (shape == nullptr || !input)
        return;
    Dims dims;
    std::int64_t known = 1, all = 1;
    bool counted = true;
    for (const Dim& dim : *input)
        counted = counted && sizeOf(dim) && !__builtin_mul_overflow(all, *sizeOf(dim), &all);
    std::ptrdiff_t open = -1;
    for (const std::int64_t size : shape->ints()) {
        if (size == 0 && dims.size() < input->size())
            dims.push_back((*input)[dims.size()]);
        else
            dims.push_back(size > 0 ? sized(size) : unknown());
        if (size == -1)
            open = static_cast<std::ptrdiff_t>(dims.size()) - 1;
        else if (const auto own = sizeOf(dims.back()))
            counted = counted && !__builtin_mul_overflow(known, *own, &known);
        else
            counted = false;
    }
    if (open >= 0 && counted && known > 0 && all % known == 0)
        dims[static_cast<std::size_t>(open)] = sized(all / known);
    setShape(context, 0, dims);
}

}  // namespace

void addFormerVersions(Table& table) {
    for (const char* op : {"Abs",
                           "Add",
                           "BatchNormalization",
                           "Ceil",
                           "Clip",
                           "Div",
                           "Elu",
                           "Exp",
                           "Floor",
                           "Log",
                           "GroupNormalization",
                           "HardSigmoid",
                           "LeakyRelu",
                           "Max",
                           "Mean",
                           "MeanVarianceNormalization",
                           "Min",
                           "Mul",
                           "Neg",
                           "InstanceNormalization",
                           "PRelu",
                           "Relu",
                           "Reciprocal",
                           "Selu",
                           "Sigmoid",
                           "Sqrt",
                           "Sub",
                           "Sum",
                           "Tanh"})
        table[{"", op}] = like();
    table[{"", "Dropout"}] = both(like(0, 0), like(0, 1));
    for (const char* op : {"GreaterOrEqual", "LessOrEqual"})
        table[{"", op}] = as("Greater", 9, {0, 1});
    table[{"", "Gemm"}] = as("Gemm", 6, {0, 1, 2});
    table[{"", "GlobalLpPool"}] = as("GlobalAveragePool", 1, {0});
    table[{"", "LpPool"}] = as("AveragePool", 1, {0});
    table[{"", "Concat"}] = joined;
    table[{"", "Reshape"}] = reshaped;
}

}  // namespace shardwright::extra
