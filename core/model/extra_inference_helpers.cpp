// SPDX-License-Identifier: Apache-2.0
#include "model/extra_inference_helpers.h"

#include <onnx/defs/schema.h>

#include <algorithm>

namespace shardwright::extra {

namespace {

/// One node as another operator's inference function sees it: some of its inputs, and the tensors
/// with their channels second.
class SlotsContext final : public onnx::InferenceContext {
public:
    SlotsContext(Context& context, const std::vector<std::size_t>& slots, bool channelsLast)
        : m_context(context), m_slots(slots), m_channelsLast(channelsLast) {
        if (!m_channelsLast)
            return;
        if (const onnx::TypeProto* type = m_context.getInputType(m_slots[0])) {
            m_input = *type;
            moveChannels(m_input, true);
        }
    }

    /// Puts the channels of output 0 back where they belong.
    void finish() {
        if (m_channelsLast && m_context.getNumOutputs() > 0) {
            moveChannels(m_output, false);
            *m_context.getOutputType(0) = m_output;
        }
    }

    const onnx::AttributeProto* getAttribute(const std::string& name) const override {
        return m_context.getAttribute(name);
    }
    std::size_t getNumInputs() const override {
        std::size_t count = 0;
        while (count < m_slots.size() && m_slots[count] < m_context.getNumInputs())
            ++count;
        return count;
    }
    const onnx::TypeProto* getInputType(std::size_t index) const override {
        if (m_channelsLast && index == 0)
            return m_input.has_tensor_type() ? &m_input : nullptr;
        return m_context.getInputType(m_slots.at(index));
    }
    bool hasInput(std::size_t index) const override {
        return index < m_slots.size() && m_context.hasInput(m_slots[index]);
    }
    const onnx::TensorProto* getInputData(std::size_t index) const override {
        return m_context.getInputData(m_slots.at(index));
    }
    const onnx::TensorShapeProto* getSymbolicInput(std::size_t index) const override {
        return m_context.getSymbolicInput(m_slots.at(index));
    }
    const onnx::SparseTensorProto* getInputSparseData(std::size_t) const override {
        return nullptr;
    }
    std::size_t getNumOutputs() const override { return m_context.getNumOutputs(); }
    onnx::TypeProto* getOutputType(std::size_t index) override {
        return m_channelsLast && index == 0 ? &m_output : m_context.getOutputType(index);
    }
    bool hasOutput(std::size_t index) override { return m_context.hasOutput(index); }
    onnx::GraphInferencer* getGraphAttributeInferencer(const std::string& name) override {
        return m_context.getGraphAttributeInferencer(name);
    }

private:
    static void moveChannels(onnx::TypeProto& type, bool toSecond) {
        if (!type.has_tensor_type() || !type.tensor_type().has_shape() ||
            type.tensor_type().shape().dim_size() < 3)
            return;
        auto& dims = *type.mutable_tensor_type()->mutable_shape()->mutable_dim();
        if (toSecond)
            std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
        else
            std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
    }

    Context& m_context;
    const std::vector<std::size_t>& m_slots;
    const bool m_channelsLast;
    onnx::TypeProto m_input, m_output;
};

}  // namespace

std::optional<Dims> dimsOf(const Context& context, std::size_t slot) {
    if (!context.hasInput(slot) || !onnx::hasInputShape(context, slot))
        return std::nullopt;
    const onnx::TypeProto* type = context.getInputType(slot);
    if (type == nullptr || !type->has_tensor_type())
        return std::nullopt;
    const auto& dims = type->tensor_type().shape().dim();
    return Dims(dims.begin(), dims.end());
}

Dim sized(std::int64_t size) {
    Dim dim;
    if (size >= 0)
        dim.set_dim_value(size);
    return dim;
}

Dim unknown() {
    return {};
}

std::optional<std::int64_t> sizeOf(const Dim& dim) {
    return dim.has_dim_value() && dim.dim_value() >= 0
               ? std::optional<std::int64_t>(dim.dim_value())
               : std::nullopt;
}

std::int64_t attribute(const Context& context, const char* name, std::int64_t otherwise) {
    const onnx::AttributeProto* found = context.getAttribute(name);
    return found != nullptr && found->has_i() ? found->i() : otherwise;
}

void setShape(Context& context, std::size_t slot, const Dims& dims) {
    if (slot >= context.getNumOutputs())
        return;
    auto& shape = *context.getOutputType(slot)->mutable_tensor_type()->mutable_shape();
    shape.clear_dim();
    for (const Dim& dim : dims)
        *shape.add_dim() = dim;
}

void setType(Context& context, std::size_t slot, std::int32_t elementType) {
    if (slot < context.getNumOutputs())
        context.getOutputType(slot)->mutable_tensor_type()->set_elem_type(elementType);
}

void setTypeOf(Context& context, std::size_t slot, std::size_t input) {
    if (!context.hasInput(input))
        return;
    const onnx::TypeProto* type = context.getInputType(input);
    if (type != nullptr && type->has_tensor_type() && type->tensor_type().elem_type() != 0)
        setType(context, slot, type->tensor_type().elem_type());
}

onnx::InferenceFunction like(std::size_t input, std::size_t output) {
    return [input, output](Context& context) {
        setTypeOf(context, output, input);
        if (const auto dims = dimsOf(context, input))
            setShape(context, output, *dims);
    };
}

onnx::InferenceFunction as(std::string op, int opset, std::vector<std::size_t> slots) {
    return asChannelsLast(std::move(op), opset, std::move(slots), "no such attribute");
}

onnx::InferenceFunction asChannelsLast(std::string op, int opset, std::vector<std::size_t> slots,
                                       std::string attributeName) {
    return [op = std::move(op), opset, slots = std::move(slots),
            name = std::move(attributeName)](Context& context) {
        const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op, opset, "");
        if (schema == nullptr || context.getNumInputs() <= slots[0])
            return;
        const bool channelsLast = name.empty() || attribute(context, name.c_str(), 0) != 0;
        SlotsContext seen(context, slots, channelsLast);
        schema->GetTypeAndShapeInferenceFunction()(seen);
        seen.finish();
    };
}

onnx::InferenceFunction both(onnx::InferenceFunction first, onnx::InferenceFunction second) {
    return [first = std::move(first), second = std::move(second)](Context& context) {
        first(context);
        second(context);
    };
}

}  // namespace shardwright::extra
