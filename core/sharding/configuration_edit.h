// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sharding/edit.h"

#include <string>

namespace shardwright {

/// Takes a configuration away with all that nodes say in it and our metadata for it.
Edit editRemoveConfiguration(const Document& document, const std::string& name);
/// Renames it, with the nodes and our metadata that refer to it. Error: an empty name, or one that
/// is taken.
Result<Edit> editRenameConfiguration(const Document& document, const std::string& from,
                                     const std::string& to);

/// Makes the document's annotations equal to these (of the same model).
Edit editReplaceAll(const Document& document, const Annotations& annotations);

}  // namespace shardwright
