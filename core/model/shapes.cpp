// SPDX-License-Identifier: Apache-2.0
#include "model/shapes.h"

namespace shardwright {}
