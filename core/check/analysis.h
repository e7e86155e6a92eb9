// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communication.h"
#include "inference/meaning.h"
#include "sharding/diagnostic.h"

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

    int count(Severity severity) const;
    MeaningInput meaningInput() const;
    const GraphIndex& graph() const { return document.graph(); }
};

/// Runs analyses and keeps what can be kept between them (shapes and rules by bindings, solutions,
/// plans). Not thread safe: one job at a time.
class Analyser {
public:
    Analyser();
    ~Analyser();
    /// Error: an unknown configuration name (lists those there are), or cancelled.
    Result<std::shared_ptr<const Analysis>>
    run(const Document& document, const AnalysisOptions& options, const CancelToken& = {});

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

}  // namespace shardwright
