// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/constant_value.h"
#include "model/declared_types.h"
#include "model/folding.h"
#include "model/graph_walk.h"

#include <google/protobuf/arena.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <string>
#include <unordered_map>
#include <vector>

namespace shardwright {

/// What a pass knows of one value. Messages are owned by the pass.
struct ValueState {
    onnx::TypeProto* type = nullptr;  ///< Null: nothing is known.
    ConstantRef constant;
    const onnx::TensorProto* tensor = nullptr;  ///< Its elements, for libonnx.
    const onnx::TensorShapeProto* partial =
        nullptr;  ///< Elements of an integer vector of which only some are known.
};

/// One forward pass over all graphs: for each node libonnx's inference function for the operator,
/// then folding where the elements of all inputs are known, else libonnx's partial data
/// propagation. Other than onnx::shape_inference::InferShapes it works on the file as it is (no
/// copy), keeps going after an error, takes nodes in any order and never recurses over the graph,
/// only into bodies and functions, both to a limited depth and within a limited number of visits.
class ShapePass {
public:
    enum class Unknown { Anonymous, Named };

    /// With Unknown::Named a size that is not known gets a symbol, `#12`, so that what is computed
    /// from it elementwise is known to have the same.
    ShapePass(const Model& model, const DeclaredTypes& declared, const DimensionBinder& binder,
              Unknown unknown, CancelToken cancel);

    void run();
    const ValueState& of(ValueId id) const { return m_states[id.index()]; }
    const std::vector<std::string>& complaints() const { return m_complaints; }

private:
    friend class SchemaContext;
    friend class PropagationContext;
    friend class BodyInferencer;

    using Attributes = std::unordered_map<std::string, const onnx::AttributeProto*>;
    using Types = std::vector<const onnx::TypeProto*>;
    struct Call {
        std::vector<ValueState> outputs;
    };

    // shape_pass.cpp
    void prepare();
    void prepareInitializer(ValueId id);
    void runGraph(GraphId id);
    void inferNode(const NodeInfo& node);
    void inferFromSchema(const NodeInfo& node);
    void finishType(const NodeInfo& node, ValueId output);
    bool foldNode(const NodeInfo& node);
    void propagate(const NodeInfo& node);
    void setConstant(ValueId id, ConstantRef constant);
    const onnx::AttributeProto* attribute(const NodeInfo& node, const std::string& name) const;
    int opset(const NodeInfo& node) const;
    void complain(const NodeInfo& node, const std::string& what);
    ValueState& state(ValueId id) { return m_states[id.index()]; }
    onnx::TypeProto* newType() {
        return google::protobuf::Arena::CreateMessage<onnx::TypeProto>(&m_arena);
    }
    onnx::TypeProto* copyType(const onnx::TypeProto& type);

    // shape_pass_bodies.cpp
    GraphId bodyNamed(const NodeInfo& node, const std::string& attribute) const;
    Types runBody(const NodeInfo& owner, GraphId graph, const Types& types,
                  const std::vector<const onnx::TensorProto*>& data);
    void runLoopBody(const NodeInfo& owner, const GraphInfo& graph, const Types& types);
    void bindBodyInputs(const GraphInfo& graph, const Types& types);
    Types outputTypes(const GraphInfo& graph) const;
    std::optional<bool> condition(const NodeInfo& ifNode) const;
    void refineIf(const NodeInfo& node);
    void refineLoop(const NodeInfo& node);
    bool staysTrue(const GraphInfo& body, ValueId id) const;
    void runLeftOver();
    std::string whyNotEnter() const;

    // shape_pass_functions.cpp
    void callFunction(const NodeInfo& node);
    bool runFunction(const NodeInfo& node, Call& call);
    std::string callKey(const NodeInfo& node) const;
    void bindFunctionInputs(const NodeInfo& node, const GraphInfo& function);
    Attributes functionAttributes(const NodeInfo& node, const onnx::FunctionProto& function) const;
    void summarise(GraphId function);
    void restoreSummaries();

    const Model& m_model;
    const GraphIndex& m_index;
    const DeclaredTypes& m_declared;
    const DimensionBinder& m_binder;
    Unknown m_unknown;
    CancelToken m_cancel;
    google::protobuf::Arena m_arena;
    std::vector<ValueState> m_states;
    std::vector<GraphSource<const onnx::ModelProto>> m_sources;
    std::vector<GraphId> m_roots;  ///< By graph: the main graph or function it is in.
    std::vector<std::unordered_map<std::string, int>> m_opsets;  ///< By root graph.
    std::vector<bool> m_ran;                                     ///< By graph.
    const Attributes* m_attributes = nullptr;  ///< Of the function call that runs.
    std::vector<bool> m_active;                ///< By graph: functions that run.
    std::unordered_map<std::string, Call> m_calls;
    std::vector<std::vector<ValueId>>
        m_functionValues;  ///< By function's graph: all values inside.
    std::unordered_map<ValueId, ValueState> m_summaries;
    std::size_t m_visits = 0;
    std::size_t m_allowedVisits = 0;
    int m_depth = 0;
    int m_quiet = 0;  ///< Above 0 in a branch that is known not to be taken.
    unsigned m_symbols = 0;
    std::vector<std::string> m_complaints;
};

}  // namespace shardwright
