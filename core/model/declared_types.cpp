// SPDX-License-Identifier: Apache-2.0
#include "model/declared_types.h"

#include "model/graph_walk.h"

#include <algorithm>

namespace shardwright {

namespace {

using DimensionProto = onnx::TensorShapeProto::Dimension;

bool isNumber(const DimensionProto& dimension) {
    return dimension.has_dim_value() && dimension.dim_value() >= 0;
}

bool isSymbol(const DimensionProto& dimension) {
    return dimension.has_dim_param() && !dimension.dim_param().empty();
}

bool isComplete(const onnx::TypeProto* type) {
    if (type == nullptr || !type->has_tensor_type() || !type->tensor_type().has_shape())
        return false;
    const auto& dims = type->tensor_type().shape().dim();
    return std::all_of(dims.begin(), dims.end(),
                       [](const DimensionProto& d) { return isNumber(d) || isSymbol(d); });
}

std::int64_t sizeOf(const Bindings& bindings, const std::string& symbol) {
    const auto found = bindings.sizes.find(symbol);
    return found != bindings.sizes.end() && found->second >= 0 ? found->second : bindings.fallback;
}

}  // namespace

DeclaredTypes::DeclaredTypes(const Model& model) : m_types(model.graph().values.size(), nullptr) {
    const GraphIndex& index = model.graph();
    const auto sources = listGraphs(model.proto());
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const auto add = [&](const auto& list) {
            for (const auto& info : list) {
                const bool says = info.type().value_case() != onnx::TypeProto::VALUE_NOT_SET;
                const ValueId id = says ? index.findValue(GraphId(i), info.name()) : ValueId();
                if (id && m_types[id.index()] == nullptr)
                    m_types[id.index()] = &info.type();
            }
        };
        if (sources[i].graph != nullptr) {
            add(sources[i].graph->input());
            add(sources[i].graph->output());
            add(sources[i].graph->value_info());
        } else {
            add(sources[i].function->value_info());
        }
    }
    for (const ValueInfo& value : index.values)
        m_complete = m_complete &&
                     (value.kind != ValueKind::NodeOutput || isComplete(m_types[value.id.index()]));
}

DimensionBinder::DimensionBinder(const Model& model, const Bindings& bindings)
    : m_bindings(bindings) {
    const GraphIndex& index = model.graph();
    for (const auto& input : model.proto().graph().input()) {
        const ValueId id = index.findValue(GraphId(0), input.name());
        if (!input.type().has_tensor_type() || !id || index.value(id).kind != ValueKind::GraphInput)
            continue;
        int axis = 0;
        for (const DimensionProto& dimension : input.type().tensor_type().shape().dim()) {
            const std::string anonymous = input.name() + "#" + std::to_string(axis++);
            if (!isNumber(dimension)) {
                const std::string& name = isSymbol(dimension) ? dimension.dim_param() : anonymous;
                m_used.emplace(name, sizeOf(bindings, name));
            }
        }
    }
}

void DimensionBinder::bindDimension(DimensionProto& dimension) const {
    if (isNumber(dimension))
        return;
    if (!isSymbol(dimension)) {
        dimension.Clear();
        return;
    }
    const auto used = m_used.find(dimension.dim_param());
    const auto named = m_bindings.sizes.find(dimension.dim_param());
    if (used != m_used.end())
        dimension.set_dim_value(used->second);
    else if (named != m_bindings.sizes.end() && named->second >= 0)
        dimension.set_dim_value(named->second);
}

void DimensionBinder::bindInput(const std::string& name, onnx::TypeProto& type) const {
    if (!type.has_tensor_type() || !type.tensor_type().has_shape())
        return;
    int axis = 0;
    for (DimensionProto& dimension : *type.mutable_tensor_type()->mutable_shape()->mutable_dim()) {
        if (!isNumber(dimension) && !isSymbol(dimension))
            dimension.set_dim_param(name + "#" + std::to_string(axis));
        bindDimension(dimension);
        ++axis;
    }
}

void DimensionBinder::bind(onnx::TypeProto& type) const {
    if (!type.has_tensor_type() || !type.tensor_type().has_shape())
        return;
    for (DimensionProto& dimension : *type.mutable_tensor_type()->mutable_shape()->mutable_dim())
        bindDimension(dimension);
}

std::string mergeDeclared(const onnx::TypeProto& declared, onnx::TypeProto& type) {
    if (type.value_case() == onnx::TypeProto::VALUE_NOT_SET) {
        type = declared;
        return {};
    }
    if (type.value_case() != declared.value_case())
        return "is declared as " + typeText(declared) + ", but is " + typeText(type);
    if (!type.has_tensor_type())
        return {};
    auto* tensor = type.mutable_tensor_type();
    const auto& other = declared.tensor_type();
    if (tensor->elem_type() == onnx::TensorProto::UNDEFINED)
        tensor->set_elem_type(other.elem_type());
    if (!other.has_shape())
        return {};
    if (!tensor->has_shape()) {
        *tensor->mutable_shape() = other.shape();
        return {};
    }
    bool contradicts = tensor->shape().dim_size() != other.shape().dim_size() ||
                       (other.elem_type() != onnx::TensorProto::UNDEFINED &&
                        other.elem_type() != tensor->elem_type());
    for (int i = 0; i < tensor->shape().dim_size() && !contradicts; ++i) {
        const DimensionProto& there = other.shape().dim(i);
        DimensionProto& here = *tensor->mutable_shape()->mutable_dim(i);
        if (isNumber(there) && isNumber(here))
            contradicts = here.dim_value() != there.dim_value();
        else if (isNumber(there) || (isSymbol(there) && !isNumber(here)))
            here = there;
    }
    return contradicts ? "is declared as " + typeText(declared) + ", but is " + typeText(type)
                       : std::string();
}

void meetTypes(const onnx::TypeProto& other, onnx::TypeProto& type) {
    if (type.value_case() != other.value_case()) {
        type.Clear();
        return;
    }
    if (!type.has_tensor_type()) {
        if (type.SerializeAsString() != other.SerializeAsString())
            type.Clear();
        return;
    }
    auto* tensor = type.mutable_tensor_type();
    if (tensor->elem_type() != other.tensor_type().elem_type())
        tensor->clear_elem_type();
    if (!tensor->has_shape())
        return;
    if (!other.tensor_type().has_shape() ||
        other.tensor_type().shape().dim_size() != tensor->shape().dim_size()) {
        tensor->clear_shape();
        return;
    }
    for (int i = 0; i < tensor->shape().dim_size(); ++i) {
        const DimensionProto& there = other.tensor_type().shape().dim(i);
        DimensionProto& here = *tensor->mutable_shape()->mutable_dim(i);
        const bool same = isNumber(here) ? isNumber(there) && here.dim_value() == there.dim_value()
                                         : isSymbol(here) && isSymbol(there) &&
                                               here.dim_param() == there.dim_param();
        if (!same)
            here.Clear();
    }
}

std::string typeText(const onnx::TypeProto& type) {
    if (!type.has_tensor_type())
        return type.value_case() == onnx::TypeProto::VALUE_NOT_SET ? "unknown" : "not a tensor";
    std::string text = elementTypeName(type.tensor_type().elem_type());
    if (!type.tensor_type().has_shape())
        return text + " of unknown rank";
    std::string dims;
    for (const DimensionProto& dimension : type.tensor_type().shape().dim()) {
        dims += dims.empty() ? " " : "x";
        dims += isNumber(dimension)   ? std::to_string(dimension.dim_value())
                : isSymbol(dimension) ? dimension.dim_param()
                                      : "?";
    }
    return text + (dims.empty() ? " scalar" : dims);
}

}  // namespace shardwright
