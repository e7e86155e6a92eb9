// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/document.h"
#include "model/result.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shardwright {

/// One node that shows an operator's rule: the table of all operators, its page of the
/// documentation and tests of the rules are derived from it. Sizes are at least 2, and most are
/// even.
struct OperatorExample {
    std::string domain;
    std::string op;
    /// A graph in ONNX's text syntax after its name: inputs, outputs (the types of which may be
    /// left out), initializers, one node. Empty: none.
    ///   (float[4,8] a, float[8,6] b) => (y) { y = MatMul(a, b) }
    std::string graph;
    int opset = 0;  ///< Of the domain. 0: the newest that the linked libonnx knows, else 1.
};

/// The rows of all domains.
const std::vector<OperatorExample>& operatorExamples();
/// Null: there is none.
const OperatorExample* findExample(std::string_view domain, std::string_view op);

/// A model of `graph` (as in OperatorExample). Error: what the parser says of it.
Result<std::shared_ptr<const Model>> exampleModel(const OperatorExample& example);

// Rows by domain, each in its own file.
std::vector<OperatorExample> onnxExamples();
std::vector<OperatorExample> machineLearningExamples();
std::vector<OperatorExample> contribExamples();

/// The newest version of a domain's operators that the linked libonnx knows; 1 where it knows none.
int newestOpset(const std::string& domain);

}  // namespace shardwright
