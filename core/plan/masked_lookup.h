// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/draft.h"
#include "plan/graph_writer.h"

#include <functional>
#include <string>
#include <vector>

namespace shardwright::lowering {

/// Adds an operation behind the kernel's output.
using AddPost = std::function<void(
    int output, std::function<void(const std::string& input, const std::string& output)> write)>;

/// For an index that counts along a split factor: turns global indices into those of the local
/// block, looks up something harmless where they lie outside of it, and masks what that gave (to
/// zero, or to false). The terms are then joined by the factor's reduction. Replaces the names in
/// `inputs`.
void writeMaskedLookups(const Context& context, GraphWriter& writer, const DraftStep& step,
                        std::vector<std::string>& inputs, const AddPost& addPost);

}  // namespace shardwright::lowering
