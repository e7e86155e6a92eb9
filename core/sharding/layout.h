// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace shardwright {

using DeviceId = int;
using DeviceGroup = std::vector<DeviceId>;  ///< Sorted, without repetition.

/// A sorted list of disjoint, non-adjacent half-open intervals: element indices along one
/// dimension.
class IndexSet {
public:
    struct Interval {
        std::int64_t begin = 0;
        std::int64_t end = 0;
        bool operator==(const Interval&) const = default;
    };

    IndexSet() = default;
    IndexSet(std::int64_t begin, std::int64_t end);
    explicit IndexSet(std::vector<Interval> intervals);  ///< Any order, may overlap; is normalised.

    const std::vector<Interval>& intervals() const { return m_intervals; }
    bool empty() const { return m_intervals.empty(); }
    std::int64_t count() const;
    bool contains(const IndexSet& other) const;
    IndexSet intersect(const IndexSet& other) const;
    IndexSet unite(const IndexSet& other) const;
    bool operator==(const IndexSet&) const = default;

private:
    std::vector<Interval> m_intervals;
};

/// A region of a tensor: the product of one index set a dimension. Rank 0 is one element.
struct Box {
    std::vector<IndexSet> dims;

    static Box whole(const std::vector<std::int64_t>& shape);
    bool empty() const;
    std::int64_t count() const;
    bool contains(const Box& other) const;
    Box intersect(const Box& other) const;
    bool operator==(const Box&) const = default;
};

/// One sub-dimension: ONNX's SimpleShardedDim. `size` elements cut into `shards` blocks of
/// ceil(size / shards), the last ones smaller or empty.
struct Component {
    std::int64_t size = 1;
    std::int64_t shards = 1;

    std::int64_t block() const {
        return shards <= 0 ? size : size / shards + (size % shards != 0 ? 1 : 0);
    }
    bool operator==(const Component&) const = default;
};

/// How one tensor of a known shape lies on the devices of a configuration. Immutable, in canonical
/// form (adjacent components merged where the map stays the same, blocks with equal devices joined,
/// groups sorted), so that two layouts that put the same elements on the same devices compare
/// equal. Shards are numbered row-major over all components, dimension by dimension, outermost
/// first.
class Layout {
public:
    /// `dims` has one list of components a dimension, outermost first, whose sizes multiply to the
    /// dimension (an empty list = one unsharded component); `groups` has one entry a shard.
    Layout(std::vector<std::int64_t> shape, std::vector<std::vector<Component>> dims,
           std::vector<DeviceGroup> groups);
    static Layout replicated(std::vector<std::int64_t> shape, DeviceGroup devices);

    const std::vector<std::int64_t>& shape() const { return m_shape; }
    const std::vector<std::vector<Component>>& dims() const {
        return m_dims;
    }  ///< Never empty lists, except for size-0-rank tensors.
    const std::vector<DeviceGroup>& groups() const { return m_groups; }
    const DeviceGroup& devices() const { return m_devices; }  ///< Union of all groups.

    std::int64_t shardCount() const { return static_cast<std::int64_t>(m_groups.size()); }
    bool isWhole() const {
        return m_groups.size() == 1;
    }                                     ///< One shard: replicated over devices().
    bool isSplit(std::size_t dim) const;  ///< Some component of it has more than one shard.
    Box shardBox(std::int64_t shard) const;
    std::vector<std::int64_t>
    shardCoordinates(std::int64_t shard) const;  ///< One a component, flattened.
    /// What `device` holds, as few boxes as possible: one where its shards form a product. Empty
    /// boxes are left out.
    std::vector<Box> holding(DeviceId device) const;
    /// The same for each of devices(), in their order.
    std::vector<std::vector<Box>> holdings() const;
    /// The same map with every device outside `allowed` taken away. Groups may become empty.
    Layout restrictedTo(const DeviceGroup& allowed) const;
    /// The same map on other devices: `to[k]` stands in for the k-th of devices().
    Layout movedTo(const DeviceGroup& to) const;

    bool operator==(const Layout& other) const;
    std::size_t hash() const { return m_hash; }

private:
    std::vector<std::int64_t> m_shape;
    std::vector<std::vector<Component>> m_dims;
    std::vector<DeviceGroup> m_groups;
    DeviceGroup m_devices;
    std::size_t m_hash = 0;
    void canonicalise();
    std::vector<Box> boxesOf(const std::vector<std::int64_t>& shards) const;
};

/// Whether a dimension cut like this has shards of millions of separate pieces, which is not worked
/// with.
bool isTooFine(const std::vector<Component>& dim);

/// Interned: equal layouts of one LayoutPool are the same pointer.
using LayoutRef = std::shared_ptr<const Layout>;

class LayoutPool {
public:
    LayoutPool();
    ~LayoutPool();
    LayoutPool(const LayoutPool&) = delete;
    LayoutPool& operator=(const LayoutPool&) = delete;
    LayoutRef intern(Layout layout);  ///< Thread safe.

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

}  // namespace shardwright
