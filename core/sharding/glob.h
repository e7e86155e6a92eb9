// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace shardwright {

/// Position of the first or last `c` that no backslash escapes; npos: none.
std::size_t findUnescaped(std::string_view text, char c);
std::size_t findLastUnescaped(std::string_view text, char c);

/// The only text that a glob without `*` and `?` matches, its escapes taken away; nullopt: it has
/// wildcards.
std::optional<std::string> literalOf(std::string_view glob);

/// Up to three of `names` that somebody may have meant with `glob`, nearest first, by edit distance
/// to the whole name or to its last path component.
std::vector<std::string> nearNames(std::string_view glob, const std::set<std::string_view>& names);

/// "; did you mean 'a' or 'b'?", empty where nothing is near.
std::string suggestion(std::string_view glob, const std::set<std::string_view>& names);

}  // namespace shardwright
