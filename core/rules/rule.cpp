// SPDX-License-Identifier: Apache-2.0
#include "rules/rule.h"

namespace shardwright {

std::string reduceKindName(ReduceKind kind) {
    switch (kind) {
        case ReduceKind::None: return "none";
        case ReduceKind::Sum: return "sum";
        case ReduceKind::Prod: return "prod";
        case ReduceKind::Min: return "min";
        case ReduceKind::Max: return "max";
        case ReduceKind::And: return "and";
        case ReduceKind::Or: return "or";
    }
    return "none";
}

namespace {

std::string factorText(const Factor& factor) {
    switch (factor.kind) {
        case FactorKind::Parallel: return factor.name;
        case FactorKind::Reduction:
            return factor.name + "+" +
                   (factor.reduce == ReduceKind::Sum ? "" : reduceKindName(factor.reduce));
        case FactorKind::Whole: return factor.name + "^";
        case FactorKind::Neighbour: return factor.name + "~";
    }
    return factor.name;
}

std::string dimText(const Rule& rule, const std::vector<int>& factors) {
    if (factors.empty())
        return "1";
    std::string text;
    for (const int f : factors)
        text += (text.empty() ? "" : " ") + factorText(rule.factors[static_cast<std::size_t>(f)]);
    return factors.size() == 1 ? text : "(" + text + ")";
}

std::string tensorText(const Rule& rule, const TensorMap& map) {
    if (!map.present)
        return "_";
    if (map.shapeOnly)
        return "(shape)";
    if (map.dims.empty())
        return ".";
    std::string text;
    for (const auto& factors : map.dims)
        text += (text.empty() ? "" : " ") + dimText(rule, factors);
    return text;
}

std::string tensorsText(const Rule& rule, const std::vector<TensorMap>& maps) {
    std::string text;
    for (std::size_t i = 0; i < maps.size(); ++i)
        text += (i == 0 ? "" : ", ") + tensorText(rule, maps[i]);
    return text;
}

}  // namespace

std::string Rule::text() const {
    const std::string left = tensorsText(*this, inputs);
    return (left.empty() ? "" : left + " ") + "-> " + tensorsText(*this, outputs);
}

}  // namespace shardwright
