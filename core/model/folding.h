// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/constant_value.h"

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace onnx {
class AttributeProto;
}

namespace shardwright {

/// A node of domain ai.onnx with what is known of its inputs.
struct FoldNode {
    std::string_view op;
    int opset = 0;
    std::size_t outputs = 0;                   ///< Number of output slots.
    std::vector<const ConstantValue*> inputs;  ///< By slot; null: unknown or omitted.
    const std::vector<std::int64_t>* shape =
        nullptr;  ///< Of input 0, where all its sizes are known.
    std::function<const onnx::AttributeProto*(const char*)> attribute;

    bool has(std::size_t slot) const { return slot < inputs.size() && inputs[slot] != nullptr; }
    std::int64_t intAttribute(const char* name, std::int64_t fallback) const;
    std::optional<std::vector<std::int64_t>> intsAttribute(const char* name) const;
};

using FoldResult = std::vector<ConstantRef>;

/// Whether fold() knows the operator, and whether it needs the elements of its inputs (Shape and
/// Size do not).
bool canFold(std::string_view op);
bool foldsFromShape(std::string_view op);

/// The node's outputs, with ONNX's semantics; empty where it cannot be computed: an unknown
/// operator or type, an input that is not known, an invalid argument, more than
/// ShapeTable::kMaxFolded elements. All inputs that the node has must be in `inputs`.
FoldResult fold(const FoldNode& node);

// The families; null or empty where they do not know the operator.
using FoldFunction = FoldResult (*)(const FoldNode&);
FoldFunction findArithmetic(std::string_view op);
FoldFunction findMovement(std::string_view op);
FoldFunction findCreation(std::string_view op);

}  // namespace shardwright
