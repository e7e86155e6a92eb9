// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/context.h"

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace onnx {
class TensorProto;
}

namespace shardwright::lowering {

/// The values whose elements the model itself gives: initializers (but defaults of inputs that are
/// given another value), Constant nodes, and (with
/// annotations) what the shape table knows of integer results of everywhere nodes, so that shape
/// arithmetic is not passed from segment to segment. The program to verify against computes the
/// latter itself.
class ConstantTable {
public:
    explicit ConstantTable(const Context& context);
    ~ConstantTable();

    /// Null: not constant.
    const onnx::TensorProto* of(ValueId value);
    /// Whether of() is a tensor of the model, not one that was made here.
    bool inModel(ValueId value) { return of(value) != nullptr && m_made.count(of(value)) == 0; }
    /// Whether a Constant node with a dense tensor gives it.
    bool isConstantNode(NodeId node) const;

private:
    const onnx::TensorProto* find(ValueId value);
    const onnx::TensorProto* keep(onnx::TensorProto tensor);
    const onnx::TensorProto* fromAttribute(NodeId node);
    const onnx::TensorProto* fromShapes(ValueId value, NodeId producer);

    const Context& m_context;
    std::unordered_map<ValueId, const onnx::TensorProto*> m_known;
    std::vector<std::unique_ptr<onnx::TensorProto>> m_kept;
    std::unordered_set<const onnx::TensorProto*> m_made;  ///< Those of m_kept.
};

/// A 1-dimensional INT64 tensor, and a scalar of any type whose elements have whole bytes.
onnx::TensorProto intsTensor(const std::vector<std::int64_t>& values);
onnx::TensorProto scalarTensor(std::int32_t elementType, double value);
/// One zero (or empty string) of any type, in one dimension.
onnx::TensorProto zeroTensor(std::int32_t elementType);
/// A tensor of integers (INT64, INT32 or BOOL).
onnx::TensorProto integerTensor(std::int32_t elementType, const std::vector<std::int64_t>& dims,
                                const std::vector<std::int64_t>& values);

}  // namespace shardwright::lowering
