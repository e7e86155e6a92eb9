// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rules/registry.h"

#include <string>
#include <vector>

namespace shardwright {

/// What the rule of one operator says of one dimension or of several.
struct FactorUse {
    std::string tensor;  ///< "#in0", "#out1".
    int dim = 0;
};
struct FactorRow {
    std::string name;
    std::int64_t size = 1;
    FactorKind kind = FactorKind::Parallel;
    ReduceKind reduce = ReduceKind::None;
    std::string reason;           ///< Of whole and neighbour factors.
    bool extra = false;           ///< A neighbour factor that can be split all the same.
    std::vector<FactorUse> uses;  ///< Inputs first.

    /// Whether a shard of it can be computed alone.
    bool shardable() const {
        return kind == FactorKind::Parallel || kind == FactorKind::Reduction || extra;
    }
};
std::vector<FactorRow> factorRows(const Rule& rule);
std::string factorKindName(FactorKind kind);  ///< "parallel", "reduction", "whole", "neighbour".

/// A row of the table of all operators, shown on the operator's example.
struct OperatorRow {
    std::string domain;  ///< "" for ai.onnx.
    std::string op;
    std::string family;
    int sinceVersion = 1;  ///< Of its newest definition in the linked libonnx; 1 where it has none.
    bool deprecated = false;
    bool strict = true;
    std::string strictReason;
    std::string example;  ///< The node on its shapes, in ONNX's text syntax. Empty: none.
    std::string rule;     ///< Rule::text() of it.
    std::vector<FactorRow> factors;
    std::string
        dataDependent;      ///< Why its outputs may have sizes that nobody knows before it runs.
    bool proven = false;    ///< Shown right by running it, see provenOperators().
    std::string notProven;  ///< Why it is not; empty where it is.
};

/// One row an entry of the registry, and one each of the operators that run graphs (If, Loop, Scan,
/// SequenceMap), which have the rule of what is in them. By domain, then by name.
std::vector<OperatorRow> operatorRows(const Registry& registry = Registry::standard());

/// docs/operators.md.
std::string operatorsPage(const std::vector<OperatorRow>& rows);

}  // namespace shardwright
