// SPDX-License-Identifier: Apache-2.0
#include "rules/call_model.h"

#include "model/constant_value.h"

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace shardwright {

namespace {

using A = onnx::AttributeProto;

/// More real elements than that are weights, which no rule reads.
constexpr std::size_t kMostReals = 16;

/// Elements that a rule may read; null: there are none.
const ConstantValue* smallElements(const ShapeTable& shapes, ValueId id) {
    const ConstantValue* constant = shapes.constant(id);
    return constant != nullptr && constant->reals.size() <= kMostReals ? constant : nullptr;
}

bool sameElements(const ConstantValue* a, const ConstantValue* b) {
    return a == nullptr || b == nullptr
               ? a == b
               : a->dims == b->dims && a->ints == b->ints && a->reals == b->reals;
}

/// The nodes of a list and of the graphs inside of them, without recursion: files decide how deep
/// they go.
template <class Visit>
void eachNode(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const Visit& visit) {
    std::vector<google::protobuf::RepeatedPtrField<onnx::NodeProto>*> stack{&nodes};
    while (!stack.empty()) {
        auto& list = *stack.back();
        stack.pop_back();
        for (onnx::NodeProto& node : list) {
            visit(node);
            for (A& attribute : *node.mutable_attribute()) {
                if (attribute.has_g())
                    stack.push_back(attribute.mutable_g()->mutable_node());
                for (onnx::GraphProto& graph : *attribute.mutable_graphs())
                    stack.push_back(graph.mutable_node());
            }
        }
    }
}

class CallAlone {
public:
    CallAlone(const Model& model, const NodeContext& context)
        : m_model(model.proto()), m_context(context) {
        for (const onnx::FunctionProto& function : m_model.functions())
            m_functions.emplace(keyOf(function.domain(), function.name(), function.overload()),
                                &function);
    }

    std::optional<onnx::ModelProto> run() {
        const onnx::NodeProto& call = *m_context.node.proto;
        const onnx::FunctionProto* called = functionOf(call);
        if (called == nullptr)
            return std::nullopt;
        m_made.set_ir_version(10);
        *m_made.mutable_opset_import() = m_model.opset_import();
        onnx::GraphProto& graph = *m_made.mutable_graph();
        graph.set_name("call");
        onnx::NodeProto& node = *graph.add_node();
        node = call;
        node.clear_device_configurations();
        addInputs(graph);
        for (const std::string& output : call.output())
            if (!output.empty())
                graph.add_output()->set_name(output);
        onnx::FunctionProto& function = *m_made.add_functions();
        function = *called;
        leaveOutInputs(call, function);
        if (!giveAttributes(call, function))
            return std::nullopt;
        addFunctions(*called, function);
        return std::move(m_made);
    }

private:
    using Key = std::tuple<std::string, std::string, std::string>;
    static Key keyOf(const std::string& domain, const std::string& name,
                     const std::string& overload) {
        return {domain == "ai.onnx" ? std::string() : domain, name, overload};
    }

    const onnx::FunctionProto* functionOf(const onnx::NodeProto& node) const {
        const auto found = m_functions.find(keyOf(node.domain(), node.op_type(), node.overload()));
        return found != m_functions.end() ? found->second : nullptr;
    }

    void addInputs(onnx::GraphProto& graph) const {
        std::set<std::string> names;
        for (const ValueId id : m_context.node.inputs) {
            if (!id || !names.insert(m_context.graph.value(id).name).second)
                continue;
            const TensorInfo& info = m_context.shapes.of(id);
            onnx::ValueInfoProto& input = *graph.add_input();
            input.set_name(m_context.graph.value(id).name);
            auto& type = *input.mutable_type()->mutable_tensor_type();
            type.set_elem_type(info.elementType);
            for (const std::int64_t size : info.dims)
                type.mutable_shape()->add_dim()->set_dim_value(size);
            type.mutable_shape();
            // The default of an input counts as its value.
            onnx::TensorProto elements;
            const ConstantValue* constant = smallElements(m_context.shapes, id);
            if (constant == nullptr || !tensorFromConstant(*constant, elements))
                continue;
            elements.set_name(input.name());
            *graph.add_initializer() = std::move(elements);
        }
    }

    /// What the call does not give, the nodes inside do not have.
    static void leaveOutInputs(const onnx::NodeProto& call, onnx::FunctionProto& function) {
        std::set<std::string> missing;
        for (int i = 0; i < function.input_size(); ++i)
            if (i >= call.input_size() || call.input(i).empty())
                missing.insert(function.input(i));
        if (missing.empty())
            return;
        eachNode(*function.mutable_node(), [&](onnx::NodeProto& node) {
            for (std::string& input : *node.mutable_input())
                if (missing.count(input) > 0)
                    input.clear();
        });
    }

    /// What nobody gives is left out.
    static bool giveAttributes(const onnx::NodeProto& call, onnx::FunctionProto& function) {
        std::map<std::string, A> given;
        for (const A& preset : function.attribute_proto())
            given[preset.name()] = preset;
        for (const A& attribute : call.attribute())
            given[attribute.name()] = attribute;
        bool graphs = false;
        eachNode(*function.mutable_node(), [&](onnx::NodeProto& node) {
            auto& attributes = *node.mutable_attribute();
            for (int i = attributes.size(); i-- > 0;) {
                const std::string from = attributes[i].ref_attr_name();
                if (from.empty())
                    continue;
                const auto value = given.find(from);
                if (value == given.end()) {
                    attributes.DeleteSubrange(i, 1);
                    continue;
                }
                graphs = graphs || value->second.has_g() || value->second.graphs_size() > 0;
                const std::string name = attributes[i].name();
                attributes[i] = value->second;
                attributes[i].set_name(name);
            }
        });
        return !graphs;
    }

    /// Those that are called inside.
    void addFunctions(const onnx::FunctionProto& called, onnx::FunctionProto& own) {
        std::set<const onnx::FunctionProto*> seen{&called};
        std::vector<const onnx::FunctionProto*> found;
        const auto look = [&](onnx::NodeProto& node) {
            const onnx::FunctionProto* function = functionOf(node);
            if (function != nullptr && seen.insert(function).second)
                found.push_back(function);
        };
        eachNode(*own.mutable_node(), look);
        for (std::size_t i = 0; i < found.size(); ++i) {
            onnx::FunctionProto& function = *m_made.add_functions();
            function = *found[i];
            eachNode(*function.mutable_node(), look);
        }
    }

    const onnx::ModelProto& m_model;
    const NodeContext& m_context;
    std::map<Key, const onnx::FunctionProto*> m_functions;
    onnx::ModelProto m_made;
};

}  // namespace

bool refersToCaller(const GraphIndex& graph, GraphId top) {
    std::vector<GraphId> stack{top};
    std::size_t visits = 0;
    while (!stack.empty() && ++visits < 100000) {
        const GraphId id = stack.back();
        stack.pop_back();
        for (const NodeId node : graph.graph(id).nodes) {
            for (const A& attribute : graph.node(node).proto->attribute())
                if (!attribute.ref_attr_name().empty())
                    return true;
            for (const GraphId body : graph.node(node).bodies)
                stack.push_back(body);
        }
    }
    return false;
}

bool needsOwnModel(const NodeContext& context) {
    if (!context.node.function)
        return false;
    const GraphInfo& function = context.graph.graph(context.node.function);
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
        const ValueId outer = i < context.node.inputs.size() ? context.node.inputs[i] : ValueId();
        const ValueId inner = function.inputs[i];
        if (!inner)
            continue;
        if (!outer) {
            if (!context.graph.value(inner).uses.empty())
                return true;
            continue;
        }
        const TensorInfo &given = context.shapes.of(outer), &known = context.shapes.of(inner);
        if (given.elementType != known.elementType || given.hasRank != known.hasRank ||
            given.dims != known.dims ||
            !sameElements(smallElements(context.shapes, outer),
                          smallElements(context.shapes, inner)))
            return true;
    }
    return refersToCaller(context.graph, context.node.function);
}

std::optional<onnx::ModelProto> callAlone(const Model& model, const NodeContext& context) {
    return CallAlone(model, context).run();
}

}  // namespace shardwright
