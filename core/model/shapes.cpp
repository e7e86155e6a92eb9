// SPDX-License-Identifier: Apache-2.0
#include "model/shapes.h"

#include "model/shape_pass.h"

#include <algorithm>
#include <map>

namespace shardwright {

namespace {

using Dimensions = google::protobuf::RepeatedPtrField<onnx::TensorShapeProto::Dimension>;

const Dimensions* dimensionsOf(const onnx::TypeProto* type) {
    return type != nullptr && type->has_tensor_type() && type->tensor_type().has_shape()
               ? &type->tensor_type().shape().dim()
               : nullptr;
}

TensorInfo::Kind kindOf(const onnx::TypeProto* type) {
    if (type == nullptr || type->value_case() == onnx::TypeProto::VALUE_NOT_SET)
        return TensorInfo::Kind::Unknown;
    return type->has_tensor_type() ? TensorInfo::Kind::Tensor : TensorInfo::Kind::Other;
}

std::int64_t numberOf(const onnx::TensorShapeProto::Dimension& dimension) {
    return dimension.has_dim_value() && dimension.dim_value() >= 0 ? dimension.dim_value() : -1;
}

}  // namespace

/// Tells symbols by two passes with different numbers for them: a size that is 8 and 24 when
/// `batch` is, and nothing else, is `batch`. libonnx's symbolic inference loses symbols in the
/// first Reshape with a -1; this follows them through whatever computes shapes. The second numbers
/// are multiples of the first, so that they divide as well.
class SymbolFinder {
public:
    SymbolFinder(std::map<std::string, std::int64_t> ofInputs, const Bindings& bindings)
        : m_sizes(std::move(ofInputs)), m_probe(bindings) {
        // Symbols of declarations inside the graph, where somebody gave them a number.
        m_sizes.insert(bindings.sizes.begin(), bindings.sizes.end());
        std::int64_t prime = 1;
        for (const auto& [symbol, size] : m_sizes) {
            if (m_byProbe.size() == kMaxSymbols)
                break;
            const std::int64_t unit = std::clamp<std::int64_t>(size, 1, std::int64_t(1) << 40);
            do {
                prime = nextPrime(prime);
            } while (m_byProbe.contains(unit * prime));
            m_probe.sizes[symbol] = unit * prime;
            m_byProbe.emplace(unit * prime, symbol);
        }
    }

    /// Other sizes for all symbols.
    const Bindings& probe() const { return m_probe; }

    /// What a dimension is, of which both passes gave a number.
    Dimension identify(std::int64_t size, std::int64_t probed) {
        if (size == probed)
            return {size, {}};
        const auto found = m_byProbe.find(probed);
        if (found != m_byProbe.end() && m_sizes.at(found->second) == size)
            return {-1, found->second};
        // Something computed from symbols; equal numbers in both passes are taken for equal.
        const auto [named, added] = m_computed.try_emplace({size, probed});
        if (added)
            named->second = "#" + std::to_string(kComputed + m_computed.size());
        return {-1, named->second};
    }

    /// Whether the symbol, if it has a number at all, has this one.
    bool agrees(const std::string& symbol, std::int64_t size) const {
        const auto found = m_sizes.find(symbol);
        return found == m_sizes.end() || found->second == size;
    }

private:
    /// Above the numbers of symbols that ShapePass makes.
    static constexpr std::size_t kComputed = 1000000000;
    /// Real models have a handful; each takes the next prime number.
    static constexpr std::size_t kMaxSymbols = 256;

    static std::int64_t nextPrime(std::int64_t after) {
        for (std::int64_t candidate = after + 1;; ++candidate) {
            bool prime = candidate > 2;
            for (std::int64_t i = 2; i * i <= candidate && prime; ++i)
                prime = candidate % i != 0;
            if (prime)
                return candidate;
        }
    }

    std::map<std::string, std::int64_t> m_sizes;
    Bindings m_probe;
    std::map<std::int64_t, std::string> m_byProbe;
    std::map<std::pair<std::int64_t, std::int64_t>, std::string> m_computed;
};

class ShapeBuilder {
public:
    ShapeBuilder(const Model& model, Bindings bindings, CancelToken cancel)
        : m_model(model), m_cancel(std::move(cancel)), m_declared(model) {
        m_table.m_bindings = std::move(bindings);
    }

    ShapeTable build() {
        const std::size_t count = m_model.graph().values.size();
        m_table.m_info.resize(count);
        m_table.m_constants.resize(count);
        const DimensionBinder binder(m_model, m_table.m_bindings);
        m_table.m_used = binder.used();
        ShapePass bound(m_model, m_declared, binder, ShapePass::Unknown::Anonymous, m_cancel);
        bound.run();
        m_table.m_complaints = bound.complaints();
        for (std::size_t i = 0; i < count; ++i) {
            m_table.m_constants[i] = bound.of(ValueId(i)).constant;
            fillNumbers(ValueId(i), bound.of(ValueId(i)).type);
        }
        fillSymbols();
        return std::move(m_table);
    }

private:
    void fillNumbers(ValueId id, const onnx::TypeProto* bound) {
        TensorInfo& info = m_table.m_info[id.index()];
        const bool unknown = kindOf(bound) == TensorInfo::Kind::Unknown;
        const onnx::TypeProto* type = unknown ? m_declared.of(id) : bound;
        info.kind = kindOf(type);
        if (info.kind != TensorInfo::Kind::Tensor)
            return;
        info.elementType = type->tensor_type().elem_type();
        const Dimensions* dims = dimensionsOf(type);
        info.hasRank = dims != nullptr;
        for (int i = 0; info.hasRank && i < dims->size(); ++i)
            info.dims.push_back(numberOf(dims->Get(i)));
    }

    void fillSymbols() {
        SymbolFinder finder(m_table.m_used, m_table.m_bindings);
        const DimensionBinder binder(m_model, finder.probe());
        ShapePass probed(m_model, m_declared, binder, ShapePass::Unknown::Named, m_cancel);
        const auto isOpen = [](const TensorInfo& info) { return info.hasRank && !info.concrete(); };
        const auto& all = m_table.m_info;
        const bool hasSymbols =
            !m_table.m_used.empty() || std::any_of(all.begin(), all.end(), isOpen);
        // The second pass is for nothing where the file declares everything, or has no symbols at
        // all.
        const bool needed = hasSymbols && !m_declared.complete();
        if (needed)
            probed.run();
        for (const ValueInfo& value : m_model.graph().values)
            fillSymbols(value, finder, needed ? probed.of(value.id).type : nullptr);
    }

    void fillSymbols(const ValueInfo& value, SymbolFinder& finder, const onnx::TypeProto* probed) {
        TensorInfo& info = m_table.m_info[value.id.index()];
        const auto ofSameRank = [&](const onnx::TypeProto* type) {
            const Dimensions* dims = dimensionsOf(type);
            return dims != nullptr && static_cast<std::size_t>(dims->size()) == info.dims.size()
                       ? dims
                       : nullptr;
        };
        const Dimensions* declared = info.hasRank ? ofSameRank(m_declared.of(value.id)) : nullptr;
        const Dimensions* probe = info.hasRank ? ofSameRank(probed) : nullptr;
        const bool isInput = value.graph == GraphId(0) && value.kind == ValueKind::GraphInput;
        for (std::size_t i = 0; i < info.dims.size(); ++i) {
            const int axis = static_cast<int>(i);
            const std::int64_t size = info.dims[i];
            const std::string& symbol =
                declared != nullptr ? declared->Get(axis).dim_param() : std::string();
            if (!symbol.empty() && finder.agrees(symbol, size))
                info.symbolic.push_back({-1, symbol});
            else if (isInput && declared != nullptr && numberOf(declared->Get(axis)) < 0)
                info.symbolic.push_back({-1, value.name + "#" + std::to_string(i)});
            else if (probe == nullptr)
                info.symbolic.push_back({size, {}});
            else if (size >= 0 && numberOf(probe->Get(axis)) >= 0)
                info.symbolic.push_back(finder.identify(size, numberOf(probe->Get(axis))));
            else
                info.symbolic.push_back(
                    {size, size < 0 ? probe->Get(axis).dim_param() : std::string()});
        }
    }

    const Model& m_model;
    CancelToken m_cancel;
    DeclaredTypes m_declared;
    ShapeTable m_table;
};

std::shared_ptr<const ShapeTable> ShapeTable::build(std::shared_ptr<const Model> model,
                                                    Bindings bindings, const CancelToken& cancel) {
    return std::make_shared<const ShapeTable>(
        ShapeBuilder(*model, std::move(bindings), cancel).build());
}

}  // namespace shardwright
