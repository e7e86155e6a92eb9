// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace shardwright {

enum class MemoryKind { Host, Device };

/// A queue of work on a device (a CUDA stream). The handle is null for host memory, where work is
/// done by the caller.
struct Stream {
    void* handle = nullptr;
};

/// Memory that somebody else owns, with what a communicator or a kernel must know of it.
struct ConstBufferView {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::int32_t elementType = 0;
    MemoryKind memory = MemoryKind::Host;
};
struct BufferView {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::int32_t elementType = 0;
    MemoryKind memory = MemoryKind::Host;

    operator ConstBufferView() const { return {data, bytes, elementType, memory}; }
};

/// A dense tensor in memory, row-major. Copies share the memory.
class Buffer {
public:
    static constexpr std::size_t kAlignment = 64;

    Buffer() = default;
    /// `storage` has at least storageBytes(elementType, product of dims) bytes and is freed with
    /// its last owner.
    Buffer(std::shared_ptr<std::byte> storage, std::int32_t elementType,
           std::vector<std::int64_t> dims, MemoryKind memory = MemoryKind::Host);
    /// Uninitialised host memory. Errors: no memory, more than 2^62 elements.
    static Result<Buffer> host(std::int32_t elementType, std::vector<std::int64_t> dims);

    explicit operator bool() const { return m_storage != nullptr; }
    std::byte* data() { return m_storage.get(); }
    const std::byte* data() const { return m_storage.get(); }
    std::size_t bytes() const { return m_bytes; }
    std::int64_t count() const;
    std::int32_t elementType() const { return m_elementType; }
    const std::vector<std::int64_t>& dims() const { return m_dims; }
    MemoryKind memory() const { return m_memory; }
    const std::shared_ptr<std::byte>& storage() const { return m_storage; }

    BufferView view() { return {data(), m_bytes, m_elementType, m_memory}; }
    ConstBufferView view() const { return {data(), m_bytes, m_elementType, m_memory}; }

private:
    std::shared_ptr<std::byte> m_storage;
    std::size_t m_bytes = 0;
    std::int32_t m_elementType = 0;
    std::vector<std::int64_t> m_dims;
    MemoryKind m_memory = MemoryKind::Host;
};

/// 64-byte-aligned host memory; at least one byte, so that an empty tensor has an address. Null:
/// there is no memory.
std::shared_ptr<std::byte> allocateHost(std::size_t bytes);

/// "[2,3]"
std::string dimsText(const std::vector<std::int64_t>& dims);

}  // namespace shardwright
