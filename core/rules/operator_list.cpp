// SPDX-License-Identifier: Apache-2.0
#include "rules/operator_list.h"

#include "rules/examples.h"
#include "rules/proven.h"
#include "rules/user_rules.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <tuple>

namespace shardwright {

std::string factorKindName(FactorKind kind) {
    switch (kind) {
        case FactorKind::Parallel: return "parallel";
        case FactorKind::Reduction: return "reduction";
        case FactorKind::Whole: return "whole";
        case FactorKind::Neighbour: return "neighbour";
    }
    return "whole";
}

namespace {

void addUses(const std::vector<TensorMap>& maps, const char* prefix, std::vector<FactorRow>& rows) {
    for (std::size_t slot = 0; slot < maps.size(); ++slot)
        for (std::size_t d = 0; d < maps[slot].dims.size(); ++d)
            for (const int f : maps[slot].dims[d])
                rows[static_cast<std::size_t>(f)].uses.push_back(
                    {prefix + std::to_string(slot), static_cast<int>(d)});
}

void setProven(OperatorRow& row, const OperatorEntry* entry) {
    const auto is = [&](const auto& p) { return p.domain == row.domain && p.op == row.op; };
    if (entry != nullptr && !ownNotation(*entry).empty()) {
        row.notProven = "it is a rule of your own";
        return;
    }
    const auto proven = provenOperators();
    row.proven = std::any_of(proven.begin(), proven.end(), is);
    const auto unproven = unprovenOperators();
    if (const auto at = std::find_if(unproven.begin(), unproven.end(), is); at != unproven.end())
        row.notProven = at->reason;
    else if (!row.proven)
        row.notProven = "it has not been tried";
}

/// `entry` may be null: an operator that has the rule of its graphs.
OperatorRow rowOf(const std::string& domain, const std::string& op, const OperatorEntry* entry,
                  const Registry& registry) {
    OperatorRow row;
    row.domain = domain;
    row.op = op;
    if (entry != nullptr) {
        row.family = entry->family;
        row.strict = entry->strict;
        row.strictReason = entry->strictReason;
        row.dataDependent = entry->dataDependent;
        row.rule = ownNotation(*entry);
    }
    if (const auto* schema = onnx::OpSchemaRegistry::Schema(op, domain)) {
        row.sinceVersion = schema->SinceVersion();
        row.deprecated = schema->Deprecated();
    }
    setProven(row, entry);
    const OperatorExample* example = findExample(domain, op);
    const auto model = example ? exampleModel(*example)
                               : Result<std::shared_ptr<const Model>>(Error{"no example", op});
    if (!model)
        return row;
    row.example = example->graph;
    const auto rules = RuleTable::build(*model, ShapeTable::build(*model, {}), {}, registry);
    const Rule& rule = *rules->of((*model)->graph().main().nodes.back());
    if (!rule.known && !row.rule.empty())
        return row;  // A rule of the user's own for other shapes.
    row.rule = rule.text();
    row.factors = factorRows(rule);
    if (entry == nullptr) {
        row.family = rule.family;
        row.strict = rule.strict;
        row.strictReason = rule.strictReason;
    }
    return row;
}

}  // namespace

std::vector<FactorRow> factorRows(const Rule& rule) {
    std::vector<FactorRow> rows;
    for (std::size_t f = 0; f < rule.factors.size(); ++f) {
        const Factor& factor = rule.factors[f];
        const bool extra =
            std::any_of(rule.slices.begin(), rule.slices.end(), [&](const SliceExtra& slice) {
                return slice.factor == static_cast<int>(f);
            });
        rows.push_back(
            {factor.name, factor.size, factor.kind, factor.reduce, factor.reason, extra, {}});
    }
    addUses(rule.inputs, "#in", rows);
    addUses(rule.outputs, "#out", rows);
    return rows;
}

std::vector<OperatorRow> operatorRows(const Registry& registry) {
    std::vector<OperatorRow> rows;
    for (const OperatorEntry& entry : registry.entries())
        rows.push_back(rowOf(entry.domain, entry.op, &entry, registry));
    for (const OperatorExample& example : operatorExamples())
        if (registry.find(example.domain, example.op) == nullptr)
            rows.push_back(rowOf(example.domain, example.op, nullptr, registry));
    std::sort(rows.begin(), rows.end(), [](const OperatorRow& a, const OperatorRow& b) {
        return std::tie(a.domain, a.op) < std::tie(b.domain, b.op);
    });
    return rows;
}

}  // namespace shardwright
