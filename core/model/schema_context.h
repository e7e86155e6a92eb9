// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/shape_pass.h"

#include <memory>

namespace shardwright {

/// A body as libonnx's inference functions of If, Loop and Scan run it.
class BodyInferencer final : public onnx::GraphInferencer {
public:
    BodyInferencer(ShapePass& pass, const NodeInfo& owner, GraphId graph)
        : m_pass(pass), m_owner(owner), m_graph(graph) {}
    std::vector<const onnx::TypeProto*>
    doInferencing(const std::vector<const onnx::TypeProto*>& types,
                  const std::vector<const onnx::TensorProto*>& data) override {
        return m_pass.runBody(m_owner, m_graph, types, data);
    }

private:
    ShapePass& m_pass;
    const NodeInfo& m_owner;
    GraphId m_graph;
};

/// One node for libonnx's inference functions. They report errors by exceptions, and expect them
/// from here.
class SchemaContext final : public onnx::InferenceContext {
public:
    SchemaContext(ShapePass& pass, const NodeInfo& node);

    const onnx::AttributeProto* getAttribute(const std::string& name) const override;
    std::size_t getNumInputs() const override { return m_node.inputs.size(); }
    const onnx::TypeProto* getInputType(std::size_t index) const override;
    bool hasInput(std::size_t index) const override;
    const onnx::TensorProto* getInputData(std::size_t index) const override;
    const onnx::TensorShapeProto* getSymbolicInput(std::size_t index) const override;
    const onnx::SparseTensorProto* getInputSparseData(std::size_t) const override {
        return nullptr;
    }
    std::size_t getNumOutputs() const override { return m_node.outputs.size(); }
    onnx::TypeProto* getOutputType(std::size_t index) override;
    bool hasOutput(std::size_t index) override;
    onnx::GraphInferencer* getGraphAttributeInferencer(const std::string& name) override;
    std::string getDisplayName() const override { return {}; }

private:
    const ValueState* input(std::size_t index) const;

    ShapePass& m_pass;
    const NodeInfo& m_node;
    onnx::TypeProto* m_omitted = nullptr;  ///< Stands for outputs without a name.
    std::vector<std::unique_ptr<BodyInferencer>> m_bodies;
};

/// One node for libonnx's data propagation, which follows single elements of shapes.
class PropagationContext final : public onnx::DataPropagationContext {
public:
    PropagationContext(ShapePass& pass, const NodeInfo& node) : m_pass(pass), m_node(node) {}

    const onnx::AttributeProto* getAttribute(const std::string& name) const override;
    std::size_t getNumInputs() const override { return m_node.inputs.size(); }
    const onnx::TypeProto* getInputType(std::size_t index) const override;
    std::size_t getNumOutputs() const override { return m_node.outputs.size(); }
    const onnx::TypeProto* getOutputType(std::size_t index) const override;
    const onnx::TensorShapeProto* getInputData(std::size_t index) override;
    void addOutputData(std::size_t index, onnx::TensorShapeProto&& data) override;

private:
    ShapePass& m_pass;
    const NodeInfo& m_node;
};

}  // namespace shardwright
