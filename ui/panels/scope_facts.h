// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shardwright {

/// Nodes of the scope and of all scopes in it, outer ones first.
std::vector<NodeId> nodesIn(const GraphIndex& graph, ScopeId scope);

/// What there is to say of a scope with all that it holds.
struct ScopeFacts {
    struct Operator {
        std::string domain, name;
        int count = 0;
    };
    std::vector<NodeId> nodes;
    std::vector<Operator> operators;  ///< The most frequent first.
    /// Weights that nodes in it read, each once: how many elements and bytes they have, as far as
    /// their types are known.
    int weights = 0;
    std::int64_t parameters = 0, parameterBytes = 0;
    int explicitNodes = 0;  ///< With a layout or a stage in the file.
    int firstStage = -1, lastStage = -1;
    int nodesWithoutStage = 0;
    /// Collectives that happen at nodes in it, as Communication::byKind counts them.
    std::map<CollectiveKind, Communication::KindTotal> communication;
    std::int64_t communicationBytes = 0;
    int errors = 0, warnings = 0;

    /// All nodes are in the same stage (or in none).
    bool oneStage() const {
        return nodesWithoutStage == 0 ? firstStage == lastStage : lastStage < 0;
    }
};

ScopeFacts scopeFacts(const Analysis& analysis, ScopeId scope);

}  // namespace shardwright
