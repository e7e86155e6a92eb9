// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/shapes.h"

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <vector>

namespace shardwright {

/// The types that the file declares for its values: graph inputs and outputs, value_info.
class DeclaredTypes {
public:
    explicit DeclaredTypes(const Model& model);

    /// Null: none.
    const onnx::TypeProto* of(ValueId id) const { return m_types[id.index()]; }
    /// Whether every output of a node has a declared type with a number or symbol for each
    /// dimension.
    bool complete() const { return m_complete; }

private:
    std::vector<const onnx::TypeProto*> m_types;
    bool m_complete = true;
};

/// Numbers for symbols: those of the main graph's inputs, and others that the bindings name.
class DimensionBinder {
public:
    DimensionBinder(const Model& model, const Bindings& bindings);

    /// The symbols of inputs, anonymous dimensions as `input#dim`, with the number each gets.
    const std::map<std::string, std::int64_t>& used() const { return m_used; }
    /// Whether an input has another value than its default.
    bool isGiven(const std::string& name) const { return m_bindings.given.count(name) > 0; }
    /// The type of a main graph's input.
    void bindInput(const std::string& name, onnx::TypeProto& type) const;
    /// Any other declared type: symbols that no input has and no binding names stay symbols.
    void bind(onnx::TypeProto& type) const;

private:
    void bindDimension(onnx::TensorShapeProto::Dimension& dimension) const;

    Bindings m_bindings;
    std::map<std::string, std::int64_t> m_used;
};

/// Fills what `type` lacks from `declared`, which is bound already. Returns words for a
/// contradiction between numbers, or nothing; what was inferred stands.
std::string mergeDeclared(const onnx::TypeProto& declared, onnx::TypeProto& type);

/// Leaves in `type` only what `other` says, too.
void meetTypes(const onnx::TypeProto& other, onnx::TypeProto& type);

/// "FLOAT 2x?xseq".
std::string typeText(const onnx::TypeProto& type);

}  // namespace shardwright
