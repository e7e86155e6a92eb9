// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/communicator.h"

#include <cstdint>
#include <vector>

namespace shardwright {

/// What a CollectiveCall says without its data, for processes that cannot see each other's: a part
/// of fixed size, which is enough for most, and a rest.
class CallHeader {
public:
    static constexpr std::size_t kFixedWords = 32, kFixedBytes = kFixedWords * 8;

    static CallHeader of(const CollectiveCall& call);
    const std::byte* fixed() const;
    const std::byte* rest() const;
    /// Bytes that follow a fixed part.
    static std::size_t restBytes(const std::byte* fixed);
    static CallHeader join(const std::byte* fixed, const std::byte* rest, std::size_t restBytes);

    /// The call, with invalid addresses where it has data. Refers to this object.
    CollectiveCall call();

private:
    std::vector<std::uint64_t> m_words;  ///< At least kFixedWords; the first is how many there are.
    std::vector<std::size_t> m_counts, m_receiveCounts;
    std::vector<SendMessage> m_sends;
    std::vector<ReceiveMessage> m_receives;
};

}  // namespace shardwright
