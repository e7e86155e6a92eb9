// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/proposal_list.h"

#include "check/find.h"

#include <map>
#include <tuple>
#include <unordered_map>

namespace shardwright {
namespace {

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

/// Where the run of digits, or of anything else, that begins at `from` ends.
std::size_t endOfRun(std::string_view text, std::size_t from) {
    std::size_t end = from;
    while (end < text.size() && isDigit(text[end]) == isDigit(text[from]))
        ++end;
    return end;
}

std::string withoutNumbers(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t end = endOfRun(text, i);
        if (isDigit(text[i]))
            result += '*';
        else
            result += text.substr(i, end - i);
        i = end;
    }
    return result;
}

/// Finds what looks alike: each scope, operator and sharding gets a number, so that keys are small.
class Grouper {
public:
    explicit Grouper(const ProposalList& list) : m_list(list), m_graph(list.graph()) {}

    std::vector<ProposalGroup> run(const CancelToken& cancel) {
        countPlaces();
        std::map<Key, std::size_t> known;
        std::vector<ProposalGroup> groups;
        const auto& proposals = m_list.proposals.proposals;
        for (std::size_t i = 0; i < proposals.size() && !cancel.cancelled(); ++i) {
            const auto [it, added] = known.try_emplace(keyOf(proposals[i]), groups.size());
            if (added)
                groups.emplace_back();
            groups[it->second].push_back(static_cast<std::uint32_t>(i));
        }
        return groups;
    }

private:
    /// Scope, operator, place among those of the operator in the scope, slot, layout.
    using Key = std::tuple<int, int, int, bool, int, AxisSharding, bool>;

    static int number(std::unordered_map<std::string, int>& numbers, std::string text) {
        return numbers.try_emplace(std::move(text), static_cast<int>(numbers.size())).first->second;
    }

    void countPlaces() {
        m_places.assign(m_graph.nodes.size(), 0);
        m_ops.assign(m_graph.nodes.size(), 0);
        for (const ScopeInfo& scope : m_graph.scopes) {
            m_scopes.push_back(number(m_paths, withoutNumbers(scope.path)));
            std::unordered_map<int, int> seen;
            for (const NodeId node : scope.nodes) {
                const int op = number(m_names, std::string(m_graph.domain(node)) + "." +
                                                   std::string(m_graph.opType(node)));
                m_ops[node.index()] = op;
                m_places[node.index()] = seen[op]++;
            }
        }
    }

    Key keyOf(const Proposal& proposal) const {
        const NodeId node = proposal.slot.node;
        return {m_scopes[m_graph.node(node).scope.index()],
                m_ops[node.index()],
                m_places[node.index()],
                proposal.slot.output,
                proposal.slot.slot,
                proposal.sharding,
                proposal.reshard};
    }

    const ProposalList& m_list;
    const GraphIndex& m_graph;
    std::unordered_map<std::string, int> m_paths, m_names;
    std::vector<int> m_scopes, m_ops, m_places;
};

}  // namespace

Result<std::shared_ptr<const ProposalList>>
makeProposalList(std::shared_ptr<const Analysis> analysis, const PropagationOptions& options,
                 const CancelToken& cancel) {
    auto proposals = proposeLayouts(*analysis, options, cancel);
    if (!proposals)
        return proposals.error();
    auto list = std::make_shared<ProposalList>();
    list->analysis = std::move(analysis);
    list->options = options;
    list->proposals = std::move(*proposals);
    list->groups = Grouper(*list).run(cancel);
    return std::shared_ptr<const ProposalList>(std::move(list));
}

std::vector<ProposalGroup> searchedGroups(const ProposalList& list, std::string_view query,
                                          const CancelToken& cancel) {
    if (query.empty())
        return list.groups;
    std::vector<bool> found(list.graph().nodes.size(), false);
    for (const NodeId node : findNodes(*list.analysis, query, cancel))
        found[node.index()] = true;
    std::vector<ProposalGroup> groups;
    for (const ProposalGroup& group : list.groups) {
        ProposalGroup kept;
        for (const std::uint32_t i : group)
            if (found[list.proposals.proposals[i].slot.node.index()])
                kept.push_back(i);
        if (!kept.empty())
            groups.push_back(std::move(kept));
    }
    return groups;
}

std::string commonName(std::string_view first, std::string_view last) {
    std::string result;
    std::size_t i = 0, k = 0;
    while (i < first.size() && k < last.size()) {
        const std::size_t endI = endOfRun(first, i), endK = endOfRun(last, k);
        const auto a = first.substr(i, endI - i), b = last.substr(k, endK - k);
        if (a == b)
            result += a;
        else if (isDigit(a[0]) && isDigit(b[0]))
            result += '*';
        else
            return std::string(first);
        i = endI;
        k = endK;
    }
    return i == first.size() && k == last.size() ? result : std::string(first);
}

}  // namespace shardwright
