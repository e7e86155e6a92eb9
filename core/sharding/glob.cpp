// SPDX-License-Identifier: Apache-2.0
#include "sharding/glob.h"

#include "model/scope_names.h"
#include "sharding/codes.h"
#include "sharding/shard_text.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <numeric>

namespace shardwright {

namespace {

constexpr std::size_t kMaxCompared = 200;  // Longer names are not what somebody mistyped.

/// Bytes of the character that starts at `i`.
std::size_t characterSize(std::string_view text, std::size_t i) {
    std::size_t end = i + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
        ++end;
    return end - i;
}

/// Insertions, deletions and changes between two texts.
std::size_t editDistance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row[b.size()];
}

std::string withoutWildcards(std::string_view glob) {
    std::string text;
    for (std::size_t i = 0; i < glob.size(); ++i) {
        if (glob[i] == '\\' && i + 1 < glob.size())
            text += glob[++i];
        else if (glob[i] != '*' && glob[i] != '?')
            text += glob[i];
    }
    return text;
}

}  // namespace

std::size_t findUnescaped(std::string_view text, char c) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\')
            ++i;
        else if (text[i] == c)
            return i;
    }
    return std::string_view::npos;
}

std::size_t findLastUnescaped(std::string_view text, char c) {
    std::size_t last = std::string_view::npos;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\')
            ++i;
        else if (text[i] == c)
            last = i;
    }
    return last;
}

std::optional<std::string> literalOf(std::string_view glob) {
    if (findUnescaped(glob, '*') != std::string_view::npos ||
        findUnescaped(glob, '?') != std::string_view::npos)
        return std::nullopt;
    return withoutWildcards(glob);
}

bool globMatches(std::string_view pattern, std::string_view text) {
    constexpr std::size_t kNone = std::string_view::npos;
    std::size_t p = 0, t = 0, star = kNone, mark = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            mark = t;
            continue;
        }
        const bool escaped = p + 1 < pattern.size() && pattern[p] == '\\';
        if (p < pattern.size() && !escaped && pattern[p] == '?') {
            ++p;
            t += characterSize(text, t);
        } else if (p < pattern.size() && pattern[p + (escaped ? 1 : 0)] == text[t]) {
            p += escaped ? 2 : 1;
            ++t;
        } else if (star != kNone) {
            // Only the last star needs another try: an earlier one could not match more than it
            // did.
            p = star + 1;
            t = ++mark;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*')
        ++p;
    return p == pattern.size();
}

bool nodeMatches(std::string_view pattern, const GraphIndex& graph, NodeId node) {
    const std::size_t mark = findUnescaped(pattern, '!');
    if (mark != std::string_view::npos) {
        if (!globMatches(pattern.substr(0, mark), graph.opType(node)))
            return false;
        pattern.remove_prefix(mark + 1);
    }
    if (pattern == "*")
        return true;
    const NodeInfo& info = graph.node(node);
    const std::string& name = info.proto->name();
    if (globMatches(pattern, name.empty() ? graph.label(node) : name))
        return true;
    const std::string& scope = graph.scope(info.scope).path;
    if (scope.empty())
        return false;
    return globMatches(pattern, scope + "/" + std::string(ownName(*info.proto)));
}

std::vector<std::string> nearNames(std::string_view glob, const std::set<std::string_view>& names) {
    constexpr std::size_t kMaxNames = 50000;
    const std::string wanted = withoutWildcards(glob);
    if (wanted.empty() || wanted.size() > kMaxCompared)
        return {};
    const std::size_t limit = std::max<std::size_t>(2, wanted.size() / 3);
    std::vector<std::pair<std::size_t, std::string_view>> near;
    std::size_t looked = 0;
    for (const std::string_view name : names) {
        if (++looked > kMaxNames)
            break;
        if (name.empty() || name.size() > kMaxCompared)
            continue;
        const std::size_t slash = name.rfind('/');
        const std::string_view last =
            slash == std::string_view::npos ? name : name.substr(slash + 1);
        std::size_t distance = limit + 1;
        for (const std::string_view candidate : {name, last}) {
            const std::size_t difference = candidate.size() > wanted.size()
                                               ? candidate.size() - wanted.size()
                                               : wanted.size() - candidate.size();
            if (difference <= limit)
                distance = std::min(distance, editDistance(wanted, candidate));
        }
        // Part of a name is a likely slip too, behind the near ones.
        if (distance > limit && wanted.size() >= 3 && name.find(wanted) != std::string_view::npos)
            distance = limit;
        if (distance <= limit)
            near.emplace_back(distance, name);
    }
    constexpr std::size_t kShown = 3;
    std::stable_sort(near.begin(), near.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> result;
    for (std::size_t i = 0; i < near.size() && i < kShown; ++i)
        result.emplace_back(near[i].second);
    return result;
}

std::string suggestion(std::string_view glob, const std::set<std::string_view>& names) {
    std::string text;
    const std::vector<std::string> near = nearNames(glob, names);
    for (std::size_t i = 0; i < near.size(); ++i)
        text += (i == 0                 ? "; did you mean "
                 : i + 1 == near.size() ? " or "
                                        : ", ") +
                quoteName(near[i]);
    return text.empty() ? text : text + "?";
}

}  // namespace shardwright
