// SPDX-License-Identifier: Apache-2.0
#include "model/shapes.h"

#include "model/shape_pass.h"

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

class ShapeBuilder {
public:
    ShapeBuilder(const Model& model, Bindings bindings, const CancelToken& cancel)
        : m_model(model), m_cancel(cancel), m_declared(model) {
        m_table.m_bindings = std::move(bindings);
    }

    ShapeTable build() {
        const std::size_t count = m_model.graph().values.size();
        m_table.m_info.resize(count);
        m_table.m_constants.resize(count);
        const DimensionBinder binder(m_model, &m_table.m_bindings);
        m_table.m_used = binder.used();
        ShapePass bound(m_model, m_declared, binder, m_cancel);
        bound.run();
        m_table.m_complaints = bound.complaints();
        for (std::size_t i = 0; i < count; ++i)
            m_table.m_constants[i] = bound.of(ValueId(i)).constant;

        const DimensionBinder symbols(m_model, nullptr);
        ShapePass symbolic(m_model, m_declared, symbols, m_cancel);
        // The second inference is for nothing where the file declares everything, or has no symbols at all.
        const bool needed = !binder.used().empty() && !m_declared.complete();
        if (needed)
            symbolic.run();
        for (std::size_t i = 0; i < count; ++i) {
            const ValueId id(i);
            fill(m_table.m_info[i], bound.of(id).type, needed ? symbolic.of(id).type : declaredType(symbols, id));
        }
        return std::move(m_table);
    }

private:
    const onnx::TypeProto* declaredType(const DimensionBinder& symbols, ValueId id) {
        const onnx::TypeProto* declared = m_declared.of(id);
        if (declared == nullptr)
            return nullptr;
        m_scratch = *declared;
        if (m_model.graph().value(id).graph == GraphId(0) && m_model.graph().value(id).kind == ValueKind::GraphInput)
            symbols.bindInput(m_model.graph().value(id).name, m_scratch);
        return &m_scratch;
    }

    static void fill(TensorInfo& info, const onnx::TypeProto* bound, const onnx::TypeProto* symbolic) {
        const bool unknown = kindOf(bound) == TensorInfo::Kind::Unknown;
        const onnx::TypeProto* type = unknown ? symbolic : bound;
        info.kind = kindOf(type);
        if (info.kind != TensorInfo::Kind::Tensor)
            return;
        info.elementType = type->tensor_type().elem_type();
        const Dimensions* numbers = dimensionsOf(bound);
        const Dimensions* names = dimensionsOf(symbolic);
        info.hasRank = numbers != nullptr || names != nullptr;
        if (!info.hasRank)
            return;
        // What was inferred with numbers stands where the two differ in rank.
        if (names == nullptr || (numbers != nullptr && names->size() != numbers->size()))
            names = numbers;
        for (int i = 0; i < names->size(); ++i) {
            const auto& name = names->Get(i);
            info.dims.push_back(numberOf(numbers != nullptr ? numbers->Get(i) : name));
            const std::int64_t declared = numberOf(name);
            const bool symbol = declared < 0 && !name.dim_param().empty();
            info.symbolic.push_back({symbol ? -1 : declared, symbol ? name.dim_param() : std::string()});
            // A number that was declared or inferred holds for every binding.
            if (info.dims.back() < 0)
                info.dims.back() = declared;
        }
    }

    const Model& m_model;
    CancelToken m_cancel;
    DeclaredTypes m_declared;
    ShapeTable m_table;
    onnx::TypeProto m_scratch;
};

std::shared_ptr<const ShapeTable> ShapeTable::build(std::shared_ptr<const Model> model, Bindings bindings,
                                                    const CancelToken& cancel) {
    return std::make_shared<const ShapeTable>(ShapeBuilder(*model, std::move(bindings), cancel).build());
}

}  // namespace shardwright
