// SPDX-License-Identifier: Apache-2.0
#include "model/plain_text.h"

#include <algorithm>

namespace shardwright {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool isUnsafe(std::uint32_t code) {
    const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
    const bool lineBreak = code == 0x2028 || code == 0x2029;
    const bool direction = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
    return control || lineBreak || direction;
}

/// Cuts between characters of valid UTF-8.
std::string_view headOf(std::string_view word, std::size_t size) {
    while (size > 0 && (static_cast<unsigned char>(word[size]) & 0xC0U) == 0x80U)
        --size;
    return word.substr(0, size);
}

std::string_view tailOf(std::string_view word, std::size_t size) {
    std::size_t begin = word.size() - size;
    while (begin < word.size() && (static_cast<unsigned char>(word[begin]) & 0xC0U) == 0x80U)
        ++begin;
    return word.substr(begin);
}

void addWord(std::string& line, std::string_view word) {
    constexpr std::size_t kLongest = 400, kHead = 250, kTail = 100;
    if (word.size() <= kLongest) {
        line += word;
        return;
    }
    line += headOf(word, kHead);
    line += "...";
    line += tailOf(word, kTail);
}

}  // namespace

Utf8Character firstCharacter(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    const std::size_t length = lead < 0x80                    ? 1
                               : lead >= 0xC2 && lead <= 0xDF ? 2
                               : lead >= 0xE0 && lead <= 0xEF ? 3
                               : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                              : 0;
    if (length == 0 || length > text.size())
        return {};
    std::uint32_t code = length == 1 ? lead : lead & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U)
            return {};
        code = code << 6 | (byte(i) & 0x3FU);
    }
    const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    return overlong || surrogate || code > 0x10FFFF ? Utf8Character{} : Utf8Character{code, length};
}

std::string oneLine(std::string_view text) {
    std::string safe;
    safe.reserve(text.size());
    while (!text.empty()) {
        const Utf8Character character = firstCharacter(text);
        if (character.length == 0 || isUnsafe(character.code))
            safe += kReplacement;
        else
            safe += text.substr(0, character.length);
        text.remove_prefix(character.length == 0 ? 1 : character.length);
    }
    std::string line;
    for (std::size_t begin = 0; begin <= safe.size();) {
        const std::size_t end = std::min(safe.find(' ', begin), safe.size());
        addWord(line, std::string_view(safe).substr(begin, end - begin));
        if (end < safe.size())
            line += ' ';
        begin = end + 1;
    }
    return line;
}

}  // namespace shardwright
