// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/assign.h"
#include "check/report.h"
#include "support/model_builder.h"

#include <QString>

#include <algorithm>
#include <random>

namespace shardwright::test {

/// Everything that an analysis says, without the layout pool that it came from.
struct AnalysisReport {
    Json check, infer, comm;
    bool operator==(const AnalysisReport&) const = default;
};

inline AnalysisReport reportOf(const Analysis& analysis) {
    return {checkJson(analysis), inferJson(analysis), commJson(analysis)};
}

/// Empty: none.
inline QString firstDifference(const AnalysisReport& a, const AnalysisReport& b) {
    const Json patch = Json::diff(Json{{"check", a.check}, {"infer", a.infer}, {"comm", a.comm}},
                                  Json{{"check", b.check}, {"infer", b.infer}, {"comm", b.comm}});
    return patch.empty() ? QString() : QString::fromStdString(patch[0].dump());
}

/// Edits of all kinds at random places, the same for a seed.
class RandomEdits {
public:
    explicit RandomEdits(unsigned seed) : m_random(seed) {}

    unsigned below(std::size_t n) { return static_cast<unsigned>(m_random() % n); }
    NodeId node(const GraphIndex& graph) {
        return graph.main().nodes[below(graph.main().nodes.size())];
    }
    /// Error: it does not fit where it fell.
    Result<Edit> next(const Document& document, const Analysis& analysis) {
        const GraphIndex& graph = document.graph();
        const NodeId node = this->node(graph);
        const auto& info = graph.node(node);
        const bool output = below(3) == 0 || info.inputs.empty();
        const auto& values = output ? info.outputs : info.inputs;
        if (values.empty())
            return Edit{};
        const TensorSlot slot{node, output, static_cast<int>(below(values.size()))};
        const std::size_t axes = analysis.configuration.mesh.axes.size();
        switch (below(6)) {
            case 0: return assignReplicated(document, analysis, {&slot, 1});
            case 1: return removeSpecs(document, analysis, {&slot, 1});
            case 2:
                return assignStage(document, analysis, {&node, 1}, static_cast<int>(below(3)) - 1);
            case 3:
                if (below(5) == 0)
                    return clearNodes(document, analysis, {&node, 1});
                [[fallthrough]];
            default:
                return assignAxes(document, analysis, {&slot, 1}, static_cast<int>(below(3)),
                                  {static_cast<int>(below(axes))});
        }
    }

private:
    std::mt19937 m_random;
};

/// Nodes in a row, one of them with bodies that read values from outside.
inline ModelBuilder modelWithBody() {
    const ModelBuilder then =
        ModelBuilder{}.op("MatMul", {"h", "w"}, {"t"}, "inner").output("t", {8, 16});
    const ModelBuilder otherwise =
        ModelBuilder{}.op("Relu", {"h"}, {"e"}, "other").output("e", {8, 16});
    return ModelBuilder{}
        .input("x", {8, 16})
        .input("flag", {}, onnx::TensorProto::BOOL)
        .weight("w", {16, 16})
        .op("Relu", {"x"}, {"h"}, "first")
        .op("If", {"flag"}, {"y"}, "choice",
            {{"then_branch", then.graph("then")}, {"else_branch", otherwise.graph("else")}})
        .op("Neg", {"y"}, {"z"}, "last")
        .output("z", {8, 16});
}

}  // namespace shardwright::test
