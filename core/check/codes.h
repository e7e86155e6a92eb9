// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sharding/codes.h"

#include <string>
#include <vector>

namespace shardwright {

/// Codes of core/check: SW3xx operators, SW41x moves between stages, SW5xx communication, SW61x the
/// model.
std::span<const CodeInfo> checkCodes();
/// Every code that the program gives, in order.
std::vector<CodeInfo> allCodes();
/// The page docs/diagnostics/<code>.md.
std::string codePage(const CodeInfo& info);

}  // namespace shardwright
