// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"
#include "run/executor.h"

#include <filesystem>

namespace shardwright {

/// What each device gets of a weight (an initializer of the main graph), cut from it as `layout`
/// says; null: whole on every device. External data lies below `folder`. Errors: strings, data that
/// is not there, a type below a byte that would be cut inside of one.
Result<RunResult::Output> observedWeight(const Analysis& analysis, ValueId value,
                                         const Layout* layout, const std::filesystem::path& folder);

/// A tensor to observe: "h", or as a node reads it, "h@mm2".
struct ObservedTensor {
    std::string name;
    ValueId value;
    NodeId reader;  ///< Of "h@mm2", and the slot there.
    std::size_t slot = 0;
    LayoutRef layout;  ///< As the reader takes it, or the first reader of a weight; null: whole.
};
/// Errors: no such tensor, no node of that name reads it.
Result<ObservedTensor> findObserved(const Analysis& analysis, const std::string& name);

}  // namespace shardwright
