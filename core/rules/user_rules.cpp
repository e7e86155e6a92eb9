// SPDX-License-Identifier: Apache-2.0
#include "rules/user_rules.h"

#include <fstream>
#include <iterator>
#include <map>

namespace shardwright {

namespace {

using Alternatives = std::vector<WrittenRule>;

/// Slots that every alternative reads the shape of only.
std::vector<int> shapeOnlySlots(const Alternatives& rules) {
    std::vector<int> slots;
    for (std::size_t slot = 0; slot < rules.front().inputs.size(); ++slot) {
        bool all = true;
        for (const WrittenRule& rule : rules)
            all = all && slot < rule.inputs.size() && rule.inputs[slot].shapeOnly;
        if (all)
            slots.push_back(static_cast<int>(slot));
    }
    return slots;
}

OperatorEntry entryOf(Alternatives rules) {
    OperatorEntry entry;
    entry.domain = rules.front().domain;
    entry.op = rules.front().op;
    entry.family = "user";
    entry.strict = false;
    entry.strictReason = "proposal 0007 does not cover rules of your own";
    entry.shapeOnlySlots = shapeOnlySlots(rules);
    entry.ofFunctions = true;
    entry.build = OwnRules{std::move(rules)};
    return entry;
}

}  // namespace

std::optional<Rule> OwnRules::operator()(const NodeContext& context) const {
    for (const WrittenRule& rule : rules)
        if (auto applied = applyRule(rule, context))
            return applied;
    return std::nullopt;
}

std::string OwnRules::misfit(const NodeContext& context) const {
    std::string text;
    for (const WrittenRule& rule : rules) {
        const std::string why = misfitOfRule(rule, context);
        if (rules.size() > 1 && !why.empty())
            text +=
                (text.empty() ? "" : "; ") + ("rule of line " + std::to_string(rule.line)) + ": ";
        text += why;
    }
    return text;
}

std::string ownNotation(const OperatorEntry& entry) {
    std::string text;
    if (const auto* own = entry.build.target<OwnRules>())
        for (const WrittenRule& rule : own->rules)
            text += (text.empty() ? "" : " | ") + writtenText(rule);
    return text;
}

Result<std::shared_ptr<const Registry>> withUserRules(const Registry& base, std::string_view text,
                                                      const std::string& file) {
    auto parsed = parseRules(text, file);
    if (!parsed)
        return parsed.error();
    std::map<std::pair<std::string, std::string>, Alternatives> byOperator;
    for (WrittenRule& rule : *parsed)
        byOperator[{rule.domain, rule.op}].push_back(std::move(rule));
    auto registry = std::make_shared<Registry>(base);
    for (auto& [name, rules] : byOperator)
        registry->put(entryOf(std::move(rules)));
    return std::shared_ptr<const Registry>(std::move(registry));
}

Result<std::string> readUserRules(const std::filesystem::path& file) {
    constexpr std::size_t kMaxBytes = 1U << 20U;
    std::ifstream stream(file, std::ios::binary);
    if (!stream)
        return Error{"cannot be read", file.string()};
    std::string text(kMaxBytes + 1, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (stream.bad())  // A folder can be opened.
        return Error{"cannot be read", file.string()};
    text.resize(static_cast<std::size_t>(stream.gcount()));
    if (text.size() > kMaxBytes)
        return Error{"a file of rules has at most 1 MiB", file.string()};
    return text;
}

Result<std::shared_ptr<const Registry>> loadUserRules(const Registry& base,
                                                      const std::filesystem::path& file) {
    const auto text = readUserRules(file);
    return text ? withUserRules(base, *text, file.string())
                : Result<std::shared_ptr<const Registry>>(text.error());
}

}  // namespace shardwright
