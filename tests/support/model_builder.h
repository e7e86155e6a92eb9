// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/document.h"

#include <onnx/onnx_pb.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace shardwright::test {

/// A dimension of a built model: a number, a symbol, or (empty symbol) anonymous.
struct Dim {
    std::int64_t size = -1;
    std::string symbol;

    template <std::integral T>
    Dim(T value) : size(static_cast<std::int64_t>(value)) {}
    Dim(const char* name) : symbol(name) {}
    Dim(std::string name) : symbol(std::move(name)) {}
};
using Shape = std::vector<Dim>;

/// An attribute: {"axis", 1}, {"alpha", 0.5}, {"perm", {1, 0}}, {"mode", "linear"}, {"then_branch",
/// graph}.
struct Attribute {
    onnx::AttributeProto proto;

    template <std::integral T>
    Attribute(const char* name, T value) : Attribute(name, onnx::AttributeProto::INT) {
        proto.set_i(static_cast<std::int64_t>(value));
    }
    template <std::floating_point T>
    Attribute(const char* name, T value) : Attribute(name, onnx::AttributeProto::FLOAT) {
        proto.set_f(static_cast<float>(value));
    }
    Attribute(const char* name, const char* value);
    Attribute(const char* name, const std::string& value);
    Attribute(const char* name, std::initializer_list<std::int64_t> values);
    Attribute(const char* name, const std::vector<std::int64_t>& values);
    Attribute(const char* name, onnx::TensorProto value);
    Attribute(const char* name, onnx::GraphProto value);
    static Attribute strings(const char* name, const std::vector<std::string>& values);
    static Attribute floats(const char* name, const std::vector<float>& values);
    /// An attribute of a function's node that takes the value of the function's attribute `ref`.
    static Attribute reference(const char* name, const char* ref,
                               onnx::AttributeProto::AttributeType type);

private:
    Attribute(const char* name, onnx::AttributeProto::AttributeType type);
};

/// Models for tests, so that a test reads like its data:
///
///     ModelBuilder{}.input("x", {4, "k"}).weight("w", {8, 16})
///         .op("MatMul", {"x", "w"}, {"y"}, "mm1").output("y", {4, 16}).model();
///
/// Opset 21 and IR version 10 unless told otherwise. Weights are random with a seed from their
/// name. A body or function is built the same way and taken by graph() or function().
class ModelBuilder {
public:
    explicit ModelBuilder(int opset = 21);

    ModelBuilder& input(const std::string& name, const Shape& shape,
                        int type = onnx::TensorProto::FLOAT);
    ModelBuilder& inputOfUnknownShape(const std::string& name, int type = onnx::TensorProto::FLOAT);
    ModelBuilder& output(const std::string& name, const Shape& shape,
                         int type = onnx::TensorProto::FLOAT);
    ModelBuilder& output(const std::string& name);  ///< Without type and shape.
    ModelBuilder& valueInfo(const std::string& name, const Shape& shape,
                            int type = onnx::TensorProto::FLOAT);

    ModelBuilder& weight(const std::string& name, const std::vector<std::int64_t>& dims,
                         int type = onnx::TensorProto::FLOAT);
    /// INT64 initializers with given values: a vector, a scalar.
    ModelBuilder& ints(const std::string& name, const std::vector<std::int64_t>& values);
    ModelBuilder& scalar(const std::string& name, std::int64_t value);
    ModelBuilder& real(const std::string& name, float value);
    ModelBuilder& initializer(onnx::TensorProto tensor);
    /// A weight whose data lies outside the model file; nothing is written there.
    ModelBuilder& externalWeight(const std::string& name, const std::vector<std::int64_t>& dims,
                                 const std::string& location, std::int64_t offset = 0,
                                 std::int64_t length = -1);

    ModelBuilder& op(const std::string& type, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs, const std::string& name = {},
                     const std::vector<Attribute>& attributes = {}, const std::string& domain = {});
    /// Of the node added last.
    ModelBuilder& nodeMetadata(const std::string& key, const std::string& value);
    ModelBuilder& overload(const std::string& overload);
    ModelBuilder& annotate(onnx::NodeDeviceConfigurationProto annotation);

    ModelBuilder& function(const std::string& domain, const std::string& name,
                           const ModelBuilder& body, const std::string& overload = {},
                           const std::vector<std::string>& attributes = {});
    ModelBuilder& opset(const std::string& domain, int version);
    ModelBuilder& irVersion(int version);
    ModelBuilder& metadata(const std::string& key, const std::string& value);
    ModelBuilder& configuration(const std::string& name, int devices,
                                const std::vector<std::string>& names = {});

    onnx::ModelProto build() const { return m_model; }
    onnx::GraphProto graph(const std::string& name = "body") const;
    std::string bytes() const;
    /// Loaded from bytes(); asserts that this works.
    std::shared_ptr<const Model> model() const;
    Document document() const;

private:
    onnx::NodeProto& lastNode();
    onnx::ModelProto m_model;
};

/// A tensor with seeded random elements; the same name, dims and type give the same elements.
onnx::TensorProto randomTensor(const std::string& name, const std::vector<std::int64_t>& dims,
                               int type = onnx::TensorProto::FLOAT);
onnx::TensorProto intTensor(const std::string& name, const std::vector<std::int64_t>& dims,
                            const std::vector<std::int64_t>& values);
/// The id of the first node of that name, or with that output; asserts that it exists.
NodeId nodeNamed(const GraphIndex& graph, const std::string& name);
/// The id of the main graph's value, else of the first one in any graph; asserts that it exists.
ValueId valueNamed(const GraphIndex& graph, const std::string& name);

}  // namespace shardwright::test
