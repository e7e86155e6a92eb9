// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communication.h"
#include "inference/meaning.h"
#include "sharding/diagnostic.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shardwright {

enum class Profile { Strict, Extended };

struct AnalysisOptions {
    std::string configuration;  ///< Empty: the only one, else `default`, else the first.
    Profile profile = Profile::Extended;
    Bindings bindings;
    std::shared_ptr<const Registry> registry{};  ///< Null: the standard operators.
};

/// Everything the program knows of a document in one configuration: a snapshot that views and the
/// command line read.
struct Analysis {
    Document document;
    AnalysisOptions options;
    std::shared_ptr<const ShapeTable> shapes;
    std::shared_ptr<const RuleTable> rules;
    bool hasConfiguration = false;  ///< False: no configuration; layouts are all everywhere.
    Configuration configuration;
    DecodedAnnotations annotations;
    Meaning meaning;
    Communication communication;
    std::vector<Diagnostic> diagnostics;  ///< All codes, errors first, then by node.
    /// Empty: all is there. Else a first piece, in which these nodes (ascending), and the layouts
    /// of all that they follow from, are as in the whole. Diagnostics and communication are of
    /// these nodes only (a reshard for several consumers stands at the first of them). Other nodes
    /// have the layouts of the completion that `meaning.basis` names, or none.
    std::vector<NodeId> piece;

    bool isPiece() const { return !piece.empty(); }
    /// Whether all of the node is there.
    bool covers(NodeId node) const;
    int count(Severity severity) const;
    MeaningInput meaningInput() const;
    const GraphIndex& graph() const { return document.graph(); }
};

/// What somebody looks at while an analysis runs, and wants to know before the rest.
struct FirstPiece {
    std::vector<NodeId> nodes;
    /// Gets the piece, in the thread that runs the analysis. Not called where nothing is put off.
    std::function<void(std::shared_ptr<const Analysis>)> deliver{};
    /// What takes so few nodes is done before anybody notices: nothing is put off.
    std::size_t atOnce = 1000;
};

/// Runs analyses and keeps what can be kept between them (shapes and rules by bindings, solutions,
/// plans). Not thread safe: one job at a time.
class Analyser {
public:
    Analyser();
    ~Analyser();
    /// Error: an unknown configuration name (lists those there are), or cancelled. The result is
    /// the same whatever is wanted first.
    Result<std::shared_ptr<const Analysis>> run(const Document& document,
                                                const AnalysisOptions& options,
                                                const CancelToken& = {}, const FirstPiece& = {});

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

}  // namespace shardwright
