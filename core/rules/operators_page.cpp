// SPDX-License-Identifier: Apache-2.0
#include "rules/operator_list.h"

#include <algorithm>
#include <map>

namespace shardwright {

namespace {

std::string escaped(std::string text) {
    for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
        text.insert(at, "\\");
    return text;
}

std::string list(const std::vector<std::string>& items, const char* separator) {
    std::string text;
    for (const std::string& item : items)
        text += (text.empty() ? "" : separator) + item;
    return text;
}

std::string shardable(const OperatorRow& row) {
    std::vector<std::string> items;
    for (const FactorRow& factor : row.factors)
        if (factor.shardable())
            items.push_back("`" + factor.name + "`" +
                            (factor.kind == FactorKind::Reduction
                                 ? " (" + reduceKindName(factor.reduce) + ")"
                             : factor.kind == FactorKind::Neighbour ? " (borders)"
                                                                    : ""));
    return list(items, ", ");
}

/// Factors that share a reason are named together.
std::string blocked(const OperatorRow& row) {
    std::vector<std::pair<std::string, std::vector<std::string>>> byReason;
    for (const FactorRow& factor : row.factors) {
        if (factor.shardable())
            continue;
        const auto at = std::find_if(byReason.begin(), byReason.end(), [&](const auto& entry) {
            return entry.first == factor.reason;
        });
        if (at == byReason.end())
            byReason.push_back({factor.reason, {"`" + factor.name + "`"}});
        else
            at->second.push_back("`" + factor.name + "`");
    }
    std::vector<std::string> items;
    for (const auto& [reason, names] : byReason)
        items.push_back(list(names, ", ") + ": " + reason);
    if (!row.dataDependent.empty())
        items.push_back("where the sizes of the outputs are not known, everything: " +
                        row.dataDependent);
    return list(items, "; ");
}

}  // namespace

std::string operatorsPage(const std::vector<OperatorRow>& rows) {
    std::string page =
        "# Operators\n\n"
        "What can be split, operator by operator: the table that `shardwright-cli rule --list` "
        "prints, written by a test from the same rules.\n\n"
        "A rule names the factors (loop indices) of each dimension of each input and output, on an "
        "example. `k+` is summed over (`k+max` and so on: joined otherwise), `h^` must be whole, "
        "`a~` needs neighbours; `(a b)` is one dimension of two factors, `1` one without, `.` a "
        "tensor of rank 0, `_` an omitted one, `(shape)` one of which only the shape is read. "
        "`shardwright-cli rule OP --shape ...` says the same of other shapes. Of a neighbour "
        "factor "
        "that can be split, what is read beyond the border of a shard is sent, or (Slice) not "
        "read.\n\n"
        "*Profile* strict: proposal 0007 covers the operator; extended: this program does. "
        "*Proven*: every split that is claimed for the example was run on the operator's kernel "
        "and "
        "compared with the whole; else why not: nothing is claimed, or nothing runs it here (what "
        "ONNX Runtime says). Splits that "
        "would work and are not claimed have [a list](unclaimed-splits.md).\n";
    std::map<std::string, std::vector<const OperatorRow*>> byDomain;
    for (const OperatorRow& row : rows)
        byDomain[row.domain].push_back(&row);
    for (const auto& [domain, members] : byDomain) {
        page += "\n## " + (domain.empty() ? std::string("ai.onnx") : domain) + "\n\n";
        page += "| operator | since | family | profile | rule | can be split | must be whole | "
                "proven |\n|---|---|---|---|---|---|---|---|\n";
        for (const OperatorRow* row : members)
            page += "| " + row->op + (row->deprecated ? " (deprecated)" : "") + " | " +
                    std::to_string(row->sinceVersion) + " | " + row->family + " | " +
                    (row->strict ? "strict" : "extended") + " | " +
                    (row->rule.empty() ? "" : "`" + escaped(row->rule) + "`") + " | " +
                    shardable(*row) + " | " + escaped(blocked(*row)) + " | " +
                    (row->proven ? "yes" : "no: " + escaped(row->notProven)) + " |\n";
    }
    return page;
}

}  // namespace shardwright
