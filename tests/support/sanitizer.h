// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace shardwright::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// What limits of time are multiplied with: a sanitizer slows everything down.
inline constexpr int kSlowness = kSanitized ? 30 : 1;

}  // namespace shardwright::test
