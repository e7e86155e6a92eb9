// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rules/rule.h"
#include "sharding/layout.h"

#include <cstdint>
#include <vector>

namespace shardwright {

/// One factor of a node cut into blocks ("classes"): the common refinement of what all inputs do to
/// it.
struct FactorCut {
    std::vector<Component> components =
        std::vector<Component>(1);  ///< Sizes multiply to the factor's size.

    std::int64_t classes() const;
    IndexSet elements(std::int64_t blockClass) const;
    bool split() const { return classes() > 1; }
    bool operator==(const FactorCut&) const = default;
};

/// The grid of cells that the factors of a node span, with the devices that can compute each.
struct CellGrid {
    RulePtr rule;
    std::vector<FactorCut> cuts;  ///< One a factor.
    std::vector<DeviceGroup>
        devices;  ///< One a cell, row-major over the factors. Empty: nobody, or an empty cell.

    std::int64_t cellCount() const { return static_cast<std::int64_t>(devices.size()); }
    std::vector<std::int64_t> coordinates(std::int64_t cell) const;  ///< One class a factor.
    bool emptyCell(std::int64_t cell) const;  ///< Some factor's block has no element.
    /// The elements of a tensor that a cell touches; `slices` of the rule are applied for outputs,
    /// and to inputs for what windows over a split factor read.
    Box inputBox(std::size_t slot, const std::vector<std::int64_t>& coordinates) const;
    Box outputBox(std::size_t slot, const std::vector<std::int64_t>& coordinates) const;
    /// Whether cells read elements of input `slot` that are others' (the halo of a window).
    bool hasHalo(std::size_t slot) const;
    /// Reduction factors that are split and that the output lacks.
    std::vector<int> partialFactors(std::size_t outputSlot) const;
};

}  // namespace shardwright
