// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/defs/shape_inference.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardwright::extra {

using Context = onnx::InferenceContext;
using Dim = onnx::TensorShapeProto::Dimension;
using Dims = std::vector<Dim>;
using Table = std::map<std::pair<std::string_view, std::string_view>, onnx::InferenceFunction>;

/// Dimensions of a tensor input; nothing where the rank is not known or the slot is omitted.
std::optional<Dims> dimsOf(const Context& context, std::size_t slot);
Dim sized(std::int64_t size);
/// A dimension of which nothing is known.
Dim unknown();
std::optional<std::int64_t> sizeOf(const Dim& dim);
std::int64_t attribute(const Context& context, const char* name, std::int64_t otherwise);
/// Sets the shape of an output, where the node has it.
void setShape(Context& context, std::size_t slot, const Dims& dims);
void setType(Context& context, std::size_t slot, std::int32_t elementType);
/// The element type of an input, where there is such an output and input.
void setTypeOf(Context& context, std::size_t slot, std::size_t input);

/// Output `output` is like input `input`.
onnx::InferenceFunction like(std::size_t input = 0, std::size_t output = 0);
/// As operator `op` of ai.onnx at `opset` says of these inputs. With `channelsLast`, input 0 and
/// output 0 have their channels last, where the attribute of that name (or "" for always) is set.
onnx::InferenceFunction as(std::string op, int opset, std::vector<std::size_t> slots);
onnx::InferenceFunction asChannelsLast(std::string op, int opset, std::vector<std::size_t> slots,
                                       std::string attributeName);
/// Both, one after the other.
onnx::InferenceFunction both(onnx::InferenceFunction first, onnx::InferenceFunction second);

void addAttention(Table& table);        ///< Attention, MultiHeadAttention, GroupQueryAttention ...
void addProducts(Table& table);         ///< Matrix products and what is fused with them.
void addMachineLearning(Table& table);  ///< ai.onnx.ml.
void addFormerVersions(Table& table);   ///< ai.onnx, before shapes were inferred.

}  // namespace shardwright::extra
