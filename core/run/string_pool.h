// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/result.h"
#include "run/buffer.h"

#include <cstdint>
#include <deque>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace onnx {
class TensorProto;
}

namespace shardwright {

/// The strings of a run. A buffer holds a string as a number of 64 bits that is made from what it
/// says, so that tensors of strings are cut, moved and compared as those of numbers are, in every
/// process alike; what they say is here. Thread safe; grows only.
class StringPool {
public:
    /// The number of a string. Errors: another string has the same one; it has a zero byte, which
    /// ONNX Runtime's interface cannot take.
    Result<std::uint64_t> add(std::string_view text);
    /// What was added; stays where it is. Null: nothing of that number.
    const std::string* find(std::uint64_t number) const;
    std::size_t size() const;

    /// The strings from the `from`th on, for the pool of another process.
    std::string packed(std::size_t from) const;
    /// Error: not from packed(), or those of add().
    Result<void> addPacked(std::string_view packed);

    /// A tensor of strings.
    Result<Buffer> buffer(const std::vector<std::string>& texts, std::vector<std::int64_t> dims);
    /// Its elements. Error: one is not known here.
    Result<std::vector<std::string>> texts(const Buffer& buffer) const;

private:
    mutable std::shared_mutex m_mutex;
    std::deque<std::string> m_strings;
    std::unordered_map<std::uint64_t, const std::string*> m_byNumber;
};

/// The type of buffers that hold tensors of `elementType`: numbers for strings, else that type.
std::int32_t storedType(std::int32_t elementType);
bool isString(std::int32_t elementType);

}  // namespace shardwright
