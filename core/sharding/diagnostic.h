// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/graph.h"
#include "sharding/edit.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardwright {

enum class Severity { Error, Warning, Unsupported, Communication, Info };
std::string severityName(Severity severity);  ///< "error", "warning", ...

/// A change that would mend a diagnostic.
struct Fix {
    std::string id;     ///< Stable within the code: "gather-a".
    std::string title;  ///< "Gather a over tp at mm2 (131072 bytes)".
    Edit edit;
    std::int64_t bytes = 0;  ///< What the fix moves, all groups; 0: nothing.
};

/// A problem of the model or of its annotations. Codes are stable and documented, one page each in
/// docs/diagnostics.
struct Diagnostic {
    std::string code;  ///< "SW104"
    Severity severity = Severity::Error;
    NodeId node;         ///< Invalid: the model.
    std::string tensor;  ///< Empty: none.
    int dimension = -1;  ///< -1: none.
    std::string message;
    std::vector<Fix> fixes;
};

}  // namespace shardwright
