// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace shardwright::cli {

/// Numbers from `least` to `most`; refuses what is not a number (nan) and says the range.
CLI::Validator between(double least, double most);

/// Whole numbers likewise.
CLI::Validator wholeNumber(std::uint64_t least, std::uint64_t most);

/// What is wrong with the words that name a command ("there is no command `chek`; did you mean
/// 'check'?"); nullopt: they name one, or the parser has to say.
std::optional<std::string> unknownCommand(const CLI::App& app, int argc, char** argv);

/// Throws where `option` is given and `condition` does not hold: it would go unnoticed.
void needs(const CLI::App& command, const std::string& option, bool condition,
           const std::string& what);

}  // namespace shardwright::cli
