// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sharding/layout.h"

#include <algorithm>
#include <vector>

namespace shardwright {

/// The elements of one block of a component.
struct BlockRange {
    std::int64_t begin = 0, end = 0;
};

inline BlockRange blockRange(const Component& component, std::int64_t digit) {
    const std::int64_t block = component.block();
    // digit * block may exceed 64 bits for absurd shard counts; empty all the same.
    if (digit > 0 && block > component.size / digit)
        return {component.size, component.size};
    const std::int64_t begin = std::min(component.size, digit * block);
    return {begin, component.size - begin < block ? component.size : begin + block};
}

/// Shards along a dimension.
inline std::int64_t shardsOf(const std::vector<Component>& dim) {
    std::int64_t product = 1;
    for (const Component& component : dim)
        product *= component.shards;
    return product;
}

/// Equal for layouts of equal maps, whatever their structure. See layout_hash.cpp.
std::size_t hashLayout(const std::vector<std::int64_t>& shape,
                       const std::vector<std::vector<Component>>& dims,
                       const std::vector<DeviceGroup>& groups, const DeviceGroup& devices);

/// Brings the parts of a layout into canonical form. See layout_canonical.cpp.
void canonicaliseLayout(const std::vector<std::int64_t>& shape,
                        std::vector<std::vector<Component>>& dims,
                        std::vector<DeviceGroup>& groups);

/// Whether two layouts of one shape give every element to the same devices, whatever their
/// structure. Gives up, and says no, where the comparison would look at more than a few million
/// blocks.
bool sameElementMap(const Layout& a, const Layout& b);

}  // namespace shardwright
