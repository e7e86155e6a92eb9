// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/node_search.h"

#include "check/find.h"

#include <algorithm>
#include <string>

namespace shardwright {
namespace {

/// The words of a query as findNodes takes them apart; quotes keep spaces.
std::vector<std::string> wordsOf(std::string_view query) {
    std::vector<std::string> words(1);
    bool quoted = false;
    for (const char c : query) {
        if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == ' ' || c == '\t'))
            words.emplace_back();
        else
            words.back() += c;
    }
    std::erase(words, std::string());
    return words;
}

/// Marks the nodes that have the word in the name of a tensor and nowhere else. A word with a key,
/// such as op:MatMul, marks none: no name has it.
void markByTensor(const Analysis& analysis, const std::string& word, const CancelToken& cancel,
                  std::vector<bool>& byTensor) {
    const auto find = [&](std::string_view key) {
        return findNodes(analysis, '"' + std::string(key) + ':' + word + '"', cancel);
    };
    std::vector<bool> marked(byTensor.size());
    for (const NodeId node : find("tensor"))
        marked[node.index()] = true;
    for (const std::string_view key : {"name", "op", "scope"})
        for (const NodeId node : find(key))
            marked[node.index()] = false;
    for (std::size_t i = 0; i < marked.size(); ++i)
        byTensor[i] = byTensor[i] || marked[i];
}

}  // namespace

std::vector<NodeId> searchNodes(const Analysis& analysis, std::string_view query,
                                const CancelToken& cancel) {
    std::vector<NodeId> found = findNodes(analysis, query, cancel);
    const std::vector<std::string> words = wordsOf(query);
    std::vector<bool> byTensor(analysis.graph().nodes.size());
    for (const std::string& word : words)
        markByTensor(analysis, word, cancel, byTensor);
    if (cancel.cancelled())
        return {};
    const auto others =
        std::ranges::stable_partition(found, [&](NodeId node) { return !byTensor[node.index()]; });
    if (words.size() > 1 && others.begin() != found.begin())
        found.erase(others.begin(), others.end());
    return found;
}

}  // namespace shardwright
