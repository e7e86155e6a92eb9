// SPDX-License-Identifier: Apache-2.0
#include "run/string_pool.h"

#include <onnx/onnx_pb.h>

#include <cstring>
#include <mutex>

namespace shardwright {

namespace {

/// FNV-1a, then the finisher of splitmix64.
std::uint64_t numberOf(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325ull;
    for (const char c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ull;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebull;
    return hash ^ (hash >> 31);
}

}  // namespace

Result<std::uint64_t> StringPool::add(std::string_view text) {
    const std::uint64_t number = numberOf(text);
    const auto sameAs = [&](const std::string& known) -> Result<std::uint64_t> {
        if (known != text)
            return Error{"two strings have the same number, which a run cannot tell apart", {}};
        return number;
    };
    {
        const std::shared_lock lock(m_mutex);
        if (const auto found = m_byNumber.find(number); found != m_byNumber.end())
            return sameAs(*found->second);
    }
    if (text.find('\0') != std::string_view::npos)
        return Error{"a string with a zero byte cannot be given to ONNX Runtime", {}};
    const std::unique_lock lock(m_mutex);
    if (const auto found = m_byNumber.find(number); found != m_byNumber.end())
        return sameAs(*found->second);
    m_byNumber.emplace(number, &m_strings.emplace_back(text));
    return number;
}

const std::string* StringPool::find(std::uint64_t number) const {
    const std::shared_lock lock(m_mutex);
    const auto found = m_byNumber.find(number);
    return found == m_byNumber.end() ? nullptr : found->second;
}

std::size_t StringPool::size() const {
    const std::shared_lock lock(m_mutex);
    return m_strings.size();
}

std::string StringPool::packed(std::size_t from) const {
    const std::shared_lock lock(m_mutex);
    std::string bytes;
    for (std::size_t i = from; i < m_strings.size(); ++i) {
        const std::uint64_t length = m_strings[i].size();
        bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
        bytes += m_strings[i];
    }
    return bytes;
}

Result<void> StringPool::addPacked(std::string_view packed) {
    while (!packed.empty()) {
        std::uint64_t length = 0;
        if (packed.size() < sizeof length)
            return Error{"the strings of another process cannot be read", {}};
        std::memcpy(&length, packed.data(), sizeof length);
        packed.remove_prefix(sizeof length);
        if (length > packed.size())
            return Error{"the strings of another process cannot be read", {}};
        if (const auto added = add(packed.substr(0, length)); !added)
            return added.error();
        packed.remove_prefix(length);
    }
    return {};
}

Result<Buffer> StringPool::buffer(const std::vector<std::string>& texts,
                                  std::vector<std::int64_t> dims) {
    auto buffer = Buffer::host(storedType(onnx::TensorProto::STRING), std::move(dims));
    if (!buffer)
        return buffer;
    if (static_cast<std::size_t>(buffer->count()) != texts.size())
        return Error{"a tensor of shape " + dimsText(buffer->dims()) + " has " +
                         std::to_string(texts.size()) + " strings",
                     {}};
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto number = add(texts[i]);
        if (!number)
            return number.error();
        std::memcpy(buffer->data() + i * sizeof *number, &*number, sizeof *number);
    }
    return buffer;
}

Result<std::vector<std::string>> StringPool::texts(const Buffer& buffer) const {
    std::vector<std::string> texts;
    texts.reserve(static_cast<std::size_t>(buffer.count()));
    for (std::int64_t i = 0; i < buffer.count(); ++i) {
        std::uint64_t number = 0;
        std::memcpy(&number, buffer.data() + static_cast<std::size_t>(i) * sizeof number,
                    sizeof number);
        const std::string* text = find(number);
        if (text == nullptr)
            return Error{"a string is read before anything has written it", {}};
        texts.push_back(*text);
    }
    return texts;
}

std::int32_t storedType(std::int32_t elementType) {
    return isString(elementType) ? onnx::TensorProto::UINT64 : elementType;
}

bool isString(std::int32_t elementType) {
    return elementType == onnx::TensorProto::STRING;
}

}  // namespace shardwright
