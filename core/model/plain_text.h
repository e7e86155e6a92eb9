// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shardwright {

/// Text that may have names from a file in it, as one line for a terminal or a log: control
/// characters (line breaks too, so that a name cannot forge a line), marks that turn the direction
/// of writing and bytes that are not UTF-8 become U+FFFD; very long words lose their middle.
std::string oneLine(std::string_view text);

/// A character of UTF-8 text and its length in bytes; length 0: it is not UTF-8.
struct Utf8Character {
    std::uint32_t code = 0;
    std::size_t length = 0;
};
/// The first of a text that is not empty.
Utf8Character firstCharacter(std::string_view text);

}  // namespace shardwright
