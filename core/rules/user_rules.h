// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/result.h"
#include "rules/registry.h"
#include "rules/rule_notation.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardwright {

/// What builds the rules of an operator of the user's own: the first that fits the shapes counts.
struct OwnRules {
    std::vector<WrittenRule> rules;
    std::optional<Rule> operator()(const NodeContext& context) const;
    /// Why none fits: "h: the node has no attribute num_heads", of several "rule of line 3: ...".
    std::string misfit(const NodeContext& context) const;
};
/// As they were written, without what follows `where`: "n d -> n d"; empty: the entry is of other
/// origin.
std::string ownNotation(const OperatorEntry& entry);

/// The operators of `base` and those of a file of rules, which win. Several rules of one operator
/// are tried in the order of the file; the first that fits the shapes counts. Error: what
/// parseRules says, or that the file cannot be read.
Result<std::shared_ptr<const Registry>> withUserRules(const Registry& base, std::string_view text,
                                                      const std::string& file);
/// The text of a file of rules. Error: it cannot be read, or has more than 1 MiB.
Result<std::string> readUserRules(const std::filesystem::path& file);
Result<std::shared_ptr<const Registry>> loadUserRules(const Registry& base,
                                                      const std::filesystem::path& file);

}  // namespace shardwright
