// SPDX-License-Identifier: Apache-2.0
#include "model/extra_inference.h"

#include "model/extra_inference_helpers.h"

namespace shardwright {

namespace {

using namespace extra;

/// Of SkipLayerNormalization: statistics with nothing where it is normalised, and the sum.
void skipNorm(Context& context) {
    like(0, 0)(context);
    like(0, 3)(context);
    auto dims = dimsOf(context, 0);
    if (!dims || dims->empty())
        return;
    dims->back() = sized(1);
    for (const std::size_t output : {1, 2}) {
        setType(context, output, onnx::TensorProto::FLOAT);
        setShape(context, output, *dims);
    }
}

/// Type, then x, scale and zero point of each part.
void quantisedConcat(Context& context) {
    std::vector<std::size_t> slots;
    for (std::size_t slot = 2; slot < context.getNumInputs(); slot += 3)
        slots.push_back(slot);
    if (!slots.empty())
        as("Concat", 13, slots)(context);
    setTypeOf(context, 0, 1);
}

/// The result has half the width of the input.
void splitGelu(Context& context) {
    setTypeOf(context, 0, 0);
    auto dims = dimsOf(context, 0);
    if (!dims || dims->empty())
        return;
    const auto width = sizeOf(dims->back());
    dims->back() = width ? sized(*width / 2) : unknown();
    setShape(context, 0, *dims);
}

void addElementwise(Table& table) {
    const char* ms = "com.microsoft";
    for (const char* op :
         {"BiasAdd", "BiasGelu", "BiasSoftmax", "FastGelu", "Gelu", "Inverse", "QLinearLeakyRelu",
          "QLinearSigmoid", "QLinearSoftmax", "QuickGelu", "ScaledSiLU", "Trilu", "GroupNorm"})
        table[{ms, op}] = like();
    table[{ms, "SkipGroupNorm"}] = both(like(0, 0), like(0, 1));
    table[{ms, "BiasSplitGelu"}] = splitGelu;
    for (const char* op : {"SkipLayerNormalization", "SkipSimplifiedLayerNormalization"})
        table[{ms, op}] = skipNorm;
    for (const char* domain : {"", ms})
        table[{domain, "SimplifiedLayerNormalization"}] = as("LayerNormalization", 17, {0, 1});
    table[{ms, "QuantizeLinear"}] = as("QuantizeLinear", 13, {0, 1, 2});
    table[{ms, "DequantizeLinear"}] =
        both(like(), [](Context& context) { setTypeOf(context, 0, 1); });
    for (const char* op : {"QLinearAdd", "QLinearMul"})
        table[{ms, op}] = as("Add", 14, {0, 3});
    table[{ms, "QLinearWhere"}] = as("Where", 16, {0, 1, 4});
    table[{ms, "QLinearConcat"}] = quantisedConcat;
    table[{ms, "QLinearReduceMean"}] = as("ReduceMean", 13, {0});
    table[{ms, "QLinearAveragePool"}] = asChannelsLast("AveragePool", 11, {0}, "channels_last");
    table[{ms, "QLinearGlobalAveragePool"}] =
        asChannelsLast("GlobalAveragePool", 1, {0}, "channels_last");
    table[{ms, "NhwcMaxPool"}] = asChannelsLast("MaxPool", 12, {0}, "");
    table[{ms, "GatherND"}] = as("GatherND", 12, {0, 1});
    table[{ms, "Pad"}] = as("Pad", 13, {0, 1, 2});
    table[{ms, "Range"}] = as("Range", 11, {0, 1, 2});
    table[{ms, "GridSample"}] = as("GridSample", 16, {0, 1});
}

Table makeTable() {
    Table table;
    addElementwise(table);
    addAttention(table);
    addProducts(table);
    addMachineLearning(table);
    addFormerVersions(table);
    return table;
}

}  // namespace

const onnx::InferenceFunction* extraInference(std::string_view domain, std::string_view op) {
    static const Table kTable = makeTable();
    const auto found = kTable.find({domain, op});
    return found != kTable.end() ? &found->second : nullptr;
}

}  // namespace shardwright
