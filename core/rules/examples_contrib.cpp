// SPDX-License-Identifier: Apache-2.0
#include "rules/examples.h"

namespace shardwright {

std::vector<OperatorExample> contribExamples() {
    return {};
}

}  // namespace shardwright
