// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shardwright::test {

/// Rows of a list that the documentation keeps and a test keeps from growing: the row without its
/// number, and the number (how many nodes; 1 where rows have none).
using KeptRows = std::map<std::string, int>;

/// What a comparison with the kept list found.
struct KeptChange {
    std::vector<std::string> grown;   ///< New rows, and rows with a larger number.
    std::vector<std::string> shrunk;  ///< Rows that are gone, or have a smaller number.
};

/// "| a | 3 | b |" as ("| a | # | b |", 3), by its cell `column`; -1: rows have no number.
inline std::pair<std::string, int> keptRow(std::string_view line, int column) {
    if (column < 0)
        return {std::string(line), 1};
    std::size_t from = 1;
    for (int i = 0; i < column && from != std::string_view::npos; ++i)
        from = line.find(" | ", from) == std::string_view::npos ? line.npos
                                                                : line.find(" | ", from) + 2;
    if (from == std::string_view::npos)
        return {std::string(line), 1};
    const std::size_t to = std::min(line.find(" |", from), line.size());
    return {std::string(line.substr(0, from)) + " #" + std::string(line.substr(to)),
            std::atoi(std::string(line.substr(from, to - from)).c_str())};
}

/// The rows of the last table of a page.
inline KeptRows keptRows(std::string_view page, int column) {
    KeptRows rows;
    const std::size_t rule = page.rfind("|---");
    std::size_t at = rule == page.npos ? page.npos : page.find('\n', rule);
    while (at != page.npos && at + 1 < page.size()) {
        const std::size_t end = std::min(page.find('\n', at + 1), page.size());
        if (const std::string_view line = page.substr(at + 1, end - at - 1); line.starts_with('|'))
            rows.insert(keptRow(line, column));
        at = end;
    }
    return rows;
}

inline KeptChange compareKept(const KeptRows& kept, const KeptRows& found) {
    KeptChange change;
    const auto text = [](const auto& row) {
        return row.first + (row.second == 1 ? "" : " (" + std::to_string(row.second) + ")");
    };
    for (const auto& row : found)
        if (const auto at = kept.find(row.first); at == kept.end() || at->second < row.second)
            change.grown.push_back(text(row));
    for (const auto& row : kept)
        if (const auto at = found.find(row.first); at == found.end() || at->second < row.second)
            change.shrunk.push_back(text(row));
    return change;
}

}  // namespace shardwright::test
