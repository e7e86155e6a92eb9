// SPDX-License-Identifier: Apache-2.0
#include "check/model_diagnostics.h"

#include "model/external_data.h"

namespace shardwright {

namespace {

Diagnostic word(const GraphIndex& graph, const GraphIndex::Problem& problem) {
    Diagnostic d;
    d.node = problem.node;
    if (problem.value)
        d.tensor = graph.value(problem.value).name;
    const std::string node =
        problem.node ? "`" + graph.label(problem.node) + "`" : std::string("the model");
    const std::string tensor = "`" + d.tensor + "`";
    switch (problem.kind) {
        case GraphIndex::Problem::Kind::ProducedTwice:
            d.code = "SW610";
            d.message = tensor + " is produced by " +
                        (problem.other ? "`" + graph.label(problem.other) + "`" : "the graph") +
                        " and again by " + node + "; the first one counts";
            break;
        case GraphIndex::Problem::Kind::MissingInput:
            d.code = "SW611";
            d.message = node + " reads " + tensor + ", which nothing produces";
            break;
        case GraphIndex::Problem::Kind::OutOfOrder:
            d.code = "SW612";
            d.severity = Severity::Warning;
            d.message = node + " stands before the producer of " +
                        (d.tensor.empty() ? "one of its inputs" : tensor) +
                        "; nodes are not in topological order";
            break;
        case GraphIndex::Problem::Kind::Cycle:
            d.code = "SW613";
            d.message = node + " is on a cycle, or behind one";
            break;
        case GraphIndex::Problem::Kind::DuplicateNodeName:
            d.code = "SW614";
            d.severity = Severity::Info;
            d.message = node + " has a name that another node has too";
            break;
        case GraphIndex::Problem::Kind::UnnamedOutput:
            d.code = "SW615";
            d.severity = Severity::Info;
            d.message = node + " has no named output";
            break;
    }
    return d;
}

/// A problem of one kind in a hundred thousand nodes is told a hundred times, then counted.
constexpr int kMostOfAKind = 100;

}  // namespace

std::vector<Diagnostic> diagnoseModel(const Model& model, const ShapeTable& shapes) {
    std::vector<Diagnostic> result;
    int counts[6] = {};
    for (const GraphIndex::Problem& problem : model.graph().problems) {
        int& count = counts[static_cast<int>(problem.kind)];
        if (++count <= kMostOfAKind)
            result.push_back(word(model.graph(), problem));
    }
    for (const int count : counts)
        if (count > kMostOfAKind) {
            Diagnostic d;
            d.code = "SW619";
            d.severity = Severity::Info;
            d.message = std::to_string(count - kMostOfAKind) +
                        " further problems of one kind are not listed";
            result.push_back(std::move(d));
        }
    int broken = 0;
    for (const ExternalEntry& entry :
         checkExternalData(model.proto(), model.path().parent_path())) {
        if (entry.verdict == ExternalEntry::Verdict::Ok || ++broken > kMostOfAKind)
            continue;
        Diagnostic d;
        d.code = "SW617";
        d.severity = Severity::Warning;
        d.tensor = entry.tensor;
        d.message = "external data of `" + entry.tensor + "`: " + entry.reason;
        result.push_back(std::move(d));
    }
    for (const std::string& complaint : shapes.complaints()) {
        Diagnostic d;
        d.code = "SW616";
        d.severity = Severity::Warning;
        d.message = "shape inference: " + complaint;
        result.push_back(std::move(d));
    }
    return result;
}

}  // namespace shardwright
