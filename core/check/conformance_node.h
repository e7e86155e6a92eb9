// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/conformance.h"
#include "rules/rule.h"

#include <onnx/onnx_pb.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardwright {

/// One node to be built into a model of its own.
struct NodeCase {
    std::string op;
    std::string domain;
    /// Shapes by slot; nullopt: omitted, or a constant from `attributes`.
    std::vector<std::optional<std::vector<std::int64_t>>> inputs;
    int outputs = 1;
    /// Attributes, and constant inputs by their formal names.
    Json attributes = Json::object();
};

/// The position of an input by its formal name; -1: none of that name.
int formalInput(const std::string& domain, const std::string& op, const std::string& name);
/// How many outputs a node can have, and which names its inputs have: in<slot>, out<slot>.
std::string caseInputName(std::size_t slot);
std::string caseOutputName(std::size_t slot);

/// The node in a model at the newest opset. Errors: no such operator, an attribute of a type that
/// JSON does not say.
Result<onnx::ModelProto> buildCaseModel(const NodeCase& node);

struct BuiltNode {
    std::shared_ptr<const Model> model;
    std::shared_ptr<const ShapeTable> shapes;
    RulePtr rule;
};
/// Errors: also those of shape inference, and shapes that do not fit the operator.
Result<BuiltNode> buildCase(const NodeCase& node);

/// A failed case with what was expected and found, or a passed one.
ConformanceCase compareCase(const std::string& id, Json expected, Json found);
ConformanceCase failCase(const std::string& id, std::string note);

// One a schema. Malformed cases throw Json::exception, which the caller turns into a failed case.
ConformanceCase runPaddleCase(const Json& json);
ConformanceCase runShardyCase(const Json& json);
ConformanceCase runOrtCase(const Json& json);

}  // namespace shardwright
