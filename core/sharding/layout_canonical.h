// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sharding/layout.h"

#include <vector>

namespace shardwright {

/// Brings the parts of a layout into canonical form. See layout_canonical.cpp.
void canonicaliseLayout(const std::vector<std::int64_t>& shape,
                        std::vector<std::vector<Component>>& dims,
                        std::vector<DeviceGroup>& groups);

/// Whether two layouts of one shape give every element to the same devices, whatever their
/// structure. Gives up, and says no, where the comparison would look at more than a few million
/// blocks.
bool sameElementMap(const Layout& a, const Layout& b);

}  // namespace shardwright
