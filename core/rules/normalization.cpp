// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"

namespace shardwright {

void registerNormalization(Registry&) {}

}  // namespace shardwright
