// SPDX-License-Identifier: Apache-2.0
#include "rules/call_model.h"
#include "rules/call_rule.h"
#include "rules/registry.h"
#include "rules/validate.h"

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
        number(info.elementType);
        number(info.hasRank ? 1 : 0);
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

/// Graphs inside of nodes before the graphs of these nodes; functions that call themselves last.
std::vector<GraphId> innerFirst(const GraphIndex& graph) {
    std::vector<std::size_t> waits(graph.graphs.size(), 0);
    std::vector<std::vector<GraphId>> users(graph.graphs.size());
    for (const NodeInfo& node : graph.nodes)
        for (const GraphId inside : graphsInside(node)) {
            ++waits[node.graph.index()];
            users[inside.index()].push_back(node.graph);
        }
    std::vector<GraphId> order;
    for (const GraphInfo& info : graph.graphs)
        if (waits[info.id.index()] == 0)
            order.push_back(info.id);
    for (std::size_t i = 0; i < order.size(); ++i)
        for (const GraphId user : users[order[i].index()])
            if (--waits[user.index()] == 0)
                order.push_back(user);
    for (const GraphInfo& info : graph.graphs)
        if (waits[info.id.index()] > 0)
            order.push_back(info.id);
    return order;
}

/// Rules inside are looked up while those outside are made; bounds what runs inside each other when
/// a plan is written.
constexpr int kMaxDepth = 32;

/// Calls that are models of their own, in the model and inside of each other.
struct OwnModels {
    std::unordered_map<std::string, RulePtr> rules;  ///< By the bytes of the model.
    std::size_t nodes = 0, mostNodes = 0;            ///< Looked at; not functions that double.
    int nesting = 0;
};

class TableBuilder {
public:
    TableBuilder(const Model& model, const ShapeTable& shapes, const Registry& registry,
                 std::vector<RulePtr>& rules, OwnModels& ownModels)
        : m_model(model), m_graph(model.graph()), m_shapes(shapes), m_registry(registry),
          m_rules(rules), m_ownModels(ownModels), m_depths(m_graph.graphs.size(), 0) {}

    /// False: cancelled.
    bool run(const CancelToken& cancel) {
        m_cancel = cancel;
        std::map<std::string, Opsets> functions;
        Opsets main;
        m_opsets = opsetsByGraph(m_model, functions, main);
        m_rules.resize(m_graph.nodes.size());
        for (const GraphId id : innerFirst(m_graph))
            for (const NodeId node : m_graph.graph(id).nodes) {
                if (cancel.cancelled())
                    return false;
                m_rules[node.index()] = build(m_graph.node(node));
            }
        return true;
    }

private:
    RulePtr build(const NodeInfo& node) {
        const std::string_view domain = m_graph.domain(node.id);
        const Opsets& imports = *m_opsets[node.graph.index()];
        const auto version = imports.find(domain);
        const NodeContext context{m_graph, m_shapes, node,
                                  version == imports.end() ? 0 : version->second};
        const OperatorEntry* entry = m_registry.find(domain, m_graph.opType(node.id));
        const bool hasRule = entry != nullptr && (!node.function || entry->ofFunctions);
        if (!hasRule && runsGraphs(context))
            return buildCall(context);
        if (std::string problem = obstacle(context, entry); !problem.empty()) {
            // May name a tensor of this node, so it is not shared, except where it is about the
            // operator.
            if (entry != nullptr)
                return std::make_shared<const Rule>(fallbackRule(context, std::move(problem)));
        }
        RulePtr& rule = m_known[keyOf(context, entry)];
        if (!rule)
            rule = std::make_shared<const Rule>(buildRule(context, m_registry));
        return rule;
    }

    RulePtr buildCall(const NodeContext& context) {
        const RuleOfNode ruleOf = [this](NodeId id) { return m_rules[id.index()].get(); };
        std::string problem = callObstacle(context, ruleOf);
        int depth = 1;
        for (const GraphId id : graphsInside(context.node)) {
            depth = std::max(depth, m_depths[id.index()] + 1);
            if (problem.empty() && !sameOpsets(context.node.graph, id))
                problem = "the function imports other versions of operator sets";
        }
        int& own = m_depths[context.node.graph.index()];
        own = std::max(own, depth);
        if (problem.empty() && depth > kMaxDepth)
            problem = "there are more than " + std::to_string(kMaxDepth) +
                      " bodies and functions inside each other";
        if (!problem.empty())
            return std::make_shared<const Rule>(fallbackRule(context, std::move(problem)));
        if (needsOwnModel(context))
            return ruleAlone(context);
        Rule rule = deriveCall(context, ruleOf).rule;
        rule.fromInside = true;
        nameCall(context, rule);
        if (const std::string wrong = validateRule(rule, context); !wrong.empty())
            return std::make_shared<const Rule>(
                fallbackRule(context, "the rules inside do not fit together: " + wrong));
        return std::make_shared<const Rule>(std::move(rule));
    }

    /// Of a call on other shapes than other calls, or with attributes.
    RulePtr ruleAlone(const NodeContext& context) {
        const auto fallback = [&](const char* reason) {
            return std::make_shared<const Rule>(fallbackRule(context, reason));
        };
        const auto alone = callAlone(m_model, context);
        if (!alone)
            return fallback("the function takes a graph from its caller");
        const std::string bytes = alone->SerializeAsString();
        if (const auto known = m_ownModels.rules.find(bytes); known != m_ownModels.rules.end())
            return known->second;
        for (const onnx::FunctionProto& function : alone->functions())
            m_ownModels.nodes += static_cast<std::size_t>(function.node_size()) + 1;
        if (m_ownModels.nodes > m_ownModels.mostNodes || m_ownModels.nesting == kMaxDepth)
            return fallback("functions of this model would have to be looked into too often");
        const auto model = Model::fromBytes(bytes, m_model.path(), m_cancel);
        if (!model)
            return fallback("the function cannot be looked into");
        const auto shapes = ShapeTable::build(*model, {}, m_cancel);
        std::vector<RulePtr> rules;
        ++m_ownModels.nesting;
        const bool done =
            TableBuilder(**model, *shapes, m_registry, rules, m_ownModels).run(m_cancel);
        --m_ownModels.nesting;
        if (!done)
            return fallback("cancelled");
        const RulePtr rule = rules[(*model)->graph().main().nodes.front().index()];
        if (!validateRule(*rule, context).empty())
            return fallback("the rules inside do not fit together");
        return m_ownModels.rules.emplace(bytes, rule).first->second;
    }

    /// A node of the function means the same where it is called.
    bool sameOpsets(GraphId caller, GraphId inside) const {
        const Opsets &outer = *m_opsets[caller.index()], &inner = *m_opsets[inside.index()];
        return std::all_of(inner.begin(), inner.end(), [&](const auto& import) {
            const auto found = outer.find(import.first);
            return found == outer.end() || found->second == import.second;
        });
    }

    void nameCall(const NodeContext& context, Rule& rule) const {
        const std::string op(m_graph.opType(context.node.id));
        const std::string domain(m_graph.domain(context.node.id));
        rule.op = domain.empty() ? op : domain + "::" + op;
        rule.strictReason = context.node.function ? "proposal 0007 has no rule for functions"
                                                  : unsupportedInProposal(op);
    }

    const Model& m_model;
    const GraphIndex& m_graph;
    const ShapeTable& m_shapes;
    const Registry& m_registry;
    std::vector<RulePtr>& m_rules;
    OwnModels& m_ownModels;
    CancelToken m_cancel;
    std::vector<const Opsets*> m_opsets;
    std::vector<int> m_depths;  ///< By graph: of what runs inside of its nodes.
    std::unordered_map<std::string, RulePtr> m_known;
};

}  // namespace

std::shared_ptr<const RuleTable> RuleTable::build(std::shared_ptr<const Model> model,
                                                  std::shared_ptr<const ShapeTable> shapes,
                                                  const CancelToken& cancel) {
    return build(std::move(model), std::move(shapes), cancel, Registry::standard());
}

std::shared_ptr<const RuleTable> RuleTable::build(std::shared_ptr<const Model> model,
                                                  std::shared_ptr<const ShapeTable> shapes,
                                                  const CancelToken& cancel,
                                                  const Registry& registry) {
    auto table = std::make_shared<RuleTable>();
    OwnModels ownModels;
    ownModels.mostNodes = 16 * model->graph().nodes.size() + 100000;
    TableBuilder builder(*model, *shapes, registry, table->m_rules, ownModels);
    if (!builder.run(cancel))
        return nullptr;
    return table;
}

}  // namespace shardwright
