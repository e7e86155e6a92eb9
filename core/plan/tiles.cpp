// SPDX-License-Identifier: Apache-2.0
#include "plan/tiles.h"

#include "inference/index_product.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardwright::lowering {

namespace {

using Coordinates = std::vector<std::int64_t>;

class TileFinder {
public:
    explicit TileFinder(const CellGrid& cells)
        : m_cells(cells), m_partial(cells.cuts.size(), false) {
        for (std::size_t slot = 0; slot < cells.rule->outputs.size(); ++slot)
            if (cells.rule->outputs[slot].present)
                for (const int f : cells.partialFactors(slot))
                    m_partial[static_cast<std::size_t>(f)] = true;
        for (const FactorCut& cut : cells.cuts) {
            std::vector<IndexSet> sets;
            for (std::int64_t c = 0; c < cut.classes(); ++c)
                sets.push_back(cut.elements(c));
            m_elements.push_back(std::move(sets));
        }
    }

    Tile one(std::vector<std::vector<std::int64_t>> classes) const {
        return tile(std::move(classes));
    }

    std::vector<DeviceTiles> run() {
        std::map<DeviceId, std::vector<Coordinates>> byDevice;
        for (std::int64_t cell = 0; cell < m_cells.cellCount(); ++cell) {
            const Coordinates at = m_cells.coordinates(cell);
            if (!idle(at))
                for (const DeviceId device : m_cells.devices[static_cast<std::size_t>(cell)])
                    byDevice[device].push_back(at);
        }
        std::vector<DeviceTiles> result;
        for (const auto& [device, cells] : byDevice)
            result.push_back({device, tilesFor(cells)});
        return result;
    }

private:
    /// A block of a split factor without elements. (A factor that has no elements at all still
    /// runs: a sum over nothing is a result.)
    bool idle(const Coordinates& at) const {
        for (std::size_t f = 0; f < at.size(); ++f)
            if (m_cells.cuts[f].split() && m_elements[f][static_cast<std::size_t>(at[f])].empty())
                return true;
        return false;
    }

    std::vector<Tile> tilesFor(const std::vector<Coordinates>& cells) const {
        std::map<Coordinates, std::vector<Coordinates>> byTerm;
        for (const Coordinates& at : cells) {
            Coordinates term;
            for (std::size_t f = 0; f < at.size(); ++f)
                if (m_partial[f])
                    term.push_back(at[f]);
            byTerm[term].push_back(at);
        }
        std::vector<Tile> tiles;
        for (const auto& [term, part] : byTerm) {
            const auto classes = classesOf(part);
            std::size_t product = 1;
            for (const auto& c : classes)
                product *= c.size();
            if (product == part.size() && windowsAreBlocks(classes)) {
                tiles.push_back(tile(classes));
                continue;
            }
            for (const Coordinates& at : part)
                tiles.push_back(tile(classesOf({at})));
        }
        return tiles;
    }

    /// A kernel slides over one contiguous block.
    bool windowsAreBlocks(const std::vector<std::vector<std::int64_t>>& classes) const {
        return std::all_of(m_cells.rule->slices.begin(), m_cells.rule->slices.end(),
                           [&](const SliceExtra& slice) {
                               if (!slice.window)
                                   return true;
                               const auto f = static_cast<std::size_t>(slice.factor);
                               IndexSet set;
                               for (const std::int64_t c : classes[f])
                                   set = set.unite(m_elements[f][static_cast<std::size_t>(c)]);
                               return set.intervals().size() <= 1;
                           });
    }

    std::vector<std::vector<std::int64_t>> classesOf(const std::vector<Coordinates>& cells) const {
        std::vector<std::set<std::int64_t>> sets(m_cells.cuts.size());
        for (const Coordinates& at : cells)
            for (std::size_t f = 0; f < at.size(); ++f)
                sets[f].insert(at[f]);
        std::vector<std::vector<std::int64_t>> classes;
        for (const auto& set : sets)
            classes.emplace_back(set.begin(), set.end());
        return classes;
    }

    Tile tile(std::vector<std::vector<std::int64_t>> classes) const {
        const Rule& rule = *m_cells.rule;
        Tile tile;
        tile.classes = std::move(classes);
        for (const TensorMap& map : rule.inputs)
            tile.inputs.push_back(box(map, tile));
        for (const SliceExtra& slice : rule.slices) {
            const auto f = static_cast<std::size_t>(slice.factor);
            if (slice.window && m_cells.cuts[f].split())
                tile.inputs[static_cast<std::size_t>(slice.inputSlot)]
                    .dims[static_cast<std::size_t>(slice.dim)] = windowIndices(
                    slicedIndices(elements(f, tile), slice), slice, rule.factors[f].size);
        }
        for (std::size_t slot = 0; slot < rule.outputs.size(); ++slot) {
            tile.outputs.push_back(box(rule.outputs[slot], tile));
            for (const SliceExtra& slice : rule.slices)
                if (slice.outputSlot == static_cast<int>(slot))
                    tile.outputs.back().dims[static_cast<std::size_t>(slice.dim)] = slicedIndices(
                        elements(static_cast<std::size_t>(slice.factor), tile), slice);
            int term = 0;
            for (const int f : m_cells.partialFactors(slot)) {
                const auto index = static_cast<std::size_t>(f);
                term = static_cast<int>(term * m_cells.cuts[index].classes() +
                                        tile.classes[index].front());
            }
            tile.terms.push_back(term);
        }
        return tile;
    }

    IndexSet elements(std::size_t factor, const Tile& tile) const {
        IndexSet set;
        for (const std::int64_t c : tile.classes[factor])
            set = set.unite(m_elements[factor][static_cast<std::size_t>(c)]);
        return set;
    }

    Box box(const TensorMap& map, const Tile& tile) const {
        Box box;
        for (const auto& factors : map.dims) {
            IndexSet set(0, 1);
            for (const int f : factors) {
                const auto index = static_cast<std::size_t>(f);
                set = indexProduct(set, elements(index, tile), m_cells.rule->factors[index].size);
            }
            box.dims.push_back(std::move(set));
        }
        return box;
    }

    const CellGrid& m_cells;
    std::vector<bool> m_partial;  ///< By factor: split, and some output is partial over it.
    std::vector<std::vector<IndexSet>> m_elements;  ///< By factor and class.
};

}  // namespace

Tile tileOf(const CellGrid& cells, std::vector<std::vector<std::int64_t>> classes) {
    return TileFinder(cells).one(std::move(classes));
}

std::vector<DeviceTiles> tilesOf(const CellGrid& cells) {
    return TileFinder(cells).run();
}

const std::vector<DeviceTiles>& TileCache::of(const std::shared_ptr<const CellGrid>& cells) {
    const auto it = m_tiles.find(cells.get());
    return it != m_tiles.end() ? it->second
                               : m_tiles.emplace(cells.get(), tilesOf(*cells)).first->second;
}

}  // namespace shardwright::lowering
