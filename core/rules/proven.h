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

/// An operator of which nothing was run, and why: nothing is claimed, no kernel, ...
struct UnprovenOperator {
    std::string_view domain;
    std::string_view op;
    std::string_view reason;
};

// The tables that the proof suite writes (proven.cpp).
std::span<const ProvenOperator> provenOperators();
std::span<const UnprovenOperator> unprovenOperators();

}  // namespace shardwright
