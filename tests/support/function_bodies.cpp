// SPDX-License-Identifier: Apache-2.0
#include "support/function_bodies.h"

#include <onnx/defs/function.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <map>

namespace shardwright::test {

namespace {

int opsetOf(const onnx::ModelProto& model, const std::string& domain) {
    for (const auto& import : model.opset_import())
        if (import.domain() == domain)
            return static_cast<int>(import.version());
    return 1;
}

/// Types of tensors by name, as far as the graph says.
std::map<std::string, onnx::TypeProto> typesOf(const onnx::GraphProto& graph) {
    std::map<std::string, onnx::TypeProto> types;
    for (const auto* infos : {&graph.input(), &graph.value_info(), &graph.output()})
        for (const auto& info : *infos)
            types[info.name()] = info.type();
    for (const auto& tensor : graph.initializer()) {
        auto& type = *types[tensor.name()].mutable_tensor_type();
        type.set_elem_type(tensor.data_type());
        for (const std::int64_t dim : tensor.dims())
            type.mutable_shape()->add_dim()->set_dim_value(dim);
    }
    return types;
}

bool bodyOf(const onnx::NodeProto& node, const onnx::ModelProto& model,
            const std::map<std::string, onnx::TypeProto>& types, onnx::FunctionProto& body) {
    const int opset = opsetOf(model, node.domain());
    const auto* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), opset, node.domain());
    if (schema == nullptr)
        return false;
    if (const onnx::FunctionProto* known = schema->GetFunction(opset)) {
        body = *known;
        return true;
    }
    if (!schema->HasContextDependentFunction())
        return false;
    std::vector<onnx::TypeProto> inputs;
    for (const std::string& input : node.input()) {
        const auto known = types.find(input);
        inputs.push_back(known == types.end() ? onnx::TypeProto() : known->second);
    }
    const onnx::FunctionBodyBuildContextImpl context(node, inputs);
    return schema->BuildContextDependentFunction(context, body, opset);
}

/// The attribute that a node of the body takes from the caller.
const onnx::AttributeProto* given(const onnx::NodeProto& caller, const onnx::OpSchema& schema,
                                  const std::string& name) {
    for (const auto& attribute : caller.attribute())
        if (attribute.name() == name)
            return &attribute;
    const auto known = schema.attributes().find(name);
    return known != schema.attributes().end() && known->second.default_value.has_name()
               ? &known->second.default_value
               : nullptr;
}

void inlineBody(const onnx::NodeProto& caller, const onnx::FunctionProto& body,
                const onnx::OpSchema& schema, const std::string& prefix, onnx::GraphProto& graph) {
    std::map<std::string, std::string> names;
    for (int i = 0; i < body.input_size(); ++i)
        names[body.input(i)] = i < caller.input_size() ? caller.input(i) : "";
    for (int i = 0; i < body.output_size() && i < caller.output_size(); ++i)
        names[body.output(i)] = caller.output(i);
    const auto renamed = [&](const std::string& name) {
        const auto known = names.find(name);
        return name.empty() ? name : known != names.end() ? known->second : prefix + name;
    };
    for (const onnx::NodeProto& inner : body.node()) {
        onnx::NodeProto& node = *graph.add_node();
        node.set_op_type(inner.op_type());
        node.set_domain(inner.domain());
        node.set_name(prefix + std::to_string(graph.node_size()));
        for (const std::string& input : inner.input())
            node.add_input(renamed(input));
        for (const std::string& output : inner.output())
            node.add_output(renamed(output));
        for (const auto& attribute : inner.attribute()) {
            if (attribute.ref_attr_name().empty()) {
                *node.add_attribute() = attribute;
            } else if (const auto* value = given(caller, schema, attribute.ref_attr_name())) {
                auto& own = *node.add_attribute();
                own = *value;
                own.set_name(attribute.name());
            }
        }
    }
}

}  // namespace

std::string withBodies(std::string_view bytes) {
    onnx::ModelProto model;
    if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
        return std::string(bytes);
    const auto types = typesOf(model.graph());
    const auto nodes = model.graph().node();
    model.mutable_graph()->clear_node();
    for (const onnx::NodeProto& node : nodes) {
        onnx::FunctionProto body;
        if (!bodyOf(node, model, types, body)) {
            *model.mutable_graph()->add_node() = node;
            continue;
        }
        inlineBody(node, body,
                   *onnx::OpSchemaRegistry::Schema(node.op_type(), opsetOf(model, node.domain()),
                                                   node.domain()),
                   node.name() + "/body/", *model.mutable_graph());
        for (const auto& import : body.opset_import()) {
            bool known = false;
            for (const auto& own : model.opset_import())
                known = known || own.domain() == import.domain();
            if (!known)
                *model.add_opset_import() = import;
        }
    }
    return model.SerializeAsString();
}

namespace {

class BodyEngine : public KernelEngine {
public:
    explicit BodyEngine(std::unique_ptr<KernelEngine> engine) : m_engine(std::move(engine)) {}

    MemoryKind memory() const override { return m_engine->memory(); }
    Stream stream() const override { return m_engine->stream(); }
    std::shared_ptr<std::byte> allocate(std::size_t bytes) override {
        return m_engine->allocate(bytes);
    }
    Result<std::unique_ptr<KernelSession>> createSession(const SegmentSource& source) override {
        const std::string model = withBodies(source.modelBytes);
        SegmentSource other = source;
        other.modelBytes = model;
        return m_engine->createSession(other);
    }
    void copyRegion(const RegionCopy& copy, ConstBufferView source, std::byte* target) override {
        m_engine->copyRegion(copy, source, target);
    }
    void fillIdentity(ReduceKind kind, BufferView target) override {
        m_engine->fillIdentity(kind, target);
    }
    void accumulateRegion(ReduceKind kind, const RegionCopy& copy, ConstBufferView source,
                          BufferView accumulator) override {
        m_engine->accumulateRegion(kind, copy, source, accumulator);
    }
    void roundAccumulator(ConstBufferView accumulator, BufferView target) override {
        m_engine->roundAccumulator(accumulator, target);
    }
    Result<void> fromHost(const std::byte* source, BufferView target) override {
        return m_engine->fromHost(source, target);
    }
    Result<void> toHost(ConstBufferView source, std::byte* target) override {
        return m_engine->toHost(source, target);
    }
    Result<void> synchronize() override { return m_engine->synchronize(); }
    void terminate() override { m_engine->terminate(); }

private:
    std::unique_ptr<KernelEngine> m_engine;
};

}  // namespace

bool hasFunctionBody(const std::string& domain, const std::string& op, int opset) {
    const auto* schema = onnx::OpSchemaRegistry::Schema(op, opset, domain);
    return schema != nullptr && (schema->HasFunction() || schema->HasContextDependentFunction());
}

std::unique_ptr<KernelEngine> withFunctionBodies(std::unique_ptr<KernelEngine> engine) {
    return std::make_unique<BodyEngine>(std::move(engine));
}

}  // namespace shardwright::test
