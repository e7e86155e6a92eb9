// SPDX-License-Identifier: Apache-2.0
#include "plan/call_writer.h"

#include "inference/index_product.h"
#include "plan/constants.h"
#include "plan/node_copy.h"
#include "plan/rewrites.h"
#include "plan/tiles.h"
#include "plan/weights.h"
#include "rules/call_model.h"
#include "rules/registry.h"

#include <algorithm>

namespace shardwright::lowering {

namespace {

CallRule derive(const Context& context, const NodeInfo& node) {
    // The rule itself was made with the right version; what it says of the inside is the same.
    const NodeContext seen{context.graph, context.shapes, node, context.opset};
    return deriveCall(seen, [&](NodeId id) { return &context.rule(id); });
}

bool isWhole(const std::vector<CallRule::Parts>& parts) {
    return std::all_of(parts.begin(), parts.end(), [](const CallRule::Parts& dim) {
        return std::all_of(dim.begin(), dim.end(),
                           [](const CallRule::Part& part) { return part.factor < 0; });
    });
}

}  // namespace

bool rewritesGraphs(const Context& context, const DraftStep& step) {
    return step.tile != nullptr && context.rule(step.node).fromInside &&
           std::any_of(step.cells->cuts.begin(), step.cells->cuts.end(),
                       [](const FactorCut& cut) { return cut.split(); });
}

void writeCall(const Context& context, GraphWriter& writer, const DraftStep& step,
               const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    const NodeContext seen{context.graph, context.shapes, context.graph.node(step.node),
                           context.opset};
    if (!needsOwnModel(seen))
        return CallWriter(context, writer, step).write(inputs, outputs);
    const Model& outer = *context.analysis.document.model;
    const auto proto = callAlone(outer, seen);
    const auto model = proto ? Model::fromBytes(proto->SerializeAsString(), outer.path())
                             : Result<std::shared_ptr<const Model>>(Error{"", {}});
    if (!model)
        context.refuse(step.node, "the function that it calls cannot be looked into");
    Analysis alone;
    alone.document = {*model, (*model)->annotations()};
    alone.options = context.analysis.options;
    alone.shapes = ShapeTable::build(*model, {});
    const auto& own = alone.options.registry;
    alone.rules = RuleTable::build(*model, alone.shapes, {}, own ? *own : Registry::standard());
    DraftStep there = step;
    there.node = (*model)->graph().main().nodes.front();
    const Context inside(alone, false, context.seeds.seed());
    CallWriter(inside, writer, there).write(inputs, outputs);
}

CallWriter::CallWriter(const Context& context, GraphWriter& writer, const DraftStep& step)
    : m_context(context), m_writer(writer), m_step(step), m_node(context.graph.node(step.node)),
      m_call(derive(context, m_node)) {}

void CallWriter::write(const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs) {
    if (m_node.function)
        return writeFunction(inputs, outputs);
    Names names;
    for (std::size_t i = 0; i < m_node.captures.size(); ++i)
        names[m_node.captures[i]] = inputs[m_node.inputs.size() + i];
    onnx::NodeProto node = copy(m_node, names);
    std::size_t body = 0;
    int next = m_writer.nextNumber();
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g() && body < m_node.bodies.size())
            *attribute.mutable_g() = writeBody(m_node.bodies[body++], names, next, next);
        body += static_cast<std::size_t>(attribute.graphs_size());
    }
    m_writer.skipNumbers(next);
    for (std::size_t slot = 0; slot < m_node.inputs.size(); ++slot)
        node.add_input(inputs[slot]);
    for (const std::string& output : outputs)
        node.add_output(output);
    m_writer.addNode(std::move(node));
}

void CallWriter::writeFunction(const std::vector<std::string>& inputs,
                               const std::vector<std::string>& outputs) {
    const GraphInfo& function = m_context.graph.graph(m_node.function);
    Names names;
    for (std::size_t i = 0; i < function.inputs.size(); ++i)  // Omitted ones have no name.
        names[function.inputs[i]] = i < inputs.size() ? inputs[i] : std::string();
    for (const NodeId id : function.order)
        for (const ValueId value : m_context.graph.node(id).outputs)
            if (value)
                names[value] = m_writer.fresh(m_context.name(value));
    writeNodes(m_writer, function, names);
    for (std::size_t i = 0; i < function.outputs.size() && i < outputs.size(); ++i)
        if (!outputs[i].empty())
            m_writer.add("Identity", {output(m_writer, function, i, names)}, outputs[i]);
}

onnx::GraphProto CallWriter::writeBody(GraphId id, Names names, int firstNumber, int& nextNumber) {
    const GraphInfo& body = m_context.graph.graph(id);
    GraphWriter writer(m_context, m_writer.reserved(), firstNumber);
    for (const ValueId input : body.inputs) {
        names[input] = m_context.name(input);
        describe(*writer.graph().add_input(), input, partsOf(input));
    }
    for (const NodeId node : body.order)
        for (const ValueId value : m_context.graph.node(node).outputs)
            if (value)
                names[value] = m_context.name(value);
    writeNodes(writer, body, names);
    for (std::size_t i = 0; i < body.outputs.size(); ++i) {
        const std::string name = output(writer, body, i, names);
        const auto wanted = m_call.outputs.find(id);
        const bool cut = wanted != m_call.outputs.end() && i < wanted->second.size() &&
                         !isWhole(wanted->second[i]);
        onnx::ValueInfoProto& info = *writer.graph().add_output();
        describe(info, body.outputs[i], cut ? &wanted->second[i] : partsOf(body.outputs[i]));
        info.set_name(name);
    }
    writer.graph().set_name(body.name);
    nextNumber = std::max(nextNumber, writer.nextNumber());
    return std::move(writer.graph());
}

void CallWriter::writeNodes(GraphWriter& writer, const GraphInfo& graph, Names& names) {
    for (const NodeId id : graph.order)
        writeNode(writer, m_context.graph.node(id), names);
}

void CallWriter::writeNode(GraphWriter& writer, const NodeInfo& node, Names& names) {
    const auto factors = m_call.factors.find(node.id);
    if (factors == m_call.factors.end())
        return writeWhole(writer, node, names);
    CellGrid cells;
    cells.rule = m_context.analysis.rules->of(node.id);
    std::vector<std::vector<std::int64_t>> classes;
    bool split = false;
    for (const Parts& parts : factors->second) {
        FactorCut cut;
        cut.components.clear();
        std::vector<std::int64_t> own{0};
        for (const CallRule::Part& part : parts) {
            if (part.factor < 0) {
                cut.components.push_back({part.size, 1});
                continue;
            }
            const auto f = static_cast<std::size_t>(part.factor);
            const FactorCut& outer = m_step.cells->cuts[f];
            cut.components.insert(cut.components.end(), outer.components.begin(),
                                  outer.components.end());
            std::vector<std::int64_t> product;
            for (const std::int64_t major : own)
                for (const std::int64_t minor : m_step.tile->classes[f])
                    product.push_back(major * outer.classes() + minor);
            own = std::move(product);
        }
        if (cut.components.empty())
            cut.components.push_back({1, 1});
        split = split || cut.split();
        cells.cuts.push_back(std::move(cut));
        classes.push_back(std::move(own));
    }
    // A shape that is read must be that of the whole tensor.
    const bool shapes =
        cells.rule->known && std::any_of(cells.rule->inputs.begin(), cells.rule->inputs.end(),
                                         [](const TensorMap& map) { return map.shapeOnly; });
    if (!split && !shapes)
        return writeWhole(writer, node, names);
    const Tile tile = tileOf(cells, std::move(classes));
    DraftStep step;
    step.device = m_step.device;
    step.node = node.id;
    step.tile = &tile;
    step.cells = &cells;
    std::vector<std::string> inputs, outputs;
    for (std::size_t slot = 0; slot < node.inputs.size() + node.captures.size(); ++slot) {
        const bool capture = slot >= node.inputs.size();
        const ValueId value =
            capture ? node.captures[slot - node.inputs.size()] : node.inputs[slot];
        const bool reads = value && (capture || readsInput(cells, tile, slot));
        inputs.push_back(reads ? read(writer, value, &tile.inputs[slot], names) : std::string());
    }
    for (const ValueId value : node.outputs)
        outputs.push_back(value ? names.at(value) : std::string());
    if (rewritesGraphs(m_context, step))
        writeCall(m_context, writer, step, inputs, outputs);
    else
        TileWriter(m_context, writer, step, std::move(inputs), std::move(outputs))
            .write(copy(node, names));
}

/// As it is. Where it reads shapes only, what it gives is known.
void CallWriter::writeWhole(GraphWriter& writer, const NodeInfo& node, Names& names) {
    if (writeConstants(writer, node, names))
        return;
    std::vector<std::string> inputs;
    for (const ValueId value : node.inputs)
        inputs.push_back(value ? read(writer, value, nullptr, names) : std::string());
    for (const ValueId value : node.captures)
        read(writer, value, nullptr, names);
    onnx::NodeProto proto = copy(node, names);
    for (std::string& input : inputs)
        proto.add_input(std::move(input));
    for (const ValueId value : node.outputs)
        proto.add_output(value ? names.at(value) : std::string());
    writer.addNode(std::move(proto));
}

bool CallWriter::writeConstants(GraphWriter& writer, const NodeInfo& node, Names& names) {
    for (const ValueId value : node.outputs) {
        const ConstantValue* constant = value ? m_context.shapes.constant(value) : nullptr;
        const bool writable = constant != nullptr && constant->reals.empty() &&
                              (constant->elementType == onnx::TensorProto::INT64 ||
                               constant->elementType == onnx::TensorProto::INT32 ||
                               constant->elementType == onnx::TensorProto::BOOL);
        if (value && !writable)
            return false;
    }
    for (const ValueId value : node.outputs) {
        if (!value)
            continue;
        const ConstantValue& constant = *m_context.shapes.constant(value);
        onnx::TensorProto tensor =
            integerTensor(constant.elementType, constant.dims, constant.ints);
        tensor.set_name(names.at(value));
        *writer.graph().add_initializer() = std::move(tensor);
    }
    return true;
}

/// The name of a value, or of the piece of it that somebody wants of a value that is whole.
std::string CallWriter::read(GraphWriter& writer, ValueId value, const Box* wanted, Names& names) {
    const bool free = m_call.free.count(value) > 0;
    const bool cut = free && wanted != nullptr && m_context.sized(value) &&
                     *wanted != Box::whole(m_context.info(value).dims);
    const ValueInfo& info = m_context.graph.value(value);
    auto named = names.find(value);
    if (named == names.end() && info.initializer != nullptr && free) {
        const auto folder = m_context.analysis.document.model->path().parent_path();
        onnx::TensorProto tensor = cutTensor(
            *info.initializer,
            cut ? *wanted
                : Box::whole({info.initializer->dims().begin(), info.initializer->dims().end()}),
            folder);
        const std::string name = cut || m_node.function ? writer.fresh(info.name) : info.name;
        tensor.set_name(name);
        *writer.graph().add_initializer() = std::move(tensor);
        if (!cut)
            names[value] = name;
        return name;
    }
    if (named == names.end())
        m_context.refuse(m_node.id, "`" + info.name + "` inside is not produced by anything");
    if (!cut)
        return named->second;
    const std::string piece = writer.fresh(info.name);
    writer.cut(named->second, Box::whole(m_context.info(value).dims), *wanted, piece);
    return piece;
}

std::string CallWriter::output(GraphWriter& writer, const GraphInfo& graph, std::size_t i,
                               Names& names) {
    const ValueId value = graph.outputs[i];
    const auto wanted = m_call.outputs.find(graph.id);
    if (wanted == m_call.outputs.end() || i >= wanted->second.size() || isWhole(wanted->second[i]))
        return read(writer, value, nullptr, names);
    const Box box = boxOf(wanted->second[i]);
    const std::string name = read(writer, value, &box, names);
    // A piece of an initializer is not made by a node, which ONNX Runtime asks of an output.
    return m_context.graph.value(value).kind == ValueKind::Initializer
               ? writer.add("Identity", {name})
               : name;
}

void CallWriter::describe(onnx::ValueInfoProto& info, ValueId value,
                          const std::vector<Parts>* parts) const {
    info.set_name(m_context.name(value));
    const TensorInfo& known = m_context.info(value);
    if (known.kind != TensorInfo::Kind::Tensor)
        return;
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(known.elementType);
    if (!known.concrete())
        return;
    const Box box = parts != nullptr ? boxOf(*parts) : Box::whole(known.dims);
    auto& shape = *type.mutable_shape();
    for (const std::int64_t dim : dimsOf(box))
        shape.add_dim()->set_dim_value(dim);
}

onnx::NodeProto CallWriter::copy(const NodeInfo& node, const Names& names) const {
    Renames renames;
    for (const ValueId value : node.captures) {
        const auto named = names.find(value);
        if (named != names.end() && named->second != m_context.name(value))
            renames[m_context.name(value)] = named->second;
    }
    return copyNode(*node.proto, m_context.analysis.document.model->path().parent_path(),
                    m_context.seeds, renames);
}

const std::vector<CallRule::Parts>* CallWriter::partsOf(ValueId value) const {
    const auto found = m_call.tensors.find(value);
    return found != m_call.tensors.end() ? &found->second : nullptr;
}

IndexSet CallWriter::elementsOf(const CallRule::Part& part) const {
    if (part.factor < 0)
        return IndexSet(0, part.size);
    const auto f = static_cast<std::size_t>(part.factor);
    IndexSet set;
    for (const std::int64_t c : m_step.tile->classes[f])
        set = set.unite(m_step.cells->cuts[f].elements(c));
    return set;
}

Box CallWriter::boxOf(const std::vector<Parts>& parts) const {
    Box box;
    for (const Parts& dim : parts) {
        IndexSet set(0, 1);
        for (const CallRule::Part& part : dim)
            set = indexProduct(set, elementsOf(part), part.size);
        box.dims.push_back(std::move(set));
    }
    return box;
}

}  // namespace shardwright::lowering
