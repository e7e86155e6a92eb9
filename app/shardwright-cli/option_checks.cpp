// SPDX-License-Identifier: Apache-2.0
#include "option_checks.h"

#include "model/plain_text.h"
#include "sharding/glob.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

namespace shardwright::cli {

namespace {

template <class T>
CLI::Validator inRange(T least, T most, const std::string& what) {
    std::ostringstream range;
    range << least << " to " << most;
    const std::string text = range.str();
    return {[=](std::string& input) {
                T value{};
                const char* end = input.data() + input.size();
                const auto parsed = std::from_chars(input.data(), end, value);
                const bool number = parsed.ec == std::errc() && parsed.ptr == end;
                return number && value >= least && value <= most
                           ? std::string()
                           : "expected " + what + " from " + text + ", found `" + oneLine(input) +
                                 "`";
            },
            "(" + text + ")"};
}

/// Why `input` is none of the words: the near one, or all.
std::string notOneOf(const std::string& input, const std::vector<std::string>& words) {
    const std::string near = suggestion(input, {words.begin(), words.end()});
    std::string all;
    for (std::size_t i = 0; i < words.size(); ++i)
        all += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
    return "expected " + all + ", found `" + oneLine(input) + "`" + near;
}

}  // namespace

CLI::Validator oneOf(std::vector<std::string> words) {
    return {[words = std::move(words)](std::string& input) {
                return std::find(words.begin(), words.end(), input) == words.end()
                           ? notOneOf(input, words)
                           : std::string();
            },
            ""};
}

CLI::Validator oneOf(const std::vector<std::pair<std::string, int>>& words) {
    return {[words](std::string& input) {
                std::vector<std::string> names;
                for (const auto& [word, number] : words) {
                    names.push_back(word);
                    if (word == input)
                        return input = std::to_string(number), std::string();
                }
                return notOneOf(input, names);
            },
            ""};
}

CLI::Validator between(double least, double most) {
    return inRange(least, most, "a number");
}

CLI::Validator wholeNumber(std::uint64_t least, std::uint64_t most) {
    return inRange(least, most, "a whole number");
}

std::optional<std::string> unknownCommand(const CLI::App& app, int argc, char** argv) {
    const CLI::App* command = &app;
    for (int i = 1; i < argc && std::string_view(argv[i]).substr(0, 1) != "-"; ++i) {
        std::set<std::string_view> names;
        const CLI::App* named = nullptr;
        const auto subcommands = command->get_subcommands([](const CLI::App*) { return true; });
        for (const CLI::App* subcommand : subcommands) {
            names.insert(subcommand->get_name());
            named = subcommand->get_name() == argv[i] ? subcommand : named;
        }
        if (names.empty())
            return std::nullopt;
        if (named == nullptr) {
            std::string all;
            for (const std::string_view name : names)
                all += (all.empty() ? "" : ", ") + std::string(name);
            const std::string near = suggestion(argv[i], names);
            return "there is no command `" + oneLine(argv[i]) + "`" +
                   (near.empty() ? "; there are " + all : near);
        }
        command = named;
    }
    return std::nullopt;
}

void needs(const CLI::App& command, const std::string& option, bool condition,
           const std::string& what) {
    if (!condition && command.count(option) > 0)
        throw CLI::ValidationError(option, "is for " + what + " only");
}

}  // namespace shardwright::cli
