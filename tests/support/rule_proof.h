// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"
#include "rules/registry.h"
#include "run/executor.h"
#include "run/ort_engine.h"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardwright::test {

/// One node with inputs: what a rule says of it is tried out on the operator's own kernel.
struct ProofCase {
    std::string name;
    Document document;
    InputSet inputs;
    std::vector<Buffer> expected;  ///< Of the graph's outputs; empty: none are known.
};

/// A folder of model.onnx, input_K.pb and output_K.pb, as ONNX's node tests are written. Inputs
/// whose values the operator's rule reads become initializers, as exporters have them.
Result<ProofCase> readNodeTest(const std::filesystem::path& folder);
/// The operator's example with seeded inputs, at the newest version of its domain at or below
/// `opset`.
Result<ProofCase> exampleCase(const std::string& domain, const std::string& op, int opset);

/// One way to split a node.
struct Split {
    std::map<int, int> axisOf;                                      ///< Factor -> axis of the mesh.
    std::vector<int> mesh;                                          ///< Sizes of the axes.
    enum class Result { Natural, Whole } result = Result::Natural;  ///< What the outputs declare.
};

/// Splits one case and compares with the whole.
class RuleProof {
public:
    /// `registry`: null for the standard rules.
    RuleProof(ProofCase proofCase, std::shared_ptr<const OrtRuntime> runtime,
              std::shared_ptr<const Registry> registry = nullptr);

    /// Why the case shows nothing: no rule, no kernel, other numbers than expected on one device.
    /// Empty: it can be tried.
    const std::string& unusable() const { return m_unusable; }
    const Rule& rule() const { return *m_rule; }
    const ProofCase& proofCase() const { return m_case; }
    std::string op() const { return m_rule->op; }
    /// Factors that the rule lets be split and that have at least two elements.
    std::vector<int> claimed() const;
    /// The others that have at least two elements.
    std::vector<int> notClaimed() const;
    /// All splits to try: each claimed factor over 2 and 3 devices, with and without a result that
    /// is declared whole, and each pair over 2 x 2.
    std::vector<Split> splits() const;
    /// Empty: right on every device, and what was executed is what was predicted.
    std::string run(const Split& split) const;
    std::string describe(const Split& split) const;
    /// Splits a factor of the inputs where the operator is taken apart into the others that ONNX
    /// says it is made of, over 2 and over 3 devices, all else by propagation. "2 all-reduce": what
    /// it took to come out right; nullopt: it has no such body, is wrong, or takes more than
    /// all-reduces.
    std::optional<std::string> throughBody(int factor) const;

private:
    std::optional<std::string> throughBody(int factor, const Document& apart, int devices) const;

    std::string prepare();
    std::string annotate(Document& document, const Split& split, const Mesh& mesh) const;
    Result<RunResult> executed(const Plan& plan) const;
    std::optional<Layout> layoutOf(const TensorMap& map, const std::vector<std::int64_t>& sizes,
                                   const Split& split, const Mesh& mesh) const;

    ProofCase m_case;
    std::shared_ptr<const OrtRuntime> m_runtime;
    std::shared_ptr<const Registry> m_registry;
    std::shared_ptr<const ShapeTable> m_shapes;
    RulePtr m_rule;
    NodeId m_node;
    std::optional<RunResult> m_reference;
    std::string m_unusable;
    bool m_throughBody = false;  ///< The operator has no kernel, but a body of others.
};

/// A way in which a factor that a rule keeps whole might be split all the same.
struct Attempt {
    std::string how;  ///< "joined by sum"
    std::function<void(Rule&, const NodeContext&)> change;
};
/// All that there are for this factor: cut in inputs and outputs, partial results that are joined,
/// one factor with one of the outputs, a masked lookup. None for what only outputs have.
std::vector<Attempt> attemptsAt(const RuleProof& proof, int factor);
/// The standard rules, but for that of `op`.
std::shared_ptr<const Registry> registryWith(const std::string& domain, const std::string& op,
                                             const Attempt& attempt);

}  // namespace shardwright::test
