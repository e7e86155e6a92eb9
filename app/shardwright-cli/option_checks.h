// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shardwright::cli {

/// Numbers from `least` to `most`; refuses what is not a number (nan) and says the range.
CLI::Validator between(double least, double most);

/// Whole numbers likewise.
CLI::Validator wholeNumber(std::uint64_t least, std::uint64_t most);

/// One of some words; refuses others, with the near one or all. With numbers for the words the
/// option gets the number (CLI11 reads enums so).
CLI::Validator oneOf(std::vector<std::string> words);
CLI::Validator oneOf(const std::vector<std::pair<std::string, int>>& words);

/// An option whose value is one of some words, which help shows.
template <class Value>
CLI::Option* addChoice(CLI::App& command, const std::string& name, Value& value,
                       const std::vector<std::pair<std::string, Value>>& words,
                       const std::string& description) {
    std::string shown;
    for (const auto& [word, meant] : words)
        shown += (shown.empty() ? "" : "|") + word;
    CLI::Option* option = command.add_option(name, value, description)->type_name(shown);
    if constexpr (std::is_enum_v<Value>) {
        std::vector<std::pair<std::string, int>> numbers;
        for (const auto& [word, meant] : words)
            numbers.emplace_back(word, static_cast<int>(meant));
        return option->transform(oneOf(numbers));
    } else {
        std::vector<std::string> allowed;
        for (const auto& [word, meant] : words)
            allowed.push_back(word);
        return option->check(oneOf(std::move(allowed)));
    }
}

/// What is wrong with the words that name a command ("there is no command `chek`; did you mean
/// 'check'?"); nullopt: they name one, or the parser has to say.
std::optional<std::string> unknownCommand(const CLI::App& app, int argc, char** argv);

/// Throws where `option` is given and `condition` does not hold: it would go unnoticed.
void needs(const CLI::App& command, const std::string& option, bool condition,
           const std::string& what);

}  // namespace shardwright::cli
