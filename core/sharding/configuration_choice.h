// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/document.h"

#include <string>

namespace shardwright {

/// Which configuration is meant where nobody can be asked: `wanted`, else the only one, else
/// `default`. Empty: the model has none. Error: it has several, and none of them is `default`.
Result<std::string> configurationMeant(const Annotations& annotations, const std::string& wanted);

}  // namespace shardwright
