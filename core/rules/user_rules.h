// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/result.h"
#include "rules/registry.h"

#include <filesystem>
#include <memory>
#include <string_view>

namespace shardwright {

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
