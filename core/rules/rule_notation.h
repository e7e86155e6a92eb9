// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/result.h"
#include "rules/rule.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardwright {

/// A rule as a person writes it, before it is known on which shapes. See docs/user-rules.md.
struct WrittenRule {
    struct Factor {
        std::string name;
        FactorKind kind = FactorKind::Parallel;
        ReduceKind reduce = ReduceKind::None;
        bool many = false;       ///< `b..`: any number of dimensions, aligned at the last.
        std::string attribute;   ///< Names its size; becomes the local one.
        std::int64_t size = -1;  ///< Given as a number.
        std::string reason;
        int line = 0, column = 0;
    };
    struct Tensor {
        bool present = true, shapeOnly = false, once = false;
        std::vector<std::vector<int>> dims;  ///< Indices into `factors`.
    };

    std::string domain, op;
    std::vector<Factor> factors;
    std::vector<Tensor> inputs, outputs;
    int line = 0, column = 0;
};

/// Reads a file of rules. Error: "FILE:LINE:COLUMN" and what is wrong, was found and is allowed.
Result<std::vector<WrittenRule>> parseRules(std::string_view text, const std::string& file);

/// "b.. m k+, k+ n -> b.. m n": the tensors of a rule as it was written, without what follows
/// `where`.
std::string writtenText(const WrittenRule& written);

/// The rule on the shapes of a node. nullopt: they do not fit it.
std::optional<Rule> applyRule(const WrittenRule& written, const NodeContext& context);

/// Why `applyRule` gives nothing: "h: the node has no attribute num_heads"; empty: it fits.
std::string misfitOfRule(const WrittenRule& written, const NodeContext& context);

/// A rule in that notation, with the sizes of its factors and the reasons, so that reading it back
/// on the same shapes gives the same factors and dimensions. Slices, rewrites and what is added
/// once are not written.
std::string ruleNotation(const Rule& rule);

}  // namespace shardwright
