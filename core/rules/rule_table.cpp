// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace shardwright {

namespace {

// --- opsets
// ----------------------------------------------------------------------------------------------------------

using Opsets = std::map<std::string, int, std::less<>>;

std::string_view plainDomain(std::string_view domain) {
    return domain == "ai.onnx" ? std::string_view() : domain;
}

template <class Imports>
Opsets opsetsOf(const Imports& imports, Opsets opsets = {}) {
    for (const onnx::OperatorSetIdProto& import : imports)
        opsets[std::string(plainDomain(import.domain()))] =
            static_cast<int>(std::clamp<std::int64_t>(import.version(), 0, 1 << 20));
    return opsets;
}

std::string functionName(const onnx::FunctionProto& function) {
    std::string name = function.domain() + "::" + function.name();
    return function.overload().empty() ? name : name + ":" + function.overload();
}

/// Versions of the operator sets that the nodes of each graph use: a function imports its own, a
/// body has its owner's.
std::vector<const Opsets*> opsetsByGraph(const Model& model,
                                         std::map<std::string, Opsets>& functions, Opsets& main) {
    main = opsetsOf(model.proto().opset_import(), {{"", 1}});
    for (const onnx::FunctionProto& function : model.proto().functions()) {
        const Opsets own = opsetsOf(function.opset_import(), main);
        functions.emplace(functionName(function), own);
        // The index names the functions of ai.onnx either way.
        functions.emplace(std::string(plainDomain(function.domain())) +
                              functionName(function).substr(function.domain().size()),
                          own);
    }
    const GraphIndex& graph = model.graph();
    std::vector<const Opsets*> opsets(graph.graphs.size(), nullptr);
    for (const GraphInfo& info : graph.graphs) {
        if (opsets[info.id.index()])
            continue;
        std::vector<GraphId> path{info.id};  // Up to a graph that is known, or has no owner.
        while (graph.graph(path.back()).kind == GraphKind::Body && graph.graph(path.back()).owner &&
               path.size() <= graph.graphs.size())
            path.push_back(graph.node(graph.graph(path.back()).owner).graph);
        const GraphInfo& top = graph.graph(path.back());
        const auto own =
            top.kind == GraphKind::Function ? functions.find(top.name) : functions.end();
        for (const GraphId id : path)
            opsets[id.index()] = own != functions.end() ? &own->second : &main;
    }
    return opsets;
}

// --- what makes two nodes equal
// --------------------------------------------------------------------------------------

class NodeKey {
public:
    void number(std::int64_t value) {
        m_bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void real(double value) { m_bytes.append(reinterpret_cast<const char*>(&value), sizeof value); }
    void text(std::string_view value) {
        number(static_cast<std::int64_t>(value.size()));
        m_bytes.append(value);
    }
    void numbers(const auto& values) {
        number(static_cast<std::int64_t>(values.size()));
        for (const std::int64_t value : values)
            number(value);
    }
    void tensor(const ShapeTable& shapes, ValueId id) {
        if (!id)
            return number(-2);
        const TensorInfo& info = shapes.of(id);
        number(info.elementType * 2 + (info.hasRank ? 1 : 0));
        numbers(info.dims);
    }
    /// Tensors and graphs are left out: no rule reads one.
    void attribute(const onnx::AttributeProto& attribute) {
        text(attribute.name());
        number(attribute.type());
        number(attribute.i());
        real(static_cast<double>(attribute.f()));
        text(attribute.s());
        numbers(attribute.ints());
        number(attribute.floats_size());
        for (const float value : attribute.floats())
            real(static_cast<double>(value));
        number(attribute.strings_size());
    }
    void constant(const NodeContext& context, int slot) {
        const ConstantValue* value = context.constantInput(static_cast<std::size_t>(slot));
        if (value == nullptr)
            return number(-2);
        number(value->elementType);
        numbers(value->dims);
        numbers(value->ints);
        number(static_cast<std::int64_t>(value->reals.size()));
        for (const double element : value->reals)
            real(element);
    }
    std::string take() { return std::move(m_bytes); }

private:
    std::string m_bytes;
};

std::string keyOf(const NodeContext& context, const OperatorEntry* entry) {
    NodeKey key;
    key.text(context.graph.opType(context.node.id));
    key.text(context.graph.domain(context.node.id));
    key.number(context.opset);
    key.number(context.node.function ? 1 : 0);
    key.number(static_cast<std::int64_t>(context.node.bodies.size()));
    for (const auto* slots :
         {&context.node.inputs, &context.node.captures, &context.node.outputs}) {
        key.number(static_cast<std::int64_t>(slots->size()));
        for (const ValueId id : *slots)
            key.tensor(context.shapes, id);
    }
    if (entry == nullptr)
        return key.take();
    if (entry->readsAttributes)
        for (const onnx::AttributeProto& attribute : context.node.proto->attribute())
            key.attribute(attribute);
    for (const int slot : entry->constantSlots)
        key.constant(context, slot);
    return key.take();
}

}  // namespace

std::shared_ptr<const RuleTable> RuleTable::build(std::shared_ptr<const Model> model,
                                                  std::shared_ptr<const ShapeTable> shapes,
                                                  const CancelToken& cancel) {
    const GraphIndex& graph = model->graph();
    const Registry& registry = Registry::standard();
    std::map<std::string, Opsets> functions;
    Opsets main;
    const auto opsets = opsetsByGraph(*model, functions, main);
    auto table = std::make_shared<RuleTable>();
    table->m_rules.reserve(graph.nodes.size());
    std::unordered_map<std::string, RulePtr> known;
    for (const NodeInfo& node : graph.nodes) {
        if (cancel.cancelled())
            return nullptr;
        const std::string_view domain = graph.domain(node.id);
        const Opsets& imports = *opsets[node.graph.index()];
        const auto version = imports.find(domain);
        const NodeContext context{graph, *shapes, node,
                                  version == imports.end() ? 0 : version->second};
        const OperatorEntry* entry = registry.find(domain, graph.opType(node.id));
        if (std::string problem = obstacle(context, entry); !problem.empty()) {
            // May name a tensor of this node, so it is not shared, except where it is about the
            // operator.
            if (entry != nullptr) {
                table->m_rules.push_back(
                    std::make_shared<const Rule>(fallbackRule(context, std::move(problem))));
                continue;
            }
        }
        RulePtr& rule = known[keyOf(context, entry)];
        if (!rule)
            rule = std::make_shared<const Rule>(buildRule(context, registry));
        table->m_rules.push_back(rule);
    }
    return table;
}

}  // namespace shardwright
