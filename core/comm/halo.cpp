// SPDX-License-Identifier: Apache-2.0
#include "comm/halo.h"

#include "comm/classify.h"
#include "inference/index_product.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace shardwright {

namespace {

using Coordinates = std::vector<std::int64_t>;

/// The elements of each factor that the cells have together; nothing where they are not every
/// combination of some classes of each.
std::optional<std::vector<IndexSet>> together(const CellGrid& cells,
                                              const std::vector<Coordinates>& parts) {
    std::vector<std::set<std::int64_t>> classes(cells.cuts.size());
    for (const Coordinates& at : parts)
        for (std::size_t f = 0; f < at.size(); ++f)
            classes[f].insert(at[f]);
    std::size_t product = 1;
    for (const auto& set : classes)
        product *= set.size();
    if (product != parts.size())
        return std::nullopt;
    std::vector<IndexSet> elements(cells.cuts.size());
    for (std::size_t f = 0; f < classes.size(); ++f)
        for (const std::int64_t c : classes[f])
            elements[f] = elements[f].unite(cells.cuts[f].elements(c));
    return elements;
}

/// The box of all cells of a device together, where each window slides over one block.
std::optional<Box> blockOf(const CellGrid& cells, std::size_t slot,
                           const std::vector<Coordinates>& parts) {
    const auto elements = together(cells, parts);
    if (!elements)
        return std::nullopt;
    Box box;
    for (const auto& factors : cells.rule->inputs[slot].dims) {
        IndexSet set(0, 1);
        for (const int f : factors) {
            const auto index = static_cast<std::size_t>(f);
            set = indexProduct(set, (*elements)[index], cells.rule->factors[index].size);
        }
        box.dims.push_back(std::move(set));
    }
    for (const SliceExtra& slice : cells.rule->slices) {
        const auto f = static_cast<std::size_t>(slice.factor);
        if (!slice.window || slice.inputSlot != static_cast<int>(slot) || !cells.cuts[f].split())
            continue;
        if ((*elements)[f].intervals().size() > 1)
            return std::nullopt;
        box.dims[static_cast<std::size_t>(slice.dim)] =
            windowIndices(slicedIndices((*elements)[f], slice), slice, cells.rule->factors[f].size);
    }
    return box;
}

}  // namespace

std::vector<WantedBoxes> haloBoxes(const CellGrid& cells, std::size_t slot) {
    std::map<DeviceId, std::vector<Coordinates>> byDevice;
    for (std::int64_t cell = 0; cell < cells.cellCount(); ++cell)
        if (!cells.emptyCell(cell))
            for (const DeviceId device : cells.devices[static_cast<std::size_t>(cell)])
                byDevice[device].push_back(cells.coordinates(cell));
    std::vector<WantedBoxes> wanted;
    for (const auto& [device, parts] : byDevice) {
        WantedBoxes own{device, {}};
        if (auto box = blockOf(cells, slot, parts)) {
            own.boxes.push_back(std::move(*box));
        } else {
            for (const Coordinates& at : parts)
                if (Box box = cells.inputBox(slot, at);
                    std::find(own.boxes.begin(), own.boxes.end(), box) == own.boxes.end())
                    own.boxes.push_back(std::move(box));
        }
        std::erase_if(own.boxes, [](const Box& box) { return box.empty(); });
        if (!own.boxes.empty())
            wanted.push_back(std::move(own));
    }
    return wanted;
}

ReshardPlan planHalo(const CellGrid& cells, std::size_t slot, const Layout& layout,
                     const Mesh& mesh, int elementBits) {
    ReshardPlan plan =
        planReshard(piecesOf(layout), ReduceKind::None, haloBoxes(cells, slot), mesh, elementBits);
    if (!plan.groups.empty())
        plan.kind = CollectiveKind::Region;
    for (GroupOperation& group : plan.groups) {
        group.kind = CollectiveKind::Region;
        group.bytes = (elementsOf(group) * elementBits + 7) / 8;
    }
    return plan;
}

}  // namespace shardwright
