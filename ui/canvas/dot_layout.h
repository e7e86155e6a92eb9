// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/canvas/layered_layout.h"

#include <memory>
#include <string>
#include <string_view>

namespace shardwright {

/// Ranks and orders as Graphviz' `dot` finds them, run as a program of its own for five seconds at
/// most. Null where it is not installed, takes longer, fails, or when cancelled.
std::shared_ptr<const RankedLayout> rankWithDot(const LayoutInput& input,
                                                const CancelToken& cancel);

// The pure parts of it.
std::string dotSource(const LayoutInput& input, const std::vector<bool>& portal);
std::shared_ptr<const RankedLayout>
rankedFromPlain(const LayoutInput& input, std::vector<bool> portal, std::string_view plain);

}  // namespace shardwright
