// SPDX-License-Identifier: Apache-2.0
#include "run/bfloat16_segments.h"

#include "model/tensor_bytes.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <set>
#include <vector>

namespace shardwright {

namespace {

constexpr int kBFloat16 = onnx::TensorProto::BFLOAT16, kFloat = onnx::TensorProto::FLOAT;

/// Attributes whose value is an element type.
bool namesType(const onnx::AttributeProto& attribute) {
    static const std::set<std::string> names{"to", "dtype", "output_dtype", "stash_type"};
    return attribute.type() == onnx::AttributeProto::INT && names.contains(attribute.name());
}

class Widener {
public:
    /// False: some tensor cannot be read.
    bool run(onnx::ModelProto& model) {
        for (onnx::FunctionProto& function : *model.mutable_functions()) {
            widen(*function.mutable_node());
            for (onnx::AttributeProto& attribute : *function.mutable_attribute_proto())
                widen(attribute);
            for (onnx::ValueInfoProto& value : *function.mutable_value_info())
                widen(*value.mutable_type());
        }
        m_stack.push_back(model.mutable_graph());
        while (!m_stack.empty() && m_ok) {
            onnx::GraphProto& graph = *m_stack.back();
            m_stack.pop_back();
            widen(graph);
        }
        return m_ok;
    }
    bool found() const { return m_found; }

private:
    void widen(onnx::GraphProto& graph) {
        for (auto* values :
             {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()})
            for (onnx::ValueInfoProto& value : *values)
                widen(*value.mutable_type());
        for (onnx::TensorProto& tensor : *graph.mutable_initializer())
            widen(tensor);
        for (onnx::SparseTensorProto& tensor : *graph.mutable_sparse_initializer())
            widen(*tensor.mutable_values());
        widen(*graph.mutable_node());
    }

    void widen(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
        for (onnx::NodeProto& node : nodes)
            for (onnx::AttributeProto& attribute : *node.mutable_attribute())
                widen(attribute);
    }

    void widen(onnx::AttributeProto& attribute) {
        if (namesType(attribute) && attribute.i() == kBFloat16) {
            attribute.set_i(kFloat);
            m_found = true;
        }
        if (attribute.has_t())
            widen(*attribute.mutable_t());
        for (onnx::TensorProto& tensor : *attribute.mutable_tensors())
            widen(tensor);
        if (attribute.has_tp())
            widen(*attribute.mutable_tp());
        // Bodies wait on a stack: files decide how deep they nest.
        if (attribute.has_g())
            m_stack.push_back(attribute.mutable_g());
        for (onnx::GraphProto& graph : *attribute.mutable_graphs())
            m_stack.push_back(&graph);
    }

    void widen(onnx::TypeProto& type) {
        onnx::TypeProto* inner = &type;
        while (inner->has_sequence_type() || inner->has_optional_type())
            inner = inner->has_sequence_type()
                        ? inner->mutable_sequence_type()->mutable_elem_type()
                        : inner->mutable_optional_type()->mutable_elem_type();
        if (inner->has_tensor_type() && inner->tensor_type().elem_type() == kBFloat16) {
            inner->mutable_tensor_type()->set_elem_type(kFloat);
            m_found = true;
        }
    }

    void widen(onnx::TensorProto& tensor) {
        if (tensor.data_type() != kBFloat16)
            return;
        m_found = true;
        if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
            tensor.set_data_type(kFloat);  // Its elements come later, and are widened then.
            return;
        }
        const auto narrow = tensorBytes(tensor, {});
        if (!narrow) {
            m_ok = false;
            return;
        }
        std::string wide;
        wide.reserve(narrow->size() * 2);
        for (std::size_t i = 0; i + 1 < narrow->size(); i += 2) {
            // The upper half of a float; both are little-endian here.
            wide.append(2, '\0');
            wide.append(*narrow, i, 2);
        }
        onnx::TensorProto result;
        result.set_name(tensor.name());
        *result.mutable_dims() = tensor.dims();
        result.set_data_type(kFloat);
        result.set_raw_data(std::move(wide));
        tensor = std::move(result);
    }

    std::vector<onnx::GraphProto*> m_stack;
    bool m_found = false, m_ok = true;
};

std::vector<std::string>
namesOfType(const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& values) {
    std::vector<std::string> names;
    for (const onnx::ValueInfoProto& value : values)
        if (value.type().has_tensor_type() && value.type().tensor_type().elem_type() == kBFloat16)
            names.push_back(value.name());
    return names;
}

/// Puts a Cast between a port of the graph and what the nodes see. The port gets a new name, since
/// bodies may read the old one.
class Ports {
public:
    std::map<std::string, std::string> renamed;

    explicit Ports(const onnx::GraphProto& graph) {
        for (const auto& value : graph.input())
            m_taken.insert(value.name());
        for (const auto& node : graph.node())
            m_taken.insert(node.output().begin(), node.output().end());
        for (const auto& tensor : graph.initializer())
            m_taken.insert(tensor.name());
    }

    void castInput(onnx::ValueInfoProto& port, std::vector<onnx::NodeProto>& casts) {
        const std::string name = port.name(), outside = free(name);
        renamed[name] = outside;
        port.set_name(outside);
        port.mutable_type()->mutable_tensor_type()->set_elem_type(kBFloat16);
        casts.push_back(cast(outside, name, kFloat));
    }

    void castOutput(onnx::ValueInfoProto& port, std::vector<onnx::NodeProto>& casts) {
        const std::string name = port.name(), outside = free(name);
        renamed[name] = outside;
        port.set_name(outside);
        port.mutable_type()->mutable_tensor_type()->set_elem_type(kBFloat16);
        casts.push_back(cast(name, outside, kBFloat16));
    }

private:
    std::string free(const std::string& name) {
        std::string candidate = name + ".bfloat16";
        for (int number = 2; !m_taken.insert(candidate).second; ++number)
            candidate = name + ".bfloat16_" + std::to_string(number);
        return candidate;
    }

    static onnx::NodeProto cast(const std::string& from, const std::string& to, int type) {
        onnx::NodeProto node;
        node.set_op_type("Cast");
        node.set_name(to + ".cast");
        node.add_input(from);
        node.add_output(to);
        auto* attribute = node.add_attribute();
        attribute->set_name("to");
        attribute->set_type(onnx::AttributeProto::INT);
        attribute->set_i(type);
        return node;
    }

    std::set<std::string> m_taken;
};

}  // namespace

std::optional<WidenedSegment> inFloat32(const std::string& segment) {
    onnx::ModelProto model;
    if (!model.ParseFromString(segment))
        return std::nullopt;
    onnx::GraphProto& graph = *model.mutable_graph();
    const auto inputs = namesOfType(graph.input()), outputs = namesOfType(graph.output());
    Widener widener;
    if (!widener.run(model) || !widener.found())
        return std::nullopt;
    Ports ports(graph);
    std::vector<onnx::NodeProto> before, after;
    for (onnx::ValueInfoProto& input : *graph.mutable_input())
        if (std::find(inputs.begin(), inputs.end(), input.name()) != inputs.end())
            ports.castInput(input, before);
    for (onnx::ValueInfoProto& output : *graph.mutable_output())
        if (std::find(outputs.begin(), outputs.end(), output.name()) != outputs.end())
            ports.castOutput(output, after);
    before.insert(before.end(), graph.node().begin(), graph.node().end());
    before.insert(before.end(), after.begin(), after.end());
    graph.mutable_node()->Clear();
    graph.mutable_node()->Add(before.begin(), before.end());
    return WidenedSegment{model.SerializeAsString(), std::move(ports.renamed)};
}

}  // namespace shardwright
