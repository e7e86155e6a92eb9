// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// What the host and code for GPUs both know; in C++17, since Debian 12's CMake cannot ask nvcc 13 for
// more.

namespace shardwright {

/// How two elements are joined. Of bool (1 byte, 0 or 1) only And and Or.
enum class Join { Sum, Prod, Min, Max, And, Or };

struct CopyRun {
    std::size_t source = 0, target = 0, bytes = 0;
};

}  // namespace shardwright
