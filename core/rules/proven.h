// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace shardwright {

/// An operator of whose rule every claimed split was run and compared with the whole.
struct ProvenOperator {
    std::string_view domain;
    std::string_view op;
};

/// The table that the proof suite writes (proven.cpp).
std::span<const ProvenOperator> provenOperators();

}  // namespace shardwright
