// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/reshard.h"

namespace shardwright {

/// The collective that the parts of one group amount to; Region where none fits. `sourceDevices`
/// and `targetDevices` are all devices of the reshard, also those whose shard is empty.
CollectiveKind classify(const GroupOperation& group, const DeviceGroup& sourceDevices,
                        const DeviceGroup& targetDevices);

/// Elements that "bytes" of a communication entry counts, by the group's kind.
std::int64_t elementsOf(const GroupOperation& group);

}  // namespace shardwright
