// SPDX-License-Identifier: Apache-2.0
#include "model/scope_names.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

namespace shardwright {

namespace {

std::vector<std::string> limited(std::vector<std::string> components) {
    if (components.size() > kMaxScopeDepth) {
        std::string last;
        for (std::size_t i = kMaxScopeDepth - 1; i < components.size(); ++i)
            last += (last.empty() ? "" : "/") + components[i];
        components.resize(kMaxScopeDepth - 1);
        components.push_back(std::move(last));
    }
    return components;
}

/// Turns module paths into components: each is written without the path that it extends.
std::vector<std::string> relativePaths(const std::vector<std::string>& paths) {
    std::vector<std::string> components;
    std::string_view outer;
    for (const std::string& path : paths) {
        if (path.empty() || path == outer)
            continue;
        const bool extends = !outer.empty() && path.size() > outer.size() + 1 &&
                             path.starts_with(outer) && path[outer.size()] == '.';
        components.push_back(extends ? path.substr(outer.size() + 1) : path);
        outer = path;
    }
    return limited(std::move(components));
}

/// The next Python string literal at or behind `at`; false at the closing bracket or at anything
/// unexpected.
bool nextLiteral(std::string_view text, std::size_t& at, std::string& out) {
    while (at < text.size() && (text[at] == ' ' || text[at] == ',' || text[at] == '\n'))
        ++at;
    if (at >= text.size() || (text[at] != '\'' && text[at] != '"'))
        return false;
    const char quote = text[at++];
    out.clear();
    for (; at < text.size() && text[at] != quote; ++at) {
        if (text[at] == '\\' && at + 1 < text.size())
            ++at;
        out.push_back(text[at]);
    }
    if (at >= text.size())
        return false;
    ++at;
    return true;
}

std::vector<std::string> scopesOfPath(std::string_view path) {
    if (path.find('/') == std::string_view::npos)
        return {};
    std::vector<std::string> components = splitPath(path);
    if (!components.empty())
        components.pop_back();
    return limited(std::move(components));
}

}  // namespace

std::vector<std::string> splitPath(std::string_view path) {
    std::vector<std::string> components;
    for (std::size_t begin = 0; begin <= path.size();) {
        const std::size_t end = std::min(path.find('/', begin), path.size());
        if (end > begin)
            components.emplace_back(path.substr(begin, end - begin));
        begin = end + 1;
    }
    return components;
}

std::vector<std::string> scopesFromNameList(std::string_view text) {
    std::vector<std::string> paths;
    const std::size_t open = text.find_first_not_of(" \n");
    if (open == std::string_view::npos || text[open] != '[')
        return {};
    std::size_t at = open + 1;
    for (std::string literal; nextLiteral(text, at, literal);)
        paths.push_back(literal);
    if (at >= text.size() || text[at] != ']' || paths.empty())
        return {};
    paths.pop_back();
    return relativePaths(paths);
}

std::vector<std::string> scopesFromNamespace(std::string_view text) {
    std::vector<std::string> paths;
    bool lastHasType = false;
    for (const std::string& part : splitPath(text)) {
        const std::size_t colon = part.find(": ");
        lastHasType = colon != std::string::npos;
        paths.push_back(part.substr(0, colon));
    }
    if (lastHasType)
        paths.pop_back();
    return relativePaths(paths);
}

std::vector<std::string> scopesOfNode(const onnx::NodeProto& node) {
    std::vector<std::string> scopes;
    for (const auto& entry : node.metadata_props()) {
        // Both say the same; the list cannot be misread where a type has a slash.
        if (entry.key() == "pkg.torch.onnx.name_scopes")
            scopes = scopesFromNameList(entry.value());
        else if (entry.key() == "namespace" && scopes.empty())
            scopes = scopesFromNamespace(entry.value());
    }
    if (scopes.empty())
        scopes = scopesOfPath(node.name());
    for (int i = 0; i < node.output_size() && scopes.empty(); ++i) {
        if (!node.output(i).empty()) {
            scopes = scopesOfPath(node.output(i));
            break;
        }
    }
    return scopes;
}

std::string_view ownName(const onnx::NodeProto& node) {
    const std::string_view name = node.name();
    const std::size_t slash = name.rfind('/');
    const std::string_view own = slash == std::string_view::npos ? name : name.substr(slash + 1);
    return own.empty() ? std::string_view(node.op_type()) : own;
}

}  // namespace shardwright
