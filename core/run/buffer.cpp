// SPDX-License-Identifier: Apache-2.0
#include "run/buffer.h"

#include "model/shapes.h"

#include <cstdlib>

namespace shardwright {

namespace {

/// -1: negative or too large.
std::int64_t countOf(const std::vector<std::int64_t>& dims) {
    constexpr std::int64_t limit = std::int64_t{1} << 56;
    std::int64_t count = 1;
    bool empty = false;
    for (const std::int64_t dim : dims) {
        if (dim < 0)
            return -1;
        empty |= dim == 0;
        if (dim > 0 && count > limit / dim)
            return -1;
        count *= dim == 0 ? 1 : dim;
    }
    return empty ? 0 : count;
}

}  // namespace

Buffer::Buffer(std::shared_ptr<std::byte> storage, std::int32_t elementType,
               std::vector<std::int64_t> dims, MemoryKind memory)
    : m_storage(std::move(storage)), m_elementType(elementType), m_dims(std::move(dims)),
      m_memory(memory) {
    m_bytes = static_cast<std::size_t>(storageBytes(elementType, count()));
}

Result<Buffer> Buffer::host(std::int32_t elementType, std::vector<std::int64_t> dims) {
    const std::int64_t count = countOf(dims);
    if (count < 0)
        return Error{"a tensor of shape " + dimsText(dims) + " is too large", {}};
    if (elementBits(elementType) <= 0)
        return Error{
            "tensors of type " + elementTypeName(elementType) + " cannot be held in a buffer", {}};
    const auto bytes = static_cast<std::size_t>(storageBytes(elementType, count));
    std::shared_ptr<std::byte> storage = allocateHost(bytes);
    if (!storage)
        return Error{"no memory for " + std::to_string(bytes) + " bytes, a tensor of shape " +
                         dimsText(dims),
                     {}};
    return Buffer(std::move(storage), elementType, std::move(dims));
}

std::int64_t Buffer::count() const {
    return std::max<std::int64_t>(0, countOf(m_dims));
}

std::shared_ptr<std::byte> allocateHost(std::size_t bytes) {
    const std::size_t rounded =
        (std::max<std::size_t>(bytes, 1) + Buffer::kAlignment - 1) & ~(Buffer::kAlignment - 1);
    if (rounded < bytes)
        return nullptr;
    auto* data = static_cast<std::byte*>(std::aligned_alloc(Buffer::kAlignment, rounded));
    return data ? std::shared_ptr<std::byte>(data, [](std::byte* p) { std::free(p); }) : nullptr;
}

std::string dimsText(const std::vector<std::int64_t>& dims) {
    std::string text = "[";
    for (std::size_t i = 0; i < dims.size(); ++i)
        text += (i ? "," : "") + std::to_string(dims[i]);
    return text + "]";
}

}  // namespace shardwright
