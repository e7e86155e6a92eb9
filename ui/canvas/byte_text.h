// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include <cstdint>

namespace shardwright {

/// "32 KiB", "1.5 MiB".
QString byteText(std::int64_t bytes);

}  // namespace shardwright
