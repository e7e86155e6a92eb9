// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/cancel.h"
#include "model/result.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace shardwright {

/// UTF-8 text of a path for messages; bytes that are not UTF-8 stay as they are.
std::string pathText(const std::filesystem::path& path);

/// The contents of a regular file of at most `limit` bytes. Never blocks on a pipe or device.
Result<std::string> readFile(const std::filesystem::path& path, std::uint64_t limit,
                             const CancelToken& cancel = {});

/// Replaces or makes a file so that a reader, or a crash, sees the old contents or the new ones: a
/// temporary file in the same folder, flushed to the disk, renamed. Keeps the mode of an existing
/// file; follows a symlink to its target. On an error the old file is as it was and no temporary
/// file is left.
Result<void> writeFileAtomically(const std::filesystem::path& path, std::string_view bytes);

}  // namespace shardwright
