// SPDX-License-Identifier: Apache-2.0
//
// Bodies of If, Loop and Scan. libonnx's inference functions run them through BodyInferencer.
// Beyond what they do, a known condition chooses the branch, loop states keep their shape where the
// body keeps it, and scan outputs get the trip count where it is known.

#include "model/shape_pass.h"

#include <utility>

namespace shardwright {

namespace {

/// Of bodies and calls inside each other; bounds the stack.
constexpr int kMaxDepth = 48;
constexpr int kLoopAttempts = 3;

bool hasShape(const onnx::TypeProto* type) {
    return type != nullptr && type->has_tensor_type() && type->tensor_type().has_shape();
}

}  // namespace

std::string ShapePass::whyNotEnter() const {
    if (m_depth >= kMaxDepth)
        return "is not looked into: more than " + std::to_string(kMaxDepth) +
               " bodies and functions inside each other";
    if (m_visits > m_allowedVisits)
        return "is not looked into: bodies and functions of this model would have to be run too "
               "often";
    return {};
}

GraphId ShapePass::bodyNamed(const NodeInfo& node, const std::string& attribute) const {
    for (const GraphId body : node.bodies) {
        if (m_index.graph(body).name == attribute)
            return body;
    }
    return {};
}

void ShapePass::bindBodyInputs(const GraphInfo& graph, const Types& types) {
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
        ValueState& input = state(graph.inputs[i]);
        input = {};
        input.type = i < types.size() && types[i] != nullptr ? copyType(*types[i]) : newType();
        if (const onnx::TypeProto* declared = m_declared.of(graph.inputs[i])) {
            onnx::TypeProto* bound = copyType(*declared);
            m_binder.bind(*bound);
            mergeDeclared(*bound, *input.type);
        }
    }
}

ShapePass::Types ShapePass::outputTypes(const GraphInfo& graph) const {
    Types types;
    for (const ValueId id : graph.outputs) {
        static const onnx::TypeProto unknown;
        types.push_back(of(id).type != nullptr ? of(id).type : &unknown);
    }
    return types;
}

ShapePass::Types ShapePass::runBody(const NodeInfo& owner, GraphId id, const Types& types,
                                    const std::vector<const onnx::TensorProto*>&) {
    const GraphInfo& graph = m_index.graph(id);
    if (const std::string why = whyNotEnter(); !why.empty())
        throw onnx::InferenceError("its body " + why);
    const std::optional<bool> taken = condition(owner);
    const bool dead = taken && graph.name != (*taken ? "then_branch" : "else_branch");
    ++m_depth;
    m_quiet += dead ? 1 : 0;
    if (owner.proto->op_type() == "Loop") {
        runLoopBody(owner, graph, types);
    } else {
        bindBodyInputs(graph, types);
        runGraph(id);
    }
    m_quiet -= dead ? 1 : 0;
    --m_depth;
    return outputTypes(graph);
}

void ShapePass::runLoopBody(const NodeInfo& owner, const GraphInfo& graph, const Types& types) {
    // libonnx gives the states without a shape, since it may change from one iteration to the next.
    // Most do not: try the initial one, and give up what the body changes.
    Types guess = types;
    std::vector<std::pair<std::size_t, onnx::TypeProto*>> states;
    for (std::size_t i = 2; i < owner.inputs.size() && i < guess.size() && i < graph.inputs.size();
         ++i) {
        const onnx::TypeProto* initial = owner.inputs[i] ? of(owner.inputs[i]).type : nullptr;
        if (hasShape(initial)) {
            states.emplace_back(i, copyType(*initial));
            guess[i] = states.back().second;
        }
    }
    for (int attempt = 0;; ++attempt) {
        bindBodyInputs(graph, guess);
        runGraph(graph.id);
        bool changed = false;
        for (const auto& [i, type] : states) {
            if (!hasShape(type) || i - 1 >= graph.outputs.size())
                continue;
            const onnx::TypeProto* after = of(graph.outputs[i - 1]).type;
            const std::string before = type->SerializeAsString();
            const bool last = attempt + 1 == kLoopAttempts || m_visits > m_allowedVisits;
            if (hasShape(after))
                meetTypes(*after, *type);
            else
                type->mutable_tensor_type()->clear_shape();
            if (type->SerializeAsString() == before)
                continue;
            changed = true;
            if (last)
                type->mutable_tensor_type()->clear_shape();
        }
        if (!changed)
            return;
    }
}

std::optional<bool> ShapePass::condition(const NodeInfo& node) const {
    if (node.proto->op_type() != "If" || node.inputs.empty() || !node.inputs[0])
        return std::nullopt;
    const ConstantValue* constant = of(node.inputs[0]).constant.get();
    if (constant == nullptr || constant->ints.size() != 1)
        return std::nullopt;
    return constant->ints[0] != 0;
}

void ShapePass::refineIf(const NodeInfo& node) {
    const std::optional<bool> taken = condition(node);
    if (!taken)
        return;
    const GraphId branch = bodyNamed(node, *taken ? "then_branch" : "else_branch");
    if (!branch || !m_ran[branch.index()])
        return;
    const GraphInfo& graph = m_index.graph(branch);
    for (std::size_t i = 0; i < node.outputs.size() && i < graph.outputs.size(); ++i) {
        const ValueState from = of(graph.outputs[i]);
        if (!node.outputs[i] || from.type == nullptr)
            continue;
        *state(node.outputs[i]).type = *from.type;
        state(node.outputs[i]).partial = from.partial;
        if (from.constant)
            setConstant(node.outputs[i], from.constant);
    }
}

bool ShapePass::staysTrue(const GraphInfo& body, ValueId id) const {
    for (int steps = 0; steps < 8 && id; ++steps) {
        if (const ConstantValue* constant = of(id).constant.get())
            return constant->ints.size() == 1 && constant->ints[0] != 0;
        if (body.inputs.size() > 1 && id == body.inputs[1])
            return true;
        const ValueInfo& value = m_index.value(id);
        if (!value.producer || m_index.opType(value.producer) != "Identity" ||
            m_index.node(value.producer).inputs.empty())
            return false;
        id = m_index.node(value.producer).inputs[0];
    }
    return false;
}

void ShapePass::refineLoop(const NodeInfo& node) {
    const GraphId id = bodyNamed(node, "body");
    if (!id || !m_ran[id.index()] || node.inputs.size() < 2)
        return;
    const GraphInfo& body = m_index.graph(id);
    const std::size_t states = node.inputs.size() - 2;
    for (std::size_t i = 0; i < states && i < node.outputs.size() && i + 1 < body.outputs.size();
         ++i) {
        const onnx::TypeProto* after = of(body.outputs[i + 1]).type;
        const onnx::TypeProto* initial = node.inputs[i + 2] ? of(node.inputs[i + 2]).type : nullptr;
        if (!node.outputs[i] || !hasShape(after) || !hasShape(initial))
            continue;
        // After no iteration it is the initial value, after others what the body gave.
        onnx::TypeProto& type = *state(node.outputs[i]).type;
        type = *after;
        meetTypes(*initial, type);
    }
    const ConstantValue* trips = node.inputs[0] ? of(node.inputs[0]).constant.get() : nullptr;
    const ConstantValue* condition = node.inputs[1] ? of(node.inputs[1]).constant.get() : nullptr;
    const bool starts = !node.inputs[1] || (condition != nullptr && condition->ints.size() == 1 &&
                                            condition->ints[0] != 0);
    if (trips == nullptr || trips->ints.size() != 1 || trips->ints[0] < 0 || !starts ||
        body.outputs.empty() || !staysTrue(body, body.outputs[0]))
        return;
    for (std::size_t i = states; i < node.outputs.size(); ++i) {
        if (!node.outputs[i] || !hasShape(state(node.outputs[i]).type))
            continue;
        auto* shape = state(node.outputs[i]).type->mutable_tensor_type()->mutable_shape();
        if (shape->dim_size() > 0)
            shape->mutable_dim(0)->set_dim_value(trips->ints[0]);
    }
}

void ShapePass::runLeftOver() {
    // Functions that nobody calls, and bodies of operators that libonnx does not know. Owners come
    // before bodies.
    for (const GraphInfo& graph : m_index.graphs) {
        if (m_ran[graph.id.index()] || m_cancel.cancelled())
            continue;
        bindBodyInputs(graph, {});
        runGraph(graph.id);
    }
}

}  // namespace shardwright
