// SPDX-License-Identifier: Apache-2.0
#include "run/call_header.h"

#include <algorithm>
#include <cstring>

namespace shardwright {

namespace {

std::uint64_t word(std::int64_t value) {
    return static_cast<std::uint64_t>(value);
}

template <class View>
void append(std::vector<std::uint64_t>& words, const View& view) {
    words.insert(words.end(), {view.data ? 1u : 0u, view.bytes, word(view.elementType),
                               static_cast<std::uint64_t>(view.memory)});
}

/// Takes words in the order in which they were appended; zeros after the end.
class Reader {
public:
    explicit Reader(const std::vector<std::uint64_t>& words) : m_words(words) {}
    std::uint64_t next() { return m_at < m_words.size() ? m_words[m_at++] : 0; }
    int number() { return static_cast<int>(static_cast<std::int64_t>(next())); }
    /// A length: never more than there is left.
    std::size_t length() { return std::min<std::size_t>(next(), m_words.size() - m_at); }
    template <class View>
    void view(View& view) {
        static std::byte somewhere{};
        view.data = next() ? &somewhere : nullptr;
        view.bytes = next();
        view.elementType = number();
        view.memory = static_cast<MemoryKind>(number());
    }

private:
    const std::vector<std::uint64_t>& m_words;
    std::size_t m_at = 0;
};

}  // namespace

CallHeader CallHeader::of(const CollectiveCall& call) {
    CallHeader header;
    auto& words = header.m_words;
    words = {0, static_cast<std::uint64_t>(call.kind), static_cast<std::uint64_t>(call.reduce),
             word(call.root)};
    append(words, call.send);
    append(words, call.receive);
    for (const auto counts : {call.counts, call.receiveCounts}) {
        words.push_back(counts.size());
        words.insert(words.end(), counts.begin(), counts.end());
    }
    words.push_back(call.sends.size());
    for (const SendMessage& message : call.sends)
        words.insert(words.end(), {word(message.to), message.data.bytes});
    words.push_back(call.receives.size());
    for (const ReceiveMessage& message : call.receives)
        words.insert(words.end(), {word(message.from), message.data.bytes});
    words.resize(std::max(words.size(), kFixedWords));
    words[0] = words.size();
    return header;
}

const std::byte* CallHeader::fixed() const {
    return reinterpret_cast<const std::byte*>(m_words.data());
}

const std::byte* CallHeader::rest() const {
    return fixed() + kFixedBytes;
}

std::size_t CallHeader::restBytes(const std::byte* fixed) {
    std::uint64_t words = 0;
    std::memcpy(&words, fixed, sizeof words);
    return (std::max<std::size_t>(words, kFixedWords) - kFixedWords) * sizeof words;
}

CallHeader CallHeader::join(const std::byte* fixed, const std::byte* rest, std::size_t restBytes) {
    CallHeader header;
    header.m_words.resize(kFixedWords + restBytes / sizeof(std::uint64_t));
    std::memcpy(header.m_words.data(), fixed, kFixedBytes);
    if (restBytes > 0)
        std::memcpy(header.m_words.data() + kFixedWords, rest, restBytes);
    return header;
}

CollectiveCall CallHeader::call() {
    Reader reader(m_words);
    reader.next();
    CollectiveCall call;
    call.kind = static_cast<CollectiveKind>(reader.next());
    call.reduce = static_cast<ReduceKind>(reader.next());
    call.root = reader.number();
    reader.view(call.send);
    reader.view(call.receive);
    for (auto* counts : {&m_counts, &m_receiveCounts}) {
        counts->resize(reader.length());
        for (std::size_t& count : *counts)
            count = reader.next();
    }
    m_sends.resize(reader.length());
    for (SendMessage& message : m_sends) {
        message.to = reader.number();
        message.data.bytes = reader.next();
    }
    m_receives.resize(reader.length());
    for (ReceiveMessage& message : m_receives) {
        message.from = reader.number();
        message.data.bytes = reader.next();
    }
    call.counts = m_counts;
    call.receiveCounts = m_receiveCounts;
    call.sends = m_sends;
    call.receives = m_receives;
    return call;
}

}  // namespace shardwright
