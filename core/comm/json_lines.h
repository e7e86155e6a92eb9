// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace shardwright {

/// The document, or nothing and the line (from 1) where it stops being JSON, or is nested more than
/// 64 levels deep.
std::optional<nlohmann::ordered_json> parseJsonWithLine(std::string_view text, int& line);
/// The line (from 1) of the field or element at a JSON pointer ("/links/1/devices"), or of the
/// nearest thing around it that is there. `text` is JSON.
int jsonLineOf(std::string_view text, const std::string& pointer);

}  // namespace shardwright
