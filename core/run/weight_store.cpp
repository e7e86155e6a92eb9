// SPDX-License-Identifier: Apache-2.0
#include "run/weight_store.h"

#include "plan/weights.h"

#include <sys/mman.h>

#include <algorithm>

namespace shardwright {

WeightStore::WeightStore(std::shared_ptr<const OrtRuntime> runtime, bool share)
    : m_runtime(std::move(runtime)) {
    // Without a container nothing is shared, and all else works.
    if (share)
        (void)m_runtime->check(m_runtime->api().CreatePrepackedWeightsContainer(&m_container), {});
}

WeightStore::~WeightStore() {
    if (m_container)
        m_runtime->api().ReleasePrepackedWeightsContainer(m_container);
}

Result<std::shared_ptr<std::byte>> WeightStore::shared(const Weight& weight,
                                                       const std::filesystem::path& folder) {
    const std::lock_guard lock(m_mutex);
    std::vector<Known>& pieces = m_known[weight.tensor];
    const auto known = std::find_if(pieces.begin(), pieces.end(),
                                    [&](const Known& piece) { return piece.box == weight.box; });
    if (known != pieces.end())
        if (auto bytes = known->bytes.lock())
            return bytes;
    auto loaded = loadWeight(weight, folder);
    if (!loaded)
        return loaded;
    if (known != pieces.end())
        known->bytes = *loaded;
    else
        pieces.push_back({weight.box, *loaded});
    return loaded;
}

std::shared_ptr<std::byte> allocatePages(std::size_t bytes) {
    const std::size_t size = std::max<std::size_t>(bytes, 1);
    void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return nullptr;
    return {static_cast<std::byte*>(pages), [size](std::byte* p) { munmap(p, size); }};
}

Result<std::shared_ptr<std::byte>> loadWeight(const Weight& weight,
                                              const std::filesystem::path& folder) {
    auto bytes = allocatePages(static_cast<std::size_t>(weight.bytes));
    if (!bytes)
        return Error{"no memory for a weight of " + std::to_string(weight.bytes) + " bytes", {}};
    if (auto read = readWeight(weight, folder, bytes.get()); !read)
        return read.error();
    return bytes;
}

}  // namespace shardwright
