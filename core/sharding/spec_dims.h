// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/shapes.h"
#include "sharding/layout.h"

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardwright {

/// The sharded_dim part of a spec against the shape of its tensor.
class SpecDims {
public:
    using Report = std::function<void(const char* code, int dimension, const std::string& text)>;

    SpecDims(const onnx::ShardingSpecProto& spec, const TensorInfo& info, const Bindings& bindings,
             Report report)
        : m_spec(spec), m_info(info), m_bindings(bindings), m_report(std::move(report)) {}

    void read();

    bool failed() const {
        return m_failed;
    }  ///< Something makes the layout unknown; it was reported.
    bool splits() const { return m_splits; }          ///< Some entry has simple_sharding.
    std::int64_t shards() const { return m_shards; }  ///< -1: not valid.
    std::string
    text() const;  ///< " (2 on dimension 0, 4 on dimension 1)"; empty for one dimension.

    /// Components by dimension; nullopt: the shape is not known, or the layout too fine.
    const std::optional<std::vector<std::vector<Component>>>& components() const {
        return m_components;
    }
    /// Where the entries are not ascending: the listed number of each shard in ascending order,
    /// else empty.
    std::vector<int> ascendingShards() const;

private:
    struct Part {
        std::int64_t shards = 1;
        std::int64_t size = -1;  ///< -1: unset.
        std::string symbol;
    };
    struct Entry {
        std::int64_t written = 0;  ///< As in the file.
        std::int64_t axis = 0;     ///< From 0 where the rank is known.
        std::vector<Part> parts;
    };

    const onnx::ShardingSpecProto& m_spec;
    const TensorInfo& m_info;
    const Bindings& m_bindings;
    Report m_report;
    std::vector<Entry> m_entries;
    std::int64_t m_shards = 1;
    bool m_failed = false;
    bool m_splits = false;
    std::optional<std::vector<std::vector<Component>>> m_components;

    void report(const char* code, std::int64_t dimension, const std::string& text);
    bool readAxis(const onnx::ShardedDimProto& dim, Entry& entry);
    void readParts(const onnx::ShardedDimProto& dim, Entry& entry);
    void checkOrder();
    void layOut();
    std::optional<std::vector<Component>> sizes(const Entry& entry);
    std::optional<std::vector<Component>> singleSize(const Entry& entry);
    std::optional<std::vector<Component>> severalSizes(const Entry& entry);
    bool isStatic(std::int64_t axis) const;
    std::string dimensionText(std::int64_t axis) const;
    void checkBlocks(std::int64_t axis, const Component& component, bool part);
};

}  // namespace shardwright
