// SPDX-License-Identifier: Apache-2.0
#include "model/shape_pass.h"

#include "model/extra_inference.h"
#include "model/schema_context.h"

#include <algorithm>
#include <exception>

namespace shardwright {

namespace {

using google::protobuf::Arena;

/// Reals matter to shapes only as scales and bounds; long lists of them are weights.
constexpr std::int64_t kMaxRealInitializer = 256;
constexpr std::size_t kMaxComplaints = 100;
constexpr std::size_t kCancelInterval = 256;

std::optional<std::vector<std::int64_t>> concreteDims(const onnx::TypeProto* type) {
    if (type == nullptr || !type->has_tensor_type() || !type->tensor_type().has_shape())
        return std::nullopt;
    std::vector<std::int64_t> dims;
    for (const auto& dimension : type->tensor_type().shape().dim()) {
        if (!dimension.has_dim_value() || dimension.dim_value() < 0)
            return std::nullopt;
        dims.push_back(dimension.dim_value());
    }
    return dims;
}

void setType(onnx::TypeProto& type, std::int32_t elementType,
             const std::vector<std::int64_t>& dims) {
    auto* tensor = type.mutable_tensor_type();
    tensor->set_elem_type(elementType);
    tensor->mutable_shape()->clear_dim();
    for (const std::int64_t dim : dims)
        tensor->mutable_shape()->add_dim()->set_dim_value(dim);
}

/// libonnx puts its context on further lines.
std::string firstLine(std::string text) {
    text = text.substr(0, text.find('\n'));
    for (const char* prefix : {"[ShapeInferenceError] ", "[TypeInferenceError] "}) {
        if (text.starts_with(prefix))
            text = text.substr(std::string_view(prefix).size());
    }
    return text;
}

}  // namespace

ShapePass::ShapePass(const Model& model, const DeclaredTypes& declared,
                     const DimensionBinder& binder, Unknown unknown, CancelToken cancel)
    : m_model(model), m_index(model.graph()), m_declared(declared), m_binder(binder),
      m_unknown(unknown), m_cancel(std::move(cancel)), m_states(m_index.values.size()),
      m_sources(listGraphs(model.proto())), m_ran(m_index.graphs.size(), false),
      m_active(m_index.graphs.size(), false), m_functionValues(m_index.graphs.size()),
      // Enough for each body a few times; not for functions that double at every level.
      m_allowedVisits(16 * m_index.nodes.size() + 100000) {}

void ShapePass::run() {
    prepare();
    runGraph(GraphId(0));
    runLeftOver();
    restoreSummaries();
}

void ShapePass::prepare() {
    m_opsets.resize(m_sources.size());
    for (std::size_t i = 0; i < m_sources.size(); ++i) {
        const bool isRoot = !m_sources[i].owner;
        m_roots.push_back(isRoot ? GraphId(i) : m_roots[m_sources[i].parent.index()]);
        if (!isRoot)
            continue;
        const auto& imports = m_sources[i].function != nullptr
                                  ? m_sources[i].function->opset_import()
                                  : m_model.proto().opset_import();
        for (const auto& import : imports)
            m_opsets[i].emplace(
                import.domain() == "ai.onnx" ? std::string() : import.domain(),
                static_cast<int>(std::clamp<std::int64_t>(import.version(), 0, 1 << 20)));
    }
    for (const ValueInfo& value : m_index.values) {
        const GraphId root = m_roots[value.graph.index()];
        if (m_sources[root.index()].function != nullptr)
            m_functionValues[root.index()].push_back(value.id);
        // The default of an input counts as its value.
        if (value.kind == ValueKind::Initializer ||
            (value.initializer != nullptr && !m_binder.isGiven(value.name)))
            prepareInitializer(value.id);
    }
    for (const ValueId id : m_index.main().inputs) {
        if (const onnx::TypeProto* declared = m_declared.of(id)) {
            state(id).type = copyType(*declared);
            m_binder.bindInput(m_index.value(id).name, *state(id).type);
        }
    }
}

void ShapePass::prepareInitializer(ValueId id) {
    const onnx::TensorProto* tensor = m_index.value(id).initializer;
    if (tensor == nullptr)
        return;
    ValueState& known = state(id);
    known.type = newType();
    setType(*known.type, tensor->data_type(), {tensor->dims().begin(), tensor->dims().end()});
    known.constant = constantFromTensor(
        *tensor, isIntegral(tensor->data_type()) ? ShapeTable::kMaxFolded : kMaxRealInitializer);
    // Only what is known to be well-formed: libonnx would throw at each use of the others.
    if (known.constant)
        known.tensor = tensor;
}

onnx::TypeProto* ShapePass::copyType(const onnx::TypeProto& type) {
    onnx::TypeProto* copy = newType();
    *copy = type;
    return copy;
}

void ShapePass::runGraph(GraphId id) {
    m_ran[id.index()] = true;
    std::size_t count = 0;
    for (const NodeId node : m_index.graph(id).order) {
        if (++count % kCancelInterval == 0 && m_cancel.cancelled())
            return;
        inferNode(m_index.node(node));
    }
    for (const NodeId node : m_index.graph(id).cyclic) {
        for (const ValueId output : m_index.node(node).outputs) {
            if (output) {
                state(output).type = newType();
                finishType(m_index.node(node), output);
            }
        }
    }
}

void ShapePass::inferNode(const NodeInfo& node) {
    ++m_visits;
    for (const ValueId output : node.outputs) {
        if (output) {
            state(output) = {};
            state(output).type = newType();
        }
    }
    if (node.function)
        callFunction(node);
    else
        inferFromSchema(node);
    for (const ValueId output : node.outputs) {
        if (output)
            finishType(node, output);
    }
    if (!node.function && !foldNode(node))
        propagate(node);
}

int ShapePass::opset(const NodeInfo& node) const {
    const auto& imports = m_opsets[m_roots[node.graph.index()].index()];
    const auto found = imports.find(std::string(m_index.domain(node.id)));
    return found != imports.end() ? found->second : 0;
}

void ShapePass::inferFromSchema(const NodeInfo& node) {
    const std::string domain(m_index.domain(node.id));
    const onnx::OpSchema* schema =
        onnx::OpSchemaRegistry::Schema(node.proto->op_type(), opset(node), domain);
    const bool known = schema != nullptr && schema->has_type_and_shape_inference_function();
    const onnx::InferenceFunction* extra =
        known ? nullptr : extraInference(domain, node.proto->op_type());
    if (!known && extra == nullptr)
        return;
    SchemaContext context(*this, node);
    try {
        known ? schema->GetTypeAndShapeInferenceFunction()(context) : (*extra)(context);
    } catch (const std::exception& error) {
        complain(node, firstLine(error.what()));
    }
    if (node.bodies.empty() || !domain.empty())
        return;
    if (node.proto->op_type() == "If")
        refineIf(node);
    else if (node.proto->op_type() == "Loop")
        refineLoop(node);
}

void ShapePass::finishType(const NodeInfo& node, ValueId output) {
    onnx::TypeProto& type = *state(output).type;
    if (const onnx::TypeProto* declared = m_declared.of(output)) {
        onnx::TypeProto* bound = copyType(*declared);
        m_binder.bind(*bound);
        const std::string contradiction = mergeDeclared(*bound, type);
        if (!contradiction.empty())
            complain(node, "its output '" + m_index.value(output).name + "' " + contradiction);
    }
    if (m_unknown == Unknown::Anonymous || !type.has_tensor_type() ||
        !type.tensor_type().has_shape())
        return;
    for (auto& dimension : *type.mutable_tensor_type()->mutable_shape()->mutable_dim()) {
        if (!dimension.has_dim_value() && dimension.dim_param().empty())
            dimension.set_dim_param("#" + std::to_string(m_symbols++));
    }
}

bool ShapePass::foldNode(const NodeInfo& node) {
    const std::string& op = node.proto->op_type();
    if (!m_index.domain(node.id).empty() || node.outputs.empty())
        return false;
    FoldNode request;
    for (const ValueId id : node.inputs) {
        const ConstantValue* constant = id ? of(id).constant.get() : nullptr;
        if (id && constant == nullptr && !foldsFromShape(op))
            return false;
        request.inputs.push_back(constant);
    }
    if (!canFold(op))
        return false;
    std::optional<std::vector<std::int64_t>> shape;
    if (foldsFromShape(op) && !node.inputs.empty() && node.inputs[0])
        shape = concreteDims(of(node.inputs[0]).type);
    request.op = op;
    request.opset = opset(node);
    request.outputs = node.outputs.size();
    request.shape = shape ? &*shape : nullptr;
    request.attribute = [&](const char* name) { return attribute(node, name); };
    FoldResult result = fold(request);
    if (result.size() > node.outputs.size() || result.empty())
        return false;
    for (std::size_t i = 0; i < result.size(); ++i) {
        if (node.outputs[i] && result[i])
            setConstant(node.outputs[i], std::move(result[i]));
    }
    return true;
}

void ShapePass::setConstant(ValueId id, ConstantRef constant) {
    ValueState& known = state(id);
    if (known.type == nullptr)
        known.type = newType();
    setType(*known.type, constant->elementType, constant->dims);
    auto* tensor = Arena::CreateMessage<onnx::TensorProto>(&m_arena);
    known.tensor = tensorFromConstant(*constant, *tensor) ? tensor : nullptr;
    known.constant = std::move(constant);
}

void ShapePass::propagate(const NodeInfo& node) {
    if (node.outputs.empty() || !node.outputs[0])
        return;
    const auto& type = state(node.outputs[0]).type->tensor_type();
    const bool isIndex = type.elem_type() == onnx::TensorProto::INT64 ||
                         type.elem_type() == onnx::TensorProto::INT32;
    if (!isIndex || (type.has_shape() && type.shape().dim_size() > 1))
        return;
    const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(
        node.proto->op_type(), opset(node), std::string(m_index.domain(node.id)));
    if (schema == nullptr || !schema->has_data_propagation_function())
        return;
    PropagationContext context(*this, node);
    try {
        schema->GetDataPropagationFunction()(context);
    } catch (const std::exception&) {
        // The inference function complained of the same already.
    }
    const onnx::TensorShapeProto* partial = state(node.outputs[0]).partial;
    if (partial == nullptr || !type.has_shape())
        return;
    auto constant = std::make_shared<ConstantValue>();
    constant->elementType = type.elem_type();
    for (const auto& dimension : partial->dim()) {
        if (!dimension.has_dim_value())
            return;
        constant->ints.push_back(dimension.dim_value());
    }
    if (type.shape().dim_size() == 1)
        constant->dims = {partial->dim_size()};
    else if (partial->dim_size() != 1)
        return;
    setConstant(node.outputs[0], std::move(constant));
}

const onnx::AttributeProto* ShapePass::attribute(const NodeInfo& node,
                                                 const std::string& name) const {
    for (const auto& attribute : node.proto->attribute()) {
        if (attribute.name() != name)
            continue;
        if (attribute.ref_attr_name().empty())
            return &attribute;
        if (m_attributes == nullptr)
            return nullptr;
        const auto found = m_attributes->find(attribute.ref_attr_name());
        return found != m_attributes->end() ? found->second : nullptr;
    }
    return nullptr;
}

void ShapePass::complain(const NodeInfo& node, const std::string& what) {
    if (m_quiet > 0)
        return;
    if (m_complaints.size() == kMaxComplaints)
        m_complaints.push_back("further complaints are left out");
    if (m_complaints.size() > kMaxComplaints)
        return;
    std::string place = node.proto->op_type() + "#" + std::to_string(node.index);
    if (!node.proto->name().empty())
        place += " " + node.proto->name();
    m_complaints.push_back(place + ": " + what);
}

}  // namespace shardwright
