// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/document.h"

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace shardwright {

// Edits are values. apply() returns the inverse; nothing else changes annotations.

/// Replaces the whole annotation of one node (all configurations). Every other node edit is lowered
/// to this.
struct SetNodeAnnotation {
    NodeId node;
    std::shared_ptr<const NodeAnnotation> annotation;  ///< Null: none.
};
/// Replaces the model's list of configurations.
struct SetConfigurations {
    std::shared_ptr<const std::vector<onnx::DeviceConfigurationProto>> configurations;
};
/// Sets one of our metadata entries; empty text removes it.
struct SetMetadata {
    std::string key;
    std::string value;
    bool keepEmpty = false;  ///< An empty text is set: what a file had, when an edit is taken back.
};

/// Sets the IR version that the file is saved with.
struct SetIrVersion {
    std::int64_t version = 0;
};

using EditStep = std::variant<SetNodeAnnotation, SetConfigurations, SetMetadata, SetIrVersion>;

/// One undoable change: "Assign axis tp to 24 nodes".
struct Edit {
    std::string title;
    std::vector<EditStep> steps;

    bool empty() const { return steps.empty(); }
};

/// Applies the steps in order and gives the edit that takes them back (same title).
Edit apply(Annotations& annotations, const Edit& edit);

/// Edits that were each made for `base`, such as the fixes of several diagnostics, as one edit of
/// `base`. What only one of them changes is changed as it says, also where they meet at one node;
/// of two values for one thing (a tensor's spec, a stage, a configuration) the later counts.
Edit mergeEdits(const Annotations& base, std::string title, const std::vector<Edit>& edits);

}  // namespace shardwright
