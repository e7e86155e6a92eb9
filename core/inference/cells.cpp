// SPDX-License-Identifier: Apache-2.0
#include "inference/cells.h"

#include "inference/index_product.h"

#include <algorithm>

namespace shardwright {

std::int64_t FactorCut::classes() const {
    std::int64_t n = 1;
    for (const Component& c : components)
        n *= c.shards;
    return n;
}

IndexSet FactorCut::elements(std::int64_t blockClass) const {
    std::vector<std::int64_t> digits(components.size());
    for (std::size_t i = components.size(); i-- > 0;) {
        digits[i] = blockClass % components[i].shards;
        blockClass /= components[i].shards;
    }
    IndexSet set(0, 1);
    for (std::size_t i = 0; i < components.size(); ++i) {
        const Component& c = components[i];
        const std::int64_t begin = std::min(digits[i] * c.block(), c.size);
        set = indexProduct(set, IndexSet(begin, std::min(begin + c.block(), c.size)), c.size);
    }
    return set;
}

std::vector<std::int64_t> CellGrid::coordinates(std::int64_t cell) const {
    std::vector<std::int64_t> coordinates(cuts.size());
    for (std::size_t f = cuts.size(); f-- > 0;) {
        const std::int64_t n = cuts[f].classes();
        coordinates[f] = cell % n;
        cell /= n;
    }
    return coordinates;
}

namespace {

bool hasFactor(const TensorMap& map, int factor) {
    return std::any_of(map.dims.begin(), map.dims.end(), [&](const auto& factors) {
        return std::find(factors.begin(), factors.end(), factor) != factors.end();
    });
}

/// A sum over no elements is a result, too: a factor of size 0 empties a cell only where it leaves
/// every output without elements.
bool empties(const Rule& rule, std::size_t factor) {
    return rule.factors[factor].size > 0 ||
           std::all_of(rule.outputs.begin(), rule.outputs.end(), [&](const TensorMap& output) {
               return !output.present || hasFactor(output, static_cast<int>(factor));
           });
}

}  // namespace

bool CellGrid::emptyCell(std::int64_t cell) const {
    const auto at = coordinates(cell);
    for (std::size_t f = 0; f < cuts.size(); ++f)
        if (cuts[f].elements(at[f]).empty() && empties(*rule, f))
            return true;
    return false;
}

namespace {

Box boxOf(const CellGrid& grid, const TensorMap& map, const std::vector<std::int64_t>& at) {
    Box box;
    box.dims.reserve(map.dims.size());
    for (const auto& factors : map.dims) {
        IndexSet set(0, 1);
        for (const int f : factors) {
            const auto index = static_cast<std::size_t>(f);
            set = indexProduct(set, grid.cuts[index].elements(at[index]),
                               grid.rule->factors[index].size);
        }
        box.dims.push_back(std::move(set));
    }
    return box;
}

}  // namespace

Box CellGrid::inputBox(std::size_t slot, const std::vector<std::int64_t>& at) const {
    Box box = boxOf(*this, rule->inputs[slot], at);
    for (const SliceExtra& slice : rule->slices) {
        const auto f = static_cast<std::size_t>(slice.factor);
        if (slice.window && slice.inputSlot == static_cast<int>(slot) && cuts[f].split())
            box.dims[static_cast<std::size_t>(slice.dim)] = windowIndices(
                slicedIndices(cuts[f].elements(at[f]), slice), slice, rule->factors[f].size);
    }
    return box;
}

bool CellGrid::hasHalo(std::size_t slot) const {
    return std::any_of(rule->slices.begin(), rule->slices.end(), [&](const SliceExtra& slice) {
        return slice.window && slice.inputSlot == static_cast<int>(slot) &&
               cuts[static_cast<std::size_t>(slice.factor)].split();
    });
}

Box CellGrid::outputBox(std::size_t slot, const std::vector<std::int64_t>& at) const {
    Box box = boxOf(*this, rule->outputs[slot], at);
    for (const SliceExtra& slice : rule->slices)
        if (slice.outputSlot == static_cast<int>(slot)) {
            const auto f = static_cast<std::size_t>(slice.factor);
            box.dims[static_cast<std::size_t>(slice.dim)] =
                slicedIndices(cuts[f].elements(at[f]), slice);
        }
    return box;
}

std::vector<int> CellGrid::partialFactors(std::size_t outputSlot) const {
    std::vector<bool> inOutput(cuts.size(), false);
    for (const auto& factors : rule->outputs[outputSlot].dims)
        for (const int f : factors)
            inOutput[static_cast<std::size_t>(f)] = true;
    std::vector<int> partial;
    for (std::size_t f = 0; f < cuts.size(); ++f)
        if (!inOutput[f] && cuts[f].split() && rule->factors[f].kind == FactorKind::Reduction)
            partial.push_back(static_cast<int>(f));
    return partial;
}

}  // namespace shardwright
