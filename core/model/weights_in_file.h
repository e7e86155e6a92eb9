// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/document.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace shardwright {

/// The bytes of a binary model file without its large weights, which are never read: initializers
/// of the main graph with more than a few pages of raw data become external data in the file
/// itself. Nothing where that cannot be: a file in text format or laid out in a way that this
/// cannot follow, one that external data may not lie in (a link out of its folder), or that cannot
/// be read; whoever loads the whole file then says what is wrong.
std::optional<std::string> withoutWeights(const std::filesystem::path& path);

/// A model whose large weights stay in its file where that can be (see withoutWeights()), for those
/// who read each of them once. Its bytes() are not the file's.
Result<std::shared_ptr<const Model>> loadWithoutWeights(const std::filesystem::path& path,
                                                        const CancelToken& cancel = {});

}  // namespace shardwright
