// SPDX-License-Identifier: Apache-2.0
#include "check/conformance_node.h"

#include <onnx/defs/schema.h>

#include <algorithm>

namespace shardwright {

namespace {

constexpr int kOpset = 23;

const onnx::OpSchema* schemaOf(const std::string& domain, const std::string& op) {
    return onnx::OpSchemaRegistry::Schema(op, kOpset, domain);
}

onnx::TensorProto intTensor(const std::string& name, const Json& values) {
    onnx::TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    if (values.is_array()) {
        tensor.add_dims(static_cast<std::int64_t>(values.size()));
        for (const Json& value : values)
            tensor.add_int64_data(value.get<std::int64_t>());
    } else {
        tensor.add_int64_data(values.get<std::int64_t>());
    }
    return tensor;
}

Result<onnx::AttributeProto> attributeOf(const std::string& name, const Json& value) {
    onnx::AttributeProto attribute;
    attribute.set_name(name);
    if (value.is_boolean() || value.is_number_integer()) {
        attribute.set_type(onnx::AttributeProto::INT);
        attribute.set_i(value.is_boolean() ? static_cast<std::int64_t>(value.get<bool>())
                                           : value.get<std::int64_t>());
    } else if (value.is_number_float()) {
        attribute.set_type(onnx::AttributeProto::FLOAT);
        attribute.set_f(value.get<float>());
    } else if (value.is_string()) {
        attribute.set_type(onnx::AttributeProto::STRING);
        attribute.set_s(value.get<std::string>());
    } else if (value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& v) {
                   return v.is_number_integer();
               })) {
        attribute.set_type(onnx::AttributeProto::INTS);
        for (const Json& v : value)
            attribute.add_ints(v.get<std::int64_t>());
    } else {
        return Error{"attribute `" + name + "` is " + value.dump(), {}};
    }
    return attribute;
}

std::int32_t elementTypeOf(const onnx::OpSchema& schema, std::size_t slot) {
    // Indices and conditions are what does not take floats.
    const auto& inputs = schema.inputs();
    if (inputs.empty())
        return onnx::TensorProto::FLOAT;
    const auto& types = inputs[std::min(slot, inputs.size() - 1)].GetTypes();
    const auto takes = [&](const char* name) {
        return std::any_of(types.begin(), types.end(),
                           [&](const auto* type) { return *type == name; });
    };
    if (takes("tensor(float)"))
        return onnx::TensorProto::FLOAT;
    if (takes("tensor(int64)"))
        return onnx::TensorProto::INT64;
    return takes("tensor(bool)") ? onnx::TensorProto::BOOL : onnx::TensorProto::UINT8;
}

}  // namespace

std::string caseInputName(std::size_t slot) {
    return "in" + std::to_string(slot);
}
std::string caseOutputName(std::size_t slot) {
    return "out" + std::to_string(slot);
}

int formalInput(const std::string& domain, const std::string& op, const std::string& name) {
    const onnx::OpSchema* schema = schemaOf(domain, op);
    if (!schema)
        return -1;
    const auto& inputs = schema->inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i].GetName() == name)
            return static_cast<int>(i);
    return -1;
}

Result<onnx::ModelProto> buildCaseModel(const NodeCase& c) {
    const onnx::OpSchema* schema = schemaOf(c.domain, c.op);
    if (!schema)
        return Error{"no operator " + c.op, {}};
    onnx::ModelProto model;
    model.set_ir_version(11);
    auto* opset = model.add_opset_import();
    opset->set_domain(c.domain);
    opset->set_version(kOpset);
    onnx::GraphProto& graph = *model.mutable_graph();
    graph.set_name("case");
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type(c.op);
    node.set_domain(c.domain);
    node.set_name("node");
    std::vector<std::string> names(c.inputs.size());
    for (std::size_t slot = 0; slot < c.inputs.size(); ++slot) {
        if (!c.inputs[slot])
            continue;
        names[slot] = caseInputName(slot);
        auto* input = graph.add_input();
        input->set_name(names[slot]);
        auto* type = input->mutable_type()->mutable_tensor_type();
        type->set_elem_type(elementTypeOf(*schema, slot));
        type->mutable_shape();
        for (const std::int64_t size : *c.inputs[slot])
            type->mutable_shape()->add_dim()->set_dim_value(size);
    }
    for (const auto& [name, value] : c.attributes.items()) {
        const int slot = formalInput(c.domain, c.op, name);
        if (slot < 0) {
            auto attribute = attributeOf(name, value);
            if (!attribute)
                return attribute.error();
            *node.add_attribute() = std::move(*attribute);
            continue;
        }
        names.resize(std::max(names.size(), static_cast<std::size_t>(slot) + 1));
        names[static_cast<std::size_t>(slot)] = name;
        *graph.add_initializer() = intTensor(name, value);
    }
    for (const std::string& name : names)
        node.add_input(name);
    for (int slot = 0; slot < c.outputs; ++slot) {
        node.add_output(caseOutputName(static_cast<std::size_t>(slot)));
        graph.add_output()->set_name(node.output(slot));
    }
    return model;
}

Result<BuiltNode> buildCase(const NodeCase& c) {
    const auto proto = buildCaseModel(c);
    if (!proto)
        return proto.error();
    auto model = Model::fromBytes(proto->SerializeAsString());
    if (!model)
        return model.error();
    BuiltNode built;
    built.model = std::move(*model);
    built.shapes = ShapeTable::build(built.model, {});
    if (!built.shapes->complaints().empty())
        return Error{built.shapes->complaints().front(), {}};
    const auto rules = RuleTable::build(built.model, built.shapes);
    built.rule = rules->of(built.model->graph().main().nodes.front());
    return built;
}

}  // namespace shardwright
