// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/plan.h"
#include "run/ort_api.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace shardwright {

/// Sessions with more bytes of weights than this are made one at a time.
inline constexpr std::int64_t kLargeSession = std::int64_t{16} << 20;

/// The weights that several sessions of this process read, in memory once, and what ONNX Runtime
/// makes of them for its kernels, once as well. Thread safe.
class WeightStore {
public:
    /// Without `share` every session has its own: a process with one device has nobody to share
    /// with, and a session that packs its weights lets go of what they were packed from.
    WeightStore(std::shared_ptr<const OrtRuntime> runtime, bool share);
    ~WeightStore();
    WeightStore(const WeightStore&) = delete;
    WeightStore& operator=(const WeightStore&) = delete;

    bool shares(const Weight& weight) const { return m_container && weight.uses > 1; }
    /// The elements, read by whoever asks first and kept while somebody has them.
    Result<std::shared_ptr<std::byte>> shared(const Weight& weight,
                                              const std::filesystem::path& folder);
    OrtPrepackedWeightsContainer* container() const { return m_container; }
    /// While a session is made its weights are there twice. Held while a large one is made, so that
    /// this is so for one at a time.
    std::mutex& largeSession() { return m_large; }

private:
    struct Known {
        Box box;
        std::weak_ptr<std::byte> bytes;
    };
    const std::shared_ptr<const OrtRuntime> m_runtime;
    OrtPrepackedWeightsContainer* m_container = nullptr;
    std::mutex m_large, m_mutex;
    std::unordered_map<const onnx::TensorProto*, std::vector<Known>> m_known;
};

/// Memory that goes back to the system as soon as it is freed; null: there is none.
std::shared_ptr<std::byte> allocatePages(std::size_t bytes);

/// A weight's elements in memory of their own. Errors: no memory, those of readWeight().
Result<std::shared_ptr<std::byte>> loadWeight(const Weight& weight,
                                              const std::filesystem::path& folder);

}  // namespace shardwright
