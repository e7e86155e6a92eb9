// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/document.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace shardwright {

/// Sizes for symbolic dimensions. Those not named are `fallback` each.
struct Bindings {
    std::map<std::string, std::int64_t> sizes;
    std::int64_t fallback = 8;
    /// Inputs with a default (an initializer of the same name) that are given another value: shapes
    /// do not follow from the default of these.
    std::set<std::string> given{};

    bool operator==(const Bindings&) const = default;
};

struct Dimension {
    std::int64_t size = -1;  ///< -1: not a number.
    std::string symbol;      ///< Empty: anonymous.

    bool operator==(const Dimension&) const = default;
};

/// Element type and shape of a value, before and after binding.
struct TensorInfo {
    enum class Kind { Unknown, Tensor, Other };  ///< Other: sequence, optional, map, sparse.
    Kind kind = Kind::Unknown;
    std::int32_t elementType = 0;  ///< onnx::TensorProto::DataType.
    bool hasRank = false;
    /// As declared; else an input's symbol where the size equals it under two different bindings.
    std::vector<Dimension> symbolic;
    std::vector<std::int64_t> dims;  ///< With bindings; -1 where still unknown.

    bool concrete() const;              ///< Rank and all sizes known.
    std::int64_t elementCount() const;  ///< -1 unless concrete; saturates.
};

/// A small integer, bool or float tensor whose elements are known: shape arithmetic, constants.
struct ConstantValue {
    std::int32_t elementType = 0;
    std::vector<std::int64_t> dims;
    std::vector<std::int64_t> ints;  ///< For integer and bool types.
    std::vector<double> reals;       ///< For floating point types.
};

/// Whether a symbol was made here rather than by the file: `input#0` for an anonymous dimension of
/// a main graph's input, `#12` for an unknown size. Such a symbol says which sizes are equal; it
/// must not be written into a file.
bool isGeneratedSymbol(const std::string& symbol);

/// Shapes of all values of a model under bindings: a forward pass over all graphs with libonnx's
/// inference function for each operator, which also folds the small tensors that compute shapes.
/// See ShapePass.
class ShapeTable {
public:
    /// Largest number of elements that is folded. Floating point initializers are constants up to
    /// 256 elements.
    static constexpr std::int64_t kMaxFolded = 4096;

    /// Never null; of a cancelled build the table has what was known by then. Inside a function
    /// that is called more than once, a value has what all calls have in common.
    static std::shared_ptr<const ShapeTable> build(std::shared_ptr<const Model> model,
                                                   Bindings bindings, const CancelToken& = {});

    const TensorInfo& of(ValueId id) const { return m_info[id.index()]; }
    const ConstantValue* constant(ValueId id) const { return m_constants[id.index()].get(); }
    const Bindings& bindings() const { return m_bindings; }
    /// Symbols of graph inputs (anonymous ones as `input#dim`) with the size each got; for
    /// messages.
    const std::map<std::string, std::int64_t>& usedBindings() const { return m_used; }
    /// What is wrong with shapes and types: "MatMul#12 /layer/fc: Incompatible dimensions ...",
    /// also where the file declares another number than is inferred (which stands). At most about a
    /// hundred.
    const std::vector<std::string>& complaints() const { return m_complaints; }

private:
    std::vector<TensorInfo> m_info;
    std::vector<std::shared_ptr<const ConstantValue>> m_constants;
    Bindings m_bindings;
    std::map<std::string, std::int64_t> m_used;
    std::vector<std::string> m_complaints;
    friend class ShapeBuilder;
};

/// "FLOAT", "INT64", ...; unknown types by number. Bits per element (sub-byte types: 4, 2, 1).
std::string elementTypeName(std::int32_t type);
int elementBits(std::int32_t type);
/// Bytes of `count` elements, sub-byte types packed; saturates; -1 for types without a size.
std::int64_t storageBytes(std::int32_t type, std::int64_t count);

}  // namespace shardwright
