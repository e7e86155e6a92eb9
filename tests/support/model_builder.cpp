// SPDX-License-Identifier: Apache-2.0
#include "model_builder.h"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace shardwright::test {

namespace {

// A test whose data is wrong must not go on.
[[noreturn]] void fail(const std::string& message) {
    std::fprintf(stderr, "ModelBuilder: %s\n", message.c_str());
    std::abort();
}

void setType(onnx::ValueInfoProto& info, const std::string& name, const Shape& shape, int type) {
    info.set_name(name);
    auto* tensor = info.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
    for (const Dim& dim : shape) {
        auto* out = tensor->mutable_shape()->add_dim();
        if (!dim.symbol.empty())
            out->set_dim_param(dim.symbol);
        else if (dim.size >= 0)
            out->set_dim_value(dim.size);
    }
}

/// The same numbers with every library and compiler: std::normal_distribution does not promise
/// that.
class Random {
public:
    explicit Random(const std::string& name) {
        for (const char c : name)
            m_state = (m_state ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    }
    std::uint32_t next() {
        m_state = m_state * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<std::uint32_t>(m_state >> 33);
    }
    double real() { return next() / 2147483648.0 - 0.5; }

private:
    std::uint64_t m_state = 14695981039346656037ull;
};

std::uint16_t halfBits(float value, bool brain) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (brain)
        return static_cast<std::uint16_t>(bits >> 16);
    const std::uint32_t sign = (bits >> 16) & 0x8000u;
    const int exponent = static_cast<int>((bits >> 23) & 0xff) - 112;
    if (exponent <= 0)
        return static_cast<std::uint16_t>(sign);
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(exponent) << 10 |
                                      ((bits >> 13) & 0x3ff));
}

template <class T>
void append(std::string& bytes, T value) {
    char buffer[sizeof(T)];
    std::memcpy(buffer, &value, sizeof(T));
    bytes.append(buffer, sizeof(T));
}

void appendRandom(std::string& bytes, Random& random, int type) {
    using T = onnx::TensorProto;
    switch (type) {
        case T::FLOAT: return append(bytes, static_cast<float>(random.real()));
        case T::DOUBLE: return append(bytes, random.real());
        case T::FLOAT16: return append(bytes, halfBits(static_cast<float>(random.real()), false));
        case T::BFLOAT16: return append(bytes, halfBits(static_cast<float>(random.real()), true));
        case T::INT64: return append(bytes, static_cast<std::int64_t>(random.next() % 4));
        case T::INT32: return append(bytes, static_cast<std::int32_t>(random.next() % 4));
        case T::INT8:
        case T::UINT8: return append(bytes, static_cast<std::uint8_t>(random.next() % 100));
        case T::BOOL: return append(bytes, static_cast<std::uint8_t>(random.next() % 2));
        default: fail("no random elements of type " + std::to_string(type));
    }
}

}  // namespace

Attribute::Attribute(const char* name, onnx::AttributeProto::AttributeType type) {
    proto.set_name(name);
    proto.set_type(type);
}

Attribute::Attribute(const char* name, const char* value) : Attribute(name, std::string(value)) {}

Attribute::Attribute(const char* name, const std::string& value)
    : Attribute(name, onnx::AttributeProto::STRING) {
    proto.set_s(value);
}

Attribute::Attribute(const char* name, std::initializer_list<std::int64_t> values)
    : Attribute(name, std::vector<std::int64_t>(values)) {}

Attribute::Attribute(const char* name, const std::vector<std::int64_t>& values)
    : Attribute(name, onnx::AttributeProto::INTS) {
    proto.mutable_ints()->Add(values.begin(), values.end());
}

Attribute::Attribute(const char* name, onnx::TensorProto value)
    : Attribute(name, onnx::AttributeProto::TENSOR) {
    *proto.mutable_t() = std::move(value);
}

Attribute::Attribute(const char* name, onnx::GraphProto value)
    : Attribute(name, onnx::AttributeProto::GRAPH) {
    *proto.mutable_g() = std::move(value);
}

Attribute Attribute::strings(const char* name, const std::vector<std::string>& values) {
    Attribute attribute(name, onnx::AttributeProto::STRINGS);
    for (const std::string& value : values)
        attribute.proto.add_strings(value);
    return attribute;
}

Attribute Attribute::floats(const char* name, const std::vector<float>& values) {
    Attribute attribute(name, onnx::AttributeProto::FLOATS);
    attribute.proto.mutable_floats()->Add(values.begin(), values.end());
    return attribute;
}

Attribute Attribute::reference(const char* name, const char* ref,
                               onnx::AttributeProto::AttributeType type) {
    Attribute attribute(name, type);
    attribute.proto.set_ref_attr_name(ref);
    return attribute;
}

ModelBuilder::ModelBuilder(int opset) {
    m_model.set_ir_version(10);
    m_model.mutable_graph()->set_name("main");
    this->opset("", opset);
}

ModelBuilder& ModelBuilder::input(const std::string& name, const Shape& shape, int type) {
    setType(*m_model.mutable_graph()->add_input(), name, shape, type);
    return *this;
}

ModelBuilder& ModelBuilder::inputOfUnknownShape(const std::string& name, int type) {
    auto* info = m_model.mutable_graph()->add_input();
    info->set_name(name);
    info->mutable_type()->mutable_tensor_type()->set_elem_type(type);
    return *this;
}

ModelBuilder& ModelBuilder::output(const std::string& name, const Shape& shape, int type) {
    setType(*m_model.mutable_graph()->add_output(), name, shape, type);
    return *this;
}

ModelBuilder& ModelBuilder::output(const std::string& name) {
    m_model.mutable_graph()->add_output()->set_name(name);
    return *this;
}

ModelBuilder& ModelBuilder::valueInfo(const std::string& name, const Shape& shape, int type) {
    setType(*m_model.mutable_graph()->add_value_info(), name, shape, type);
    return *this;
}

ModelBuilder& ModelBuilder::weight(const std::string& name, const std::vector<std::int64_t>& dims,
                                   int type) {
    return initializer(randomTensor(name, dims, type));
}

ModelBuilder& ModelBuilder::ints(const std::string& name, const std::vector<std::int64_t>& values) {
    return initializer(intTensor(name, {static_cast<std::int64_t>(values.size())}, values));
}

ModelBuilder& ModelBuilder::scalar(const std::string& name, std::int64_t value) {
    return initializer(intTensor(name, {}, {value}));
}

ModelBuilder& ModelBuilder::real(const std::string& name, float value) {
    onnx::TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_float_data(value);
    return initializer(std::move(tensor));
}

ModelBuilder& ModelBuilder::initializer(onnx::TensorProto tensor) {
    *m_model.mutable_graph()->add_initializer() = std::move(tensor);
    return *this;
}

ModelBuilder& ModelBuilder::externalWeight(const std::string& name,
                                           const std::vector<std::int64_t>& dims,
                                           const std::string& location, std::int64_t offset,
                                           std::int64_t length) {
    onnx::TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.mutable_dims()->Add(dims.begin(), dims.end());
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto entry = [&](const char* key, const std::string& value) {
        auto* pair = tensor.add_external_data();
        pair->set_key(key);
        pair->set_value(value);
    };
    entry("location", location);
    entry("offset", std::to_string(offset));
    if (length >= 0)
        entry("length", std::to_string(length));
    return initializer(std::move(tensor));
}

ModelBuilder& ModelBuilder::op(const std::string& type, const std::vector<std::string>& inputs,
                               const std::vector<std::string>& outputs, const std::string& name,
                               const std::vector<Attribute>& attributes,
                               const std::string& domain) {
    auto* node = m_model.mutable_graph()->add_node();
    node->set_op_type(type);
    for (const std::string& input : inputs)
        node->add_input(input);
    for (const std::string& output : outputs)
        node->add_output(output);
    if (!name.empty())
        node->set_name(name);
    if (!domain.empty())
        node->set_domain(domain);
    for (const Attribute& attribute : attributes)
        *node->add_attribute() = attribute.proto;
    return *this;
}

onnx::NodeProto& ModelBuilder::lastNode() {
    auto* graph = m_model.mutable_graph();
    if (graph->node_size() == 0)
        fail("there is no node yet");
    return *graph->mutable_node(graph->node_size() - 1);
}

ModelBuilder& ModelBuilder::nodeMetadata(const std::string& key, const std::string& value) {
    auto* entry = lastNode().add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
    return *this;
}

ModelBuilder& ModelBuilder::overload(const std::string& overload) {
    lastNode().set_overload(overload);
    return *this;
}

ModelBuilder& ModelBuilder::annotate(onnx::NodeDeviceConfigurationProto annotation) {
    *lastNode().add_device_configurations() = std::move(annotation);
    return *this;
}

ModelBuilder& ModelBuilder::function(const std::string& domain, const std::string& name,
                                     const ModelBuilder& body, const std::string& overload,
                                     const std::vector<std::string>& attributes) {
    auto* function = m_model.add_functions();
    function->set_domain(domain);
    function->set_name(name);
    if (!overload.empty())
        function->set_overload(overload);
    const onnx::GraphProto& graph = body.m_model.graph();
    for (const auto& input : graph.input())
        function->add_input(input.name());
    for (const auto& output : graph.output())
        function->add_output(output.name());
    for (const std::string& attribute : attributes)
        function->add_attribute(attribute);
    *function->mutable_node() = graph.node();
    *function->mutable_opset_import() = body.m_model.opset_import();
    return opset(domain, 1);
}

ModelBuilder& ModelBuilder::opset(const std::string& domain, int version) {
    for (auto& import : *m_model.mutable_opset_import()) {
        if (import.domain() == domain) {
            import.set_version(version);
            return *this;
        }
    }
    auto* import = m_model.add_opset_import();
    import->set_domain(domain);
    import->set_version(version);
    return *this;
}

ModelBuilder& ModelBuilder::irVersion(int version) {
    m_model.set_ir_version(version);
    return *this;
}

ModelBuilder& ModelBuilder::metadata(const std::string& key, const std::string& value) {
    auto* entry = m_model.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
    return *this;
}

ModelBuilder& ModelBuilder::configuration(const std::string& name, int devices,
                                          const std::vector<std::string>& names) {
    auto* configuration = m_model.add_configuration();
    configuration->set_name(name);
    configuration->set_num_devices(devices);
    for (const std::string& device : names)
        configuration->add_device(device);
    return *this;
}

onnx::GraphProto ModelBuilder::graph(const std::string& name) const {
    onnx::GraphProto graph = m_model.graph();
    graph.set_name(name);
    return graph;
}

std::string ModelBuilder::bytes() const {
    return m_model.SerializeAsString();
}

std::shared_ptr<const Model> ModelBuilder::model() const {
    auto result = Model::fromBytes(bytes());
    if (!result)
        fail(result.error().text());
    return std::move(result).value();
}

Document ModelBuilder::document() const {
    auto loaded = model();
    Annotations annotations = loaded->annotations();
    return {std::move(loaded), std::move(annotations)};
}

onnx::TensorProto randomTensor(const std::string& name, const std::vector<std::int64_t>& dims,
                               int type) {
    onnx::TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(type);
    tensor.mutable_dims()->Add(dims.begin(), dims.end());
    std::int64_t count = 1;
    for (const std::int64_t dim : dims)
        count *= dim;
    Random random(name);
    std::string bytes;
    for (std::int64_t i = 0; i < count; ++i)
        appendRandom(bytes, random, type);
    tensor.set_raw_data(std::move(bytes));
    return tensor;
}

onnx::TensorProto intTensor(const std::string& name, const std::vector<std::int64_t>& dims,
                            const std::vector<std::int64_t>& values) {
    onnx::TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.mutable_dims()->Add(dims.begin(), dims.end());
    tensor.mutable_int64_data()->Add(values.begin(), values.end());
    return tensor;
}

NodeId nodeNamed(const GraphIndex& graph, const std::string& name) {
    for (const NodeInfo& node : graph.nodes) {
        if (node.proto->name() == name)
            return node.id;
    }
    for (const NodeInfo& node : graph.nodes) {
        for (const std::string& output : node.proto->output()) {
            if (output == name)
                return node.id;
        }
    }
    fail("no node '" + name + "'");
}

ValueId valueNamed(const GraphIndex& graph, const std::string& name) {
    for (const GraphInfo& info : graph.graphs) {
        if (const ValueId id = graph.findValue(info.id, name))
            return id;
    }
    fail("no value '" + name + "'");
}

}  // namespace shardwright::test
