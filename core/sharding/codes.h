// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sharding/diagnostic.h"

#include <span>
#include <string_view>

namespace shardwright {

/// One stable code with what its page in docs/diagnostics says. Each folder that gives diagnostics
/// has such a table.
struct CodeInfo {
    const char* code;
    Severity severity;
    const char* title;
    const char* why;
    const char* example;
    const char* fix;
};

/// Codes of core/sharding: SW1xx annotation malformed, SW2xx layout, SW40x stages, SW60x model
/// version.
std::span<const CodeInfo> shardingCodes();
/// Null: not a code of this folder.
const CodeInfo* findShardingCode(std::string_view code);

/// How long a list or a name in a message gets before it is cut.
inline constexpr std::size_t kMaxQuoted = 80;
/// A name in quotes for a message, control characters replaced, long names cut in the middle.
std::string quoteName(std::string_view name);

}  // namespace shardwright
