// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/report.h"
#include "rules/operator_list.h"

#include <string>
#include <vector>

namespace shardwright {

// What `shardwright-cli rule` prints (docs/command-line.md has the schemas).

Json operatorRowsJson(const std::vector<OperatorRow>& rows);
std::string operatorRowsText(const std::vector<OperatorRow>& rows);

/// What is wrong with the shapes of a model of one node, and why they do not fit its operator.
std::vector<std::string> ruleComplaints(const Analysis& analysis);

/// The rule of a model's first node; with a configuration also what it infers: layouts,
/// collectives, diagnostics.
Json ruleJson(const Analysis& analysis);
std::string ruleText(const Analysis& analysis);

}  // namespace shardwright
