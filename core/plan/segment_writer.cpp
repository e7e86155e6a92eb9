// SPDX-License-Identifier: Apache-2.0
#include "plan/segment_writer.h"

#include "model/shapes.h"
#include "model/tensor_bytes.h"
#include "plan/call_writer.h"
#include "plan/node_copy.h"
#include "plan/rewrites.h"
#include "plan/weights.h"

#include <algorithm>
#include <limits>

namespace shardwright::lowering {

namespace {

// ONNX Runtime 1.32 knows IR versions up to its own onnx release; segments need nothing newer than
// 11, and functions need at least 8.
constexpr std::int64_t kLowestIr = 8, kHighestIr = 11;
/// Smaller tensors are written into the model: ONNX Runtime reads shapes and the like while it
/// loads.
constexpr std::int64_t kInsideBytes = 4096;
constexpr std::int64_t kHelperOpset = 17;  ///< For models without nodes of the default domain.

}  // namespace

onnx::ModelProto emptySegment(const onnx::ModelProto& model) {
    onnx::ModelProto segment;
    segment.set_ir_version(std::clamp<std::int64_t>(model.ir_version(), kLowestIr, kHighestIr));
    segment.set_producer_name("shardwright");
    bool hasDefault = false;
    for (const auto& import : model.opset_import()) {
        *segment.add_opset_import() = import;
        hasDefault = hasDefault || import.domain().empty() || import.domain() == "ai.onnx";
    }
    if (!hasDefault)
        segment.add_opset_import()->set_version(kHelperOpset);
    return segment;
}

void SegmentWriter::write(int index) {
    const DraftStep& step = m_frame.draft.steps[static_cast<std::size_t>(index)];
    if (step.node && (m_nodes.empty() || m_nodes.back() != step.node))
        m_nodes.push_back(step.node);
    switch (step.kind) {
        case DraftStep::Kind::Node: writeNode(step); break;
        case DraftStep::Kind::Cut:
            m_writer.cut(read(step.inputs[0]), local(step.inputs[0]).box,
                         local(step.outputs[0]).box, local(step.outputs[0]).name);
            break;
        case DraftStep::Kind::Unary:
            m_writer.add(step.op, {read(step.inputs[0])}, local(step.outputs[0]).name);
            break;
        case DraftStep::Kind::Copy:
        case DraftStep::Kind::Exchange: break;
    }
    for (const int output : step.outputs) {
        if (output < 0)
            continue;
        m_known.insert(output);
        if (local(output).tensor >= 0)
            m_outputs.push_back(output);
    }
}

std::string SegmentWriter::read(int id) {
    if (id < 0)
        return {};
    const DraftLocal& from = local(id);
    if (!m_known.insert(id).second)
        return from.name;
    if (from.origin == DraftLocal::Origin::Constant)
        embed(from);
    else
        m_inputs.push_back(id);
    return from.name;
}

int WeightTable::use(const onnx::TensorProto& tensor, const Box& box) {
    std::vector<int>& known = m_byTensor[&tensor];
    for (const int index : known)
        if (m_weights[static_cast<std::size_t>(index)].box == box)
            return ++m_weights[static_cast<std::size_t>(index)].uses, index;
    known.push_back(static_cast<int>(m_weights.size()));
    m_weights.push_back({&tensor, box, tensor.data_type(), dimsOf(box),
                         storageBytes(tensor.data_type(), box.count()), 1});
    return known.back();
}

namespace {

/// Whether a piece of a tensor stays in the model's file until a session is made.
bool staysInFile(const onnx::TensorProto& tensor, const Box& box) {
    return tensor.data_type() != onnx::TensorProto::STRING && elementBits(tensor.data_type()) > 0 &&
           box.dims.size() == static_cast<std::size_t>(tensor.dims_size()) &&
           elementCount(tensor) && storageBytes(tensor.data_type(), box.count()) > kInsideBytes;
}

/// An initializer whose elements are somewhere else.
onnx::TensorProto withoutElements(const Weight& weight) {
    onnx::TensorProto tensor;
    tensor.set_data_type(weight.elementType);
    for (const std::int64_t dim : weight.dims)
        tensor.add_dims(dim);
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    const std::pair<const char*, std::string> entries[] = {
        {"location", "weights"}, {"offset", "0"}, {"length", std::to_string(weight.bytes)}};
    for (const auto& [key, value] : entries) {
        auto& entry = *tensor.add_external_data();
        entry.set_key(key);
        entry.set_value(value);
    }
    return tensor;
}

}  // namespace

void SegmentWriter::embed(const DraftLocal& from) {
    onnx::TensorProto tensor;
    const onnx::TensorProto* constant = m_frame.constants.of(from.value);
    if (constant != nullptr && m_frame.constants.inModel(from.value) &&
        staysInFile(*constant, from.box)) {
        const int weight = m_frame.weights.use(*constant, from.box);
        m_weights.push_back({from.name, weight});
        tensor = withoutElements(m_frame.weights.at(weight));
    } else if (constant != nullptr) {
        tensor = cutTensor(*constant, from.box,
                           m_frame.context.analysis.document.model->path().parent_path());
    } else {
        // A piece without elements of any value.
        tensor.set_data_type(m_frame.context.info(from.value).elementType);
        for (const std::int64_t dim : dimsOf(from.box))
            tensor.add_dims(dim);
    }
    tensor.set_name(from.name);
    *m_writer.graph().add_initializer() = std::move(tensor);
}

void SegmentWriter::writeNode(const DraftStep& step) {
    const NodeInfo& node = m_frame.context.graph.node(step.node);
    std::vector<std::string> inputs, outputs, allNames;
    Renames renames;
    for (std::size_t slot = 0; slot < step.inputs.size(); ++slot) {
        const std::string name = read(step.inputs[slot]);
        allNames.push_back(name);
        if (slot < node.inputs.size()) {
            inputs.push_back(name);
            continue;
        }
        const std::string& outer = m_frame.context.name(node.captures[slot - node.inputs.size()]);
        if (name != outer)
            renames[outer] = name;
    }
    for (const int output : step.outputs)
        outputs.push_back(output >= 0 ? local(output).name : std::string());
    m_callsFunctions = m_callsFunctions || node.function || !node.bodies.empty();
    if (rewritesGraphs(m_frame.context, step)) {
        writeCall(m_frame.context, m_writer, step, allNames, outputs);
        return;
    }
    onnx::NodeProto copy =
        copyNode(*node.proto, m_frame.context.analysis.document.model->path().parent_path(),
                 m_frame.context.seeds, renames);
    if (step.tile == nullptr)
        writeWholeNode(step, std::move(copy), std::move(inputs), outputs);
    else
        TileWriter(m_frame.context, m_writer, step, std::move(inputs), std::move(outputs))
            .write(std::move(copy));
}

void SegmentWriter::writeWholeNode(const DraftStep& step, onnx::NodeProto node,
                                   std::vector<std::string> inputs,
                                   const std::vector<std::string>& outputs) {
    const NodeInfo& info = m_frame.context.graph.node(step.node);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot)
        node.add_input(info.inputs[slot] && step.inputs[slot] < 0
                           ? placeholder(m_frame.context, m_writer, step.node, slot)
                           : std::move(inputs[slot]));
    for (const std::string& output : outputs)
        node.add_output(output);
    m_writer.addNode(std::move(node));
}

void SegmentWriter::addValueInfo(onnx::ValueInfoProto& info, const DraftLocal& from) const {
    info.set_name(from.name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(m_frame.context.info(from.value).elementType);
    auto& shape = *type.mutable_shape();
    for (const std::int64_t dim : dimsOf(from.box))
        shape.add_dim()->set_dim_value(dim);
}

Segment SegmentWriter::finish(const std::string& place) {
    onnx::ModelProto model = m_frame.empty;
    onnx::GraphProto& graph = m_writer.graph();
    graph.set_name(place);
    Segment segment;
    for (const int input : m_inputs) {
        addValueInfo(*graph.add_input(), local(input));
        segment.inputs.push_back(local(input).tensor);
    }
    for (const int output : m_outputs) {
        addValueInfo(*graph.add_output(), local(output));
        segment.outputs.push_back(local(output).tensor);
    }
    model.mutable_graph()->Swap(&graph);
    if (m_callsFunctions)
        for (const onnx::FunctionProto& function : m_frame.functions)
            *model.add_functions() = function;
    segment.weights = std::move(m_weights);
    if (model.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
        throw Refusal{"it is over 2 GiB without its weights, more than one ONNX file can hold",
                      place};
    segment.modelBytes = model.SerializeAsString();
    segment.nodes = std::move(m_nodes);
    return segment;
}

}  // namespace shardwright::lowering
