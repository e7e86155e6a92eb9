// SPDX-License-Identifier: Apache-2.0
#include "sharding/layout.h"

#include "sharding/layout_canonical.h"

#include <algorithm>
#include <cassert>
#include <map>

namespace shardwright {

namespace {

void sortGroup(DeviceGroup& group) {
    if (!std::is_sorted(group.begin(), group.end()))
        std::sort(group.begin(), group.end());
    group.erase(std::unique(group.begin(), group.end()), group.end());
}

DeviceGroup unionOf(const std::vector<DeviceGroup>& groups) {
    DeviceGroup all;
    std::size_t count = 0;
    for (const DeviceGroup& group : groups)
        count += group.size();
    all.reserve(count);
    for (const DeviceGroup& group : groups)
        all.insert(all.end(), group.begin(), group.end());
    sortGroup(all);
    return all;
}

/// The index set of shard coordinate `coordinate` (over all components) of a dimension.
IndexSet dimensionSet(const std::vector<Component>& dim, std::int64_t coordinate) {
    std::vector<IndexSet::Interval> set{{0, 1}};
    std::int64_t size = 1;
    for (auto component = dim.rbegin(); component != dim.rend(); ++component) {
        const BlockRange range = blockRange(*component, coordinate % component->shards);
        coordinate /= component->shards;
        const bool full = set.size() == 1 && set[0].begin == 0 && set[0].end == size;
        if (full || set.empty()) {
            if (full)
                set[0] = {range.begin * size, range.end * size};
        } else {
            std::vector<IndexSet::Interval> shifted;
            shifted.reserve(set.size() * static_cast<std::size_t>(range.end - range.begin));
            for (std::int64_t x = range.begin; x < range.end; ++x) {
                for (const IndexSet::Interval& interval : set)
                    shifted.push_back({x * size + interval.begin, x * size + interval.end});
            }
            set = std::move(shifted);
        }
        size *= component->size;
    }
    return IndexSet(std::move(set));
}

/// Joins boxes that differ in one dimension only, until none do.
void mergeBoxes(std::vector<Box>& boxes) {
    const auto lessBut = [](std::size_t skip) {
        return [skip](const Box& a, const Box& b) {
            for (std::size_t d = 0; d < a.dims.size(); ++d) {
                if (d == skip || a.dims[d] == b.dims[d])
                    continue;
                const auto less = [](const IndexSet::Interval& x, const IndexSet::Interval& y) {
                    return x.begin != y.begin ? x.begin < y.begin : x.end < y.end;
                };
                const auto& x = a.dims[d].intervals();
                const auto& y = b.dims[d].intervals();
                return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end(), less);
            }
            return false;
        };
    };
    for (bool again = boxes.size() > 1; again;) {
        again = false;
        for (std::size_t d = boxes.front().dims.size(); d-- > 0;) {
            const auto less = lessBut(d);
            std::stable_sort(boxes.begin(), boxes.end(), less);
            std::vector<Box> merged;
            for (Box& box : boxes) {
                if (!merged.empty() && !less(merged.back(), box)) {
                    merged.back().dims[d] = merged.back().dims[d].unite(box.dims[d]);
                    again = true;
                } else {
                    merged.push_back(std::move(box));
                }
            }
            boxes = std::move(merged);
        }
        again = again && boxes.size() > 1;
    }
}

}  // namespace

Layout::Layout(std::vector<std::int64_t> shape, std::vector<std::vector<Component>> dims,
               std::vector<DeviceGroup> groups)
    : m_shape(std::move(shape)), m_dims(std::move(dims)), m_groups(std::move(groups)) {
    m_dims.resize(m_shape.size());
    [[maybe_unused]] std::int64_t shards = 1;
    for (std::size_t d = 0; d < m_dims.size(); ++d) {
        if (m_dims[d].empty())
            m_dims[d].push_back({m_shape[d], 1});
        shards *= shardsOf(m_dims[d]);
    }
    assert(shards == shardCount());
    for (DeviceGroup& group : m_groups)
        sortGroup(group);
    m_devices = unionOf(m_groups);
    canonicalise();
}

Layout Layout::replicated(std::vector<std::int64_t> shape, DeviceGroup devices) {
    std::vector<DeviceGroup> groups;
    groups.push_back(std::move(devices));
    return Layout(std::move(shape), {}, std::move(groups));
}

void Layout::canonicalise() {
    canonicaliseLayout(m_shape, m_dims, m_groups);
    m_hash = hashLayout(m_shape, m_dims, m_groups, m_devices);
}

bool Layout::isSplit(std::size_t dim) const {
    return std::any_of(m_dims[dim].begin(), m_dims[dim].end(),
                       [](const Component& component) { return component.shards > 1; });
}

std::vector<std::int64_t> Layout::shardCoordinates(std::int64_t shard) const {
    std::vector<std::int64_t> coordinates;
    for (auto dim = m_dims.rbegin(); dim != m_dims.rend(); ++dim) {
        for (auto component = dim->rbegin(); component != dim->rend(); ++component) {
            coordinates.push_back(shard % component->shards);
            shard /= component->shards;
        }
    }
    std::reverse(coordinates.begin(), coordinates.end());
    return coordinates;
}

Box Layout::shardBox(std::int64_t shard) const {
    Box box;
    box.dims.resize(m_dims.size());
    for (std::size_t d = m_dims.size(); d-- > 0;) {
        const std::int64_t count = shardsOf(m_dims[d]);
        box.dims[d] = dimensionSet(m_dims[d], shard % count);
        shard /= count;
    }
    return box;
}

std::vector<Box> Layout::holding(DeviceId device) const {
    std::vector<std::int64_t> shards;
    for (std::size_t shard = 0; shard < m_groups.size(); ++shard) {
        if (std::binary_search(m_groups[shard].begin(), m_groups[shard].end(), device))
            shards.push_back(static_cast<std::int64_t>(shard));
    }
    return boxesOf(shards);
}

std::vector<std::vector<Box>> Layout::holdings() const {
    std::vector<std::vector<std::int64_t>> shards(m_devices.size());
    for (std::size_t shard = 0; shard < m_groups.size(); ++shard)
        for (const DeviceId device : m_groups[shard]) {
            const auto at = std::lower_bound(m_devices.begin(), m_devices.end(), device);
            shards[static_cast<std::size_t>(at - m_devices.begin())].push_back(
                static_cast<std::int64_t>(shard));
        }
    std::vector<std::vector<Box>> boxes;
    boxes.reserve(shards.size());
    for (const auto& list : shards)
        boxes.push_back(boxesOf(list));
    return boxes;
}

std::vector<Box> Layout::boxesOf(const std::vector<std::int64_t>& shards) const {
    // The shards form a product when they are as many as the product of their coordinates a
    // dimension.
    std::vector<std::vector<std::int64_t>> coordinates(m_dims.size());
    std::size_t product = shards.empty() ? 0 : 1;
    std::int64_t inner = 1;
    for (std::size_t d = m_dims.size(); d-- > 0;) {
        const std::int64_t count = shardsOf(m_dims[d]);
        for (const std::int64_t shard : shards)
            coordinates[d].push_back(shard / inner % count);
        std::sort(coordinates[d].begin(), coordinates[d].end());
        coordinates[d].erase(std::unique(coordinates[d].begin(), coordinates[d].end()),
                             coordinates[d].end());
        product *= coordinates[d].size();
        inner *= count;
    }
    std::vector<Box> boxes;
    if (product == shards.size() && !shards.empty()) {
        Box box;
        for (std::size_t d = 0; d < m_dims.size(); ++d) {
            std::vector<IndexSet::Interval> intervals;
            for (const std::int64_t coordinate : coordinates[d]) {
                const IndexSet set = dimensionSet(m_dims[d], coordinate);
                intervals.insert(intervals.end(), set.intervals().begin(), set.intervals().end());
            }
            box.dims.emplace_back(std::move(intervals));
        }
        if (!box.empty())
            boxes.push_back(std::move(box));
        return boxes;
    }
    for (const std::int64_t shard : shards) {
        Box box = shardBox(shard);
        if (!box.empty())
            boxes.push_back(std::move(box));
    }
    mergeBoxes(boxes);
    return boxes;
}

Layout Layout::restrictedTo(const DeviceGroup& allowed) const {
    std::vector<DeviceGroup> groups;
    groups.reserve(m_groups.size());
    for (const DeviceGroup& group : m_groups) {
        DeviceGroup kept;
        std::set_intersection(group.begin(), group.end(), allowed.begin(), allowed.end(),
                              std::back_inserter(kept));
        groups.push_back(std::move(kept));
    }
    return Layout(m_shape, m_dims, std::move(groups));
}

Layout Layout::movedTo(const DeviceGroup& to) const {
    assert(to.size() == m_devices.size());
    std::vector<DeviceGroup> groups = m_groups;
    for (DeviceGroup& group : groups) {
        for (DeviceId& device : group) {
            const auto position =
                std::lower_bound(m_devices.begin(), m_devices.end(), device) - m_devices.begin();
            device = to[static_cast<std::size_t>(position)];
        }
    }
    return Layout(m_shape, m_dims, std::move(groups));
}

bool isTooFine(const std::vector<Component>& dim) {
    constexpr std::int64_t kMostPieces = std::int64_t{1} << 21;
    std::size_t last = dim.size();
    while (last > 0 && dim[last - 1].shards == 1)
        --last;
    std::int64_t pieces = 1;
    const auto exceeds = [&](std::int64_t factor) {
        if (factor > 0 && pieces > kMostPieces / factor)
            return true;
        pieces *= factor;
        return false;
    };
    for (std::size_t c = 0; c + 1 < last; ++c)
        if (exceeds(dim[c].size))
            return true;
    return last > 1 && exceeds(dim[last - 1].shards);
}

bool Layout::operator==(const Layout& other) const {
    if (this == &other)
        return true;
    if (m_hash != other.m_hash || m_shape != other.m_shape || m_devices != other.m_devices)
        return false;
    if (m_dims == other.m_dims && m_groups == other.m_groups)
        return true;
    return sameElementMap(*this, other);
}

}  // namespace shardwright
