// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

#include <string>

namespace shardwright {

/// "device 3", "devices 0, 1"; of more than 17 the first 16 and how many more.
std::string listDevices(const DeviceGroup& devices);

/// "MatMul `mm2`: ", which a message of a node begins with.
std::string nodeTitle(const Analysis& analysis, NodeId id);

/// The name of what a node reads at a slot, captures after inputs; empty: no such slot.
std::string inputName(const Analysis& analysis, NodeId id, int slot);

/// As the node sees it; null: whole on every device, or no such slot.
LayoutRef inputLayout(const Analysis& analysis, NodeId id, int slot);

/// "`a` is split on dimension 2 (size 256) over tp on devices 0, 1"
std::string describeSplit(const Analysis& analysis, NodeId id, int slot);

}  // namespace shardwright
