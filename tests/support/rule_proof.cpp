// SPDX-License-Identifier: Apache-2.0
#include "support/rule_proof.h"

#include "model/tensor_bytes.h"
#include "plan/plan.h"
#include "rules/examples.h"
#include "rules/operator_list.h"
#include "run/inputs.h"
#include "run/verify.h"
#include "sharding/edit.h"

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
    result.document = {*loaded, Annotations::fromModel(**loaded)};
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
    return ProofCase{"example", {*model, Annotations::fromModel(**model)}, std::move(*inputs), {}};
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
    if (!reference)
        return "no kernel: " + reference.error().text();
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
    run.makeEngine = [this](DeviceId) { return makeOrtEngine(m_runtime, {}); };
    return execute(plan, run, m_case.inputs);
}

std::shared_ptr<const Registry> registryThatAllows(const std::string& domain, const std::string& op,
                                                   const std::string& factor) {
    auto registry = std::make_shared<Registry>();
    for (OperatorEntry entry : Registry::standard().entries()) {
        if (entry.domain == domain && entry.op == op)
            entry.build = [factor, build = entry.build](const NodeContext& context) {
                auto rule = build(context);
                if (!rule)
                    return rule;
                for (Factor& f : rule->factors)
                    if (f.name == factor) {
                        f.kind = FactorKind::Parallel;
                        f.reason.clear();
                    }
                return rule;
            };
        registry->add(std::move(entry));
    }
    return registry;
}

}  // namespace shardwright::test
