// SPDX-License-Identifier: Apache-2.0
#include "model/folding.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

namespace shardwright {

namespace {

FoldFunction find(std::string_view op) {
    if (const FoldFunction function = findMovement(op))
        return function;
    if (const FoldFunction function = findCreation(op))
        return function;
    return findArithmetic(op);
}

/// A tensor without elements may still have huge sizes; the families multiply sizes without
/// looking.
bool hasSmallSizes(const ConstantValue& value) {
    std::vector<std::int64_t> sizes;
    for (const std::int64_t size : value.dims)
        sizes.push_back(size == 0 ? 1 : size);
    return countWithin(sizes).has_value();
}

}  // namespace

std::int64_t FoldNode::intAttribute(const char* name, std::int64_t fallback) const {
    const onnx::AttributeProto* found = attribute(name);
    return found != nullptr && found->has_i() ? found->i() : fallback;
}

std::optional<std::vector<std::int64_t>> FoldNode::intsAttribute(const char* name) const {
    const onnx::AttributeProto* found = attribute(name);
    if (found == nullptr)
        return std::nullopt;
    return std::vector<std::int64_t>(found->ints().begin(), found->ints().end());
}

bool canFold(std::string_view op) {
    return find(op) != nullptr;
}

bool foldsFromShape(std::string_view op) {
    return op == "Shape" || op == "Size";
}

FoldResult fold(const FoldNode& node) {
    const FoldFunction function = find(node.op);
    const bool small =
        std::all_of(node.inputs.begin(), node.inputs.end(), [](const ConstantValue* input) {
            return input == nullptr || hasSmallSizes(*input);
        });
    return function != nullptr && small ? function(node) : FoldResult();
}

}  // namespace shardwright
