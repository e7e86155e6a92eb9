// SPDX-License-Identifier: Apache-2.0
#include "support/rule_proof.h"

#include "check/proposals.h"
#include "model/tensor_bytes.h"
#include "plan/plan.h"
#include "rules/examples.h"
#include "rules/operator_list.h"
#include "run/inputs.h"
#include "run/verify.h"
#include "sharding/edit.h"
#include "support/function_bodies.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>

namespace shardwright::test {

namespace {

template <class Message>
bool parseFile(const std::filesystem::path& path, Message& message) {
    std::ifstream file(path, std::ios::binary);
    return file && message.ParseFromIstream(&file);
}

Result<Buffer> bufferOf(const onnx::TensorProto& tensor) {
    auto bytes = tensorBytes(tensor, {});
    if (!bytes)
        return bytes.error();
    auto buffer = Buffer::host(tensor.data_type(), {tensor.dims().begin(), tensor.dims().end()});
    if (!buffer)
        return buffer.error();
    std::memcpy(buffer->data(), bytes->data(), std::min(bytes->size(), buffer->bytes()));
    return buffer;
}

/// Names of the inputs whose values the operator's rule reads.
std::set<std::string> constantInputs(const onnx::GraphProto& graph) {
    const onnx::NodeProto& node = graph.node(0);
    const OperatorEntry* entry = Registry::standard().find(node.domain(), node.op_type());
    std::set<std::string> names;
    if (entry)
        for (const int slot : entry->constantSlots)
            if (slot < node.input_size())
                names.insert(node.input(slot));
    return names;
}

/// Of the domain of the model's only node.
int opsetAt(const Document& document) {
    const GraphIndex& graph = document.graph();
    const std::string_view domain = graph.domain(graph.main().nodes.front());
    for (const auto& import : document.model->proto().opset_import())
        if (import.domain() == domain || (domain.empty() && import.domain() == "ai.onnx"))
            return static_cast<int>(import.version());
    return 1;
}

}  // namespace

Result<ProofCase> readNodeTest(const std::filesystem::path& folder) {
    ProofCase result;
    result.name = folder.filename().string();
    onnx::ModelProto model;
    if (!parseFile(folder / "model.onnx", model) || model.graph().node_size() != 1)
        return Error{"no model of one node", folder.string()};
    const auto constants = constantInputs(model.graph());
    const auto inputs = model.graph().input();
    model.mutable_graph()->clear_input();
    for (int k = 0; k < inputs.size(); ++k) {
        onnx::TensorProto tensor;
        if (!parseFile(folder / ("input_" + std::to_string(k) + ".pb"), tensor))
            return Error{"no input " + std::to_string(k), folder.string()};
        tensor.set_name(inputs[k].name());
        if (constants.count(tensor.name()) > 0) {
            *model.mutable_graph()->add_initializer() = tensor;
            continue;
        }
        *model.mutable_graph()->add_input() = inputs[k];
        auto buffer = bufferOf(tensor);
        if (!buffer)
            return buffer.error();
        result.inputs.emplace(tensor.name(), std::move(*buffer));
    }
    for (int k = 0; k < model.graph().output_size(); ++k) {
        onnx::TensorProto tensor;
        if (!parseFile(folder / ("output_" + std::to_string(k) + ".pb"), tensor))
            return Error{"no output " + std::to_string(k), folder.string()};
        auto buffer = bufferOf(tensor);
        if (!buffer)
            return buffer.error();
        result.expected.push_back(std::move(*buffer));
    }
    auto loaded = Model::fromBytes(model.SerializeAsString(), {});
    if (!loaded)
        return loaded.error();
    result.document = {*loaded, (*loaded)->annotations()};
    return result;
}

Result<ProofCase> exampleCase(const std::string& domain, const std::string& op, int opset) {
    const OperatorExample* example = findExample(domain, op);
    if (!example || example->graph.empty())
        return Error{"no example", op};
    OperatorExample wanted = *example;
    if (opset > 0)
        wanted.opset = opset;
    auto model = exampleModel(wanted);
    if (!model)
        return model.error();
    const auto shapes = ShapeTable::build(*model, {});
    auto inputs = randomInputs(**model, *shapes, 5);
    if (!inputs)
        return inputs.error();
    return ProofCase{"example", {*model, (*model)->annotations()}, std::move(*inputs), {}};
}

RuleProof::RuleProof(ProofCase proofCase, std::shared_ptr<const OrtRuntime> runtime,
                     std::shared_ptr<const Registry> registry)
    : m_case(std::move(proofCase)), m_runtime(std::move(runtime)), m_registry(std::move(registry)) {
    m_unusable = prepare();
}

std::string RuleProof::prepare() {
    const GraphIndex& graph = m_case.document.graph();
    m_node = graph.main().nodes.front();
    m_shapes = ShapeTable::build(m_case.document.model, {});
    const auto rules = RuleTable::build(m_case.document.model, m_shapes, {},
                                        m_registry ? *m_registry : Registry::standard());
    m_rule = rules->of(m_node);
    if (!m_rule->known)
        return "no rule: " + m_rule->strictReason;
    Analyser analyser;
    auto analysis = analyser.run(m_case.document, {});
    if (!analysis)
        return analysis.error().text();
    auto whole = lowerUnannotated(**analysis);
    if (!whole)
        return whole.error().text();
    auto reference = executed(**whole);
    const onnx::NodeProto& proto = *graph.node(m_node).proto;
    if (!reference && hasFunctionBody(proto.domain(), proto.op_type(), opsetAt(m_case.document))) {
        // Without a kernel of its own it runs through what ONNX says that it is made of.
        m_throughBody = true;
        if (auto again = executed(**whole); again)
            reference = std::move(again);
    }
    if (!reference)
        return "no kernel: " + reference.error().message;
    m_reference = std::move(*reference);
    for (std::size_t k = 0; k < m_case.expected.size() && k < m_reference->outputs.size(); ++k) {
        const Buffer& expected = m_case.expected[k];
        RunResult::Output output = m_reference->outputs[k];
        if (expected.dims() != output.shape)
            return "another shape than expected on one device";
        output.pieces = {{0, Box::whole(output.shape), expected}};
        // As ONNX's own runner: relative 1e-3.
        const bool exact = typeTolerance(output.elementType) == 0;
        const TensorCheck check = checkTensor(m_reference->outputs[k], output, exact ? -1 : 1e-3);
        if (!check.agrees)
            return "other numbers than expected on one device";
    }
    return {};
}

std::vector<int> RuleProof::claimed() const {
    std::vector<int> factors;
    const auto rows = factorRows(*m_rule);
    for (std::size_t f = 0; f < rows.size(); ++f)
        if (rows[f].shardable() && rows[f].size >= 2)
            factors.push_back(static_cast<int>(f));
    return factors;
}

std::vector<int> RuleProof::notClaimed() const {
    std::vector<int> factors;
    const auto rows = factorRows(*m_rule);
    for (std::size_t f = 0; f < rows.size(); ++f)
        if (!rows[f].shardable() && rows[f].size >= 2)
            factors.push_back(static_cast<int>(f));
    return factors;
}

std::vector<Split> RuleProof::splits() const {
    std::vector<Split> result;
    const auto factors = claimed();
    for (const int f : factors)
        for (const int devices : {2, 3})
            for (const auto declared : {Split::Result::Natural, Split::Result::Whole})
                result.push_back({{{f, 0}}, {devices}, declared});
    for (std::size_t i = 0; i < factors.size(); ++i)
        for (std::size_t j = i + 1; j < factors.size(); ++j)
            result.push_back({{{factors[i], 0}, {factors[j], 1}}, {2, 2}});
    return result;
}

std::optional<Layout> RuleProof::layoutOf(const TensorMap& map,
                                          const std::vector<std::int64_t>& sizes,
                                          const Split& split, const Mesh& mesh) const {
    MeshSharding sharding;
    bool isSplit = false;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
        auto& components = sharding.dims.emplace_back();
        if (d >= map.dims.size())
            continue;
        bool here = false;
        for (const int f : map.dims[d]) {
            const Factor& factor = m_rule->factors[static_cast<std::size_t>(f)];
            const auto axis = split.axisOf.find(f);
            components.push_back({factor.size, {}});
            if (axis != split.axisOf.end()) {
                components.back().axes = {axis->second};
                here = true;
            }
        }
        if (components.size() == 1)
            components[0].size = sizes[d];  // Along a slice the sizes of both sides differ.
        if (!here)
            components.clear();
        isSplit = isSplit || here;
    }
    if (!isSplit)
        return std::nullopt;
    auto layout = encode(mesh, sharding, sizes);
    return layout ? std::optional<Layout>(std::move(*layout)) : std::nullopt;
}

std::string RuleProof::annotate(Document& document, const Split& split, const Mesh& mesh) const {
    const GraphIndex& graph = document.graph();
    const NodeInfo& info = graph.node(m_node);
    std::map<ValueId, Layout> layouts;
    for (std::size_t slot = 0; slot < info.inputs.size() && slot < m_rule->inputs.size(); ++slot) {
        const ValueId value = info.inputs[slot];
        if (!value || m_rule->inputs[slot].shapeOnly)
            continue;
        auto layout = layoutOf(m_rule->inputs[slot], m_shapes->of(value).dims, split, mesh);
        if (!layout)
            continue;
        const auto [it, added] = layouts.emplace(value, *layout);
        if (!added && !(it->second == *layout))
            return "one tensor in two layouts";
    }
    if (layouts.empty())
        return "no input has the factor";
    const DeviceGroup devices = layouts.begin()->second.devices();
    if (split.result == Split::Result::Whole)
        for (const ValueId output : info.outputs)
            if (output)
                layouts.emplace(output, Layout::replicated(m_shapes->of(output).dims, devices));
    for (const auto& [value, layout] : layouts)
        apply(document.annotations, editSpec(document, m_node, "c", graph.value(value).name,
                                             &layout, m_shapes->of(value)));
    return {};
}

std::string RuleProof::run(const Split& split) const {
    Mesh mesh;
    for (std::size_t i = 0; i < split.mesh.size(); ++i)
        mesh.axes.push_back({std::string(1, static_cast<char>('a' + i)), split.mesh[i]});
    Document document = m_case.document;
    apply(document.annotations, editConfiguration(document, "c", mesh));
    if (std::string problem = annotate(document, split, mesh); !problem.empty())
        return problem;
    AnalysisOptions options;
    options.registry = m_registry;
    Analyser analyser;
    auto analysis = analyser.run(document, options);
    if (!analysis)
        return analysis.error().text();
    for (const Diagnostic& diagnostic : (*analysis)->diagnostics)
        if (diagnostic.severity == Severity::Error)
            return "refused: " + diagnostic.message;
    auto plan = lower(**analysis);
    if (!plan)
        return "not lowered: " + plan.error().text();
    auto result = executed(**plan);
    if (!result)
        return "not run: " + result.error().text();
    for (std::size_t i = 0; i < result->outputs.size(); ++i) {
        const TensorCheck check = checkTensor(result->outputs[i], m_reference->outputs[i]);
        if (!check.agrees)
            return "`" + check.name + "` differs by " + std::to_string(check.maxRel) + " " +
                   check.note;
    }
    const auto& predicted = (*plan)->predicted;
    const bool asPredicted = predicted.size() == result->executed.size() &&
                             std::equal(predicted.begin(), predicted.end(),
                                        result->executed.begin(), [](const auto& a, const auto& b) {
                                            return a.first == b.first &&
                                                   a.second.count == b.second.count &&
                                                   a.second.bytes == b.second.bytes;
                                        });
    return asPredicted ? std::string() : "executed something else than predicted";
}

std::optional<std::string> RuleProof::throughBody(int factor) const {
    const std::string bytes = m_case.document.model->proto().SerializeAsString();
    const std::string apart = withBodies(bytes);
    const auto model = Model::fromBytes(apart);
    if (!model || (*model)->graph().main().nodes.size() < 2)
        return std::nullopt;
    const Document document{*model, (*model)->annotations()};
    const auto two = throughBody(factor, document, 2);
    return two && throughBody(factor, document, 3) ? two : std::nullopt;
}

std::optional<std::string> RuleProof::throughBody(int factor, const Document& apart,
                                                  int devices) const {
    const Mesh mesh{{{"a", devices}}};
    Document document = apart;
    apply(document.annotations, editConfiguration(document, "c", mesh));
    const GraphIndex& whole = m_case.document.graph();
    const NodeInfo& node = whole.node(m_node);
    bool isSplit = false;
    for (std::size_t slot = 0; slot < node.inputs.size() && slot < m_rule->inputs.size(); ++slot) {
        if (!node.inputs[slot] || m_rule->inputs[slot].shapeOnly)
            continue;
        const TensorInfo& info = m_shapes->of(node.inputs[slot]);
        const auto layout =
            layoutOf(m_rule->inputs[slot], info.dims, {{{factor, 0}}, {devices}}, mesh);
        const std::string& name = whole.value(node.inputs[slot]).name;
        const ValueId value = document.graph().findValue(GraphId(0), name);
        if (!layout || !value)
            continue;
        for (const ValueUse& use : document.graph().value(value).uses) {
            isSplit = true;
            apply(document.annotations, editSpec(document, use.node, "c", name, &*layout, info));
        }
    }
    Analyser analyser;
    const auto first = isSplit ? analyser.run(document, {})
                               : Result<std::shared_ptr<const Analysis>>(Error{"not split", {}});
    if (!first)
        return std::nullopt;
    const auto proposals = proposeLayouts(**first, {});
    if (!proposals)
        return std::nullopt;
    apply(document.annotations, proposals->acceptAll);
    const auto analysis = analyser.run(document, {});
    if (!analysis || (*analysis)->count(Severity::Error) > 0)
        return std::nullopt;
    const auto plan = lower(**analysis);
    const auto result = plan ? executed(**plan) : Result<RunResult>(plan.error());
    if (!result || result->outputs.size() != m_reference->outputs.size())
        return std::nullopt;
    for (std::size_t i = 0; i < result->outputs.size(); ++i)
        if (!checkTensor(result->outputs[i], m_reference->outputs[i]).agrees)
            return std::nullopt;
    for (const auto& [kind, total] : (*plan)->predicted)
        if (kind != CollectiveKind::AllReduce)
            return std::nullopt;
    const auto& predicted = (*plan)->predicted;
    return predicted.empty() ? std::string("no collective")
                             : std::to_string(predicted.begin()->second.count) + " all-reduce";
}

std::string RuleProof::describe(const Split& split) const {
    std::string text;
    for (const auto& [factor, axis] : split.axisOf)
        text += (text.empty() ? "" : ", ") +
                m_rule->factors[static_cast<std::size_t>(factor)].name + " over " +
                std::to_string(split.mesh[static_cast<std::size_t>(axis)]);
    return text + (split.result == Split::Result::Whole ? ", result whole" : "");
}

Result<RunResult> RuleProof::executed(const Plan& plan) const {
    RunOptions run;
    run.warmups = 0;
    run.timeLimitSeconds = 20;
    run.makeEngine = [this](DeviceId) {
        auto engine = makeOrtEngine(m_runtime, {});
        return m_throughBody ? withFunctionBodies(std::move(engine)) : std::move(engine);
    };
    return execute(plan, run, m_case.inputs);
}

namespace {

bool has(const std::vector<TensorMap>& maps, int factor) {
    for (const TensorMap& map : maps)
        for (const auto& dim : map.dims)
            if (!map.shapeOnly && std::find(dim.begin(), dim.end(), factor) != dim.end())
                return true;
    return false;
}

int numberOf(const Rule& rule, const std::string& name) {
    for (std::size_t f = 0; f < rule.factors.size(); ++f)
        if (rule.factors[f].name == name)
            return static_cast<int>(f);
    return -1;
}

Factor& factorOf(Rule& rule, const std::string& name) {
    return rule.factors[static_cast<std::size_t>(numberOf(rule, name))];
}

void sum(Factor& factor, ReduceKind reduce) {
    factor.kind = FactorKind::Reduction;
    factor.reduce = reduce;
    factor.reason.clear();
}

/// One factor in the place of two that are whole.
void merge(Rule& rule, const std::string& name, const std::string& other) {
    const int from = numberOf(rule, other), to = numberOf(rule, name);
    for (TensorMap& map : rule.outputs)
        for (auto& dim : map.dims)
            std::replace(dim.begin(), dim.end(), from, to);
    factorOf(rule, name).kind = FactorKind::Parallel;
}

/// What Gather's rule says of the dimension that is looked up.
void lookUp(Rule& rule, const std::string& name, const NodeContext& context) {
    Factor& factor = factorOf(rule, name);
    const OperatorEntry* entry = Registry::standard().find(context.graph.domain(context.node.id),
                                                           context.graph.opType(context.node.id));
    if (!entry || !entry->elements)
        return;
    for (const ElementUse::Index& index : entry->elements(context).indices) {
        if (index.size != factor.size)
            continue;
        sum(factor, ReduceKind::Sum);
        Rewrite rewrite{Rewrite::Kind::MaskedLookup};
        rewrite.slot = index.slot;
        rewrite.factor = numberOf(rule, name);
        rewrite.dim = index.column;
        rule.rewrites.push_back(std::move(rewrite));
        return;
    }
}

}  // namespace

std::vector<Attempt> attemptsAt(const RuleProof& proof, int factor) {
    const Rule& rule = proof.rule();
    const Factor& own = rule.factors[static_cast<std::size_t>(factor)];
    const std::string name = own.name;
    const bool in = has(rule.inputs, factor), out = has(rule.outputs, factor);
    std::vector<Attempt> attempts;
    if (!in)
        return attempts;  // A result that is whole is cut for free.
    if (out) {
        attempts.push_back({"by itself", [name](Rule& r, const NodeContext&) {
                                factorOf(r, name).kind = FactorKind::Parallel;
                            }});
        return attempts;
    }
    for (const ReduceKind reduce : {ReduceKind::Sum, ReduceKind::Prod, ReduceKind::Max,
                                    ReduceKind::Min, ReduceKind::Or, ReduceKind::And})
        attempts.push_back(
            {"joined by " + reduceKindName(reduce),
             [name, reduce](Rule& r, const NodeContext&) { sum(factorOf(r, name), reduce); }});
    for (std::size_t g = 0; g < rule.factors.size(); ++g) {
        const int number = static_cast<int>(g);
        if (rule.factors[g].kind != FactorKind::Whole || rule.factors[g].size != own.size ||
            has(rule.inputs, number) || !has(rule.outputs, number))
            continue;
        attempts.push_back({"as `" + rule.factors[g].name + "` of the result",
                            [name, other = rule.factors[g].name](Rule& r, const NodeContext&) {
                                merge(r, name, other);
                            }});
    }
    attempts.push_back({"by a masked lookup",
                        [name](Rule& r, const NodeContext& context) { lookUp(r, name, context); }});
    return attempts;
}

std::shared_ptr<const Registry> registryWith(const std::string& domain, const std::string& op,
                                             const Attempt& attempt) {
    auto registry = std::make_shared<Registry>();
    for (OperatorEntry entry : Registry::standard().entries()) {
        if (entry.domain == domain && entry.op == op)
            entry.build = [change = attempt.change,
                           build = entry.build](const NodeContext& context) {
                auto rule = build(context);
                if (rule)
                    change(*rule, context);
                return rule;
            };
        registry->add(std::move(entry));
    }
    return registry;
}

}  // namespace shardwright::test
