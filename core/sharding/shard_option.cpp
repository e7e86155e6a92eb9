// SPDX-License-Identifier: Apache-2.0
//
//     SHARD     = TENSOR[@NODE]:DIM=COMPONENT[*COMPONENT...][,DIM=...]  or TENSOR[@NODE]:replicated
//     COMPONENT = AXES | SIZE | SIZE/AXES, AXES = AXIS[+AXIS...]
//
// The last `:` and the last `@` before it that no backslash escapes separate. Escapes stay in the
// globs.

#include "sharding/codes.h"
#include "sharding/glob.h"
#include "sharding/shard_text.h"

#include <algorithm>
#include <charconv>

namespace shardwright {

namespace {

constexpr const char* kForm =
    "TENSOR[@NODE]:DIM=COMPONENT[*COMPONENT...][,DIM=...] or TENSOR[@NODE]:replicated";

template <class Number>
std::optional<Number> parseNumber(std::string_view text) {
    Number number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(separator, begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

bool isAxisName(std::string_view name) {
    const auto letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    return !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
        return letter(c) || (c >= '0' && c <= '9');
    });
}

Result<ShardOption::Dim::Component> parseComponent(std::string_view text) {
    ShardOption::Dim::Component component;
    std::string_view axes = text;
    const std::size_t slash = text.find('/');
    const bool startsWithDigit = !text.empty() && text[0] >= '0' && text[0] <= '9';
    if (slash != std::string_view::npos || startsWithDigit) {
        const std::string_view number = text.substr(0, slash);
        component.size = parseNumber<std::int64_t>(number);
        if (!component.size || *component.size < 1)
            return Error{
                quoteName(number) + " in " + quoteName(text) + " is not a size of at least 1", {}};
        if (slash == std::string_view::npos)
            return component;
        axes = text.substr(slash + 1);
    }
    for (const std::string_view axis : split(axes, '+')) {
        if (!isAxisName(axis))
            return Error{
                quoteName(axis) + " in " + quoteName(text) +
                    " is not an axis name; a part of a dimension is AXES, SIZE or SIZE/AXES",
                {}};
        component.axes.emplace_back(axis);
    }
    return component;
}

Result<ShardOption::Dim> parseDim(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos)
        return Error{quoteName(text) + " is not DIM=COMPONENT; the form is " + kForm, {}};
    const std::optional<int> number = parseNumber<int>(text.substr(0, equals));
    if (!number)
        return Error{quoteName(text.substr(0, equals)) + " is not the number of a dimension", {}};
    ShardOption::Dim dim;
    dim.dim = *number;
    int open = 0;
    for (const std::string_view part : split(text.substr(equals + 1), '*')) {
        auto component = parseComponent(part);
        if (!component)
            return component.error();
        open += component->size ? 0 : 1;
        dim.components.push_back(std::move(*component));
    }
    if (open > 1)
        return Error{"dimension " + std::to_string(dim.dim) + " has " + std::to_string(open) +
                         " parts without a size; only one size can be computed from the others",
                     {}};
    return dim;
}

Result<void> checkTensor(std::string_view tensor) {
    if (tensor.empty())
        return Error{std::string("the tensor is missing; the form is ") + kForm, {}};
    if (tensor[0] != '#')
        return {};
    const bool input = tensor.starts_with("#in");
    const bool output = tensor.starts_with("#out");
    const std::optional<int> slot =
        input || output ? parseNumber<int>(tensor.substr(input ? 3 : 4)) : std::nullopt;
    if (!slot || *slot < 0)
        return Error{
            quoteName(tensor) +
                " is not a slot such as #in1 or #out0; a name that starts with # is written \\#",
            {}};
    return {};
}

Result<ShardOption> parseOption(std::string_view text) {
    const std::size_t colon = findLastUnescaped(text, ':');
    if (colon == std::string_view::npos)
        return Error{std::string("the form is ") + kForm, {}};
    ShardOption option;
    option.text = text;
    const std::string_view left = text.substr(0, colon);
    const std::string_view right = text.substr(colon + 1);
    const std::size_t at = findLastUnescaped(left, '@');
    option.tensor = left.substr(0, at);
    if (at != std::string_view::npos) {
        option.node = left.substr(at + 1);
        if (option.node.empty())
            return Error{"the node after '@' is missing", {}};
    }
    if (const Result<void> ok = checkTensor(option.tensor); !ok)
        return ok.error();
    if (right == "replicated") {
        option.replicated = true;
        return option;
    }
    for (const std::string_view part : split(right, ',')) {
        auto dim = parseDim(part);
        if (!dim)
            return dim.error();
        for (const ShardOption::Dim& other : option.dims) {
            if (other.dim == dim->dim)
                return Error{"dimension " + std::to_string(dim->dim) + " is given twice", {}};
        }
        option.dims.push_back(std::move(*dim));
    }
    return option;
}

}  // namespace

Result<ShardOption> ShardOption::parse(std::string_view text) {
    auto option = parseOption(text);
    if (!option)
        return Error{option.error().message, "--shard " + quoteName(text)};
    return option;
}

}  // namespace shardwright
