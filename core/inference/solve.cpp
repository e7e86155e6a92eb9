// SPDX-License-Identifier: Apache-2.0
#include "inference/solve.h"

#include "inference/factor_alignment.h"
#include "inference/index_product.h"
#include "model/saturating.h"

#include <algorithm>
#include <limits>

namespace shardwright {

namespace {

/// More cells are not worked with: hostile files ask for any number of them.
constexpr std::int64_t kMostCells = std::int64_t{1} << 20, kMostWork = std::int64_t{1} << 26;

DeviceGroup intersect(const DeviceGroup& a, const DeviceGroup& b) {
    DeviceGroup result;
    const DeviceGroup &few = a.size() < b.size() ? a : b, &many = a.size() < b.size() ? b : a;
    if (many.size() / 16 > few.size()) {
        std::copy_if(few.begin(), few.end(), std::back_inserter(result), [&](DeviceId device) {
            return std::binary_search(many.begin(), many.end(), device);
        });
        return result;
    }
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
    return result;
}

/// A layout sorts its groups and drops what is there twice.
void append(DeviceGroup& into, const DeviceGroup& more) {
    into.insert(into.end(), more.begin(), more.end());
}

/// For one input: how a cell's coordinates on the factors of each dimension give the shard number.
class ShardLookup {
public:
    ShardLookup(const CellGrid& grid, const TensorMap& map, const Layout& layout)
        : m_layout(layout) {
        for (std::size_t d = 0; d < map.dims.size(); ++d) {
            Dim dim;
            dim.shards = 1;
            for (const Component& c : layout.dims()[d])
                dim.shards *= c.shards;
            for (const int f : map.dims[d])
                dim.factors.push_back(static_cast<std::size_t>(f));
            if (dim.shards > 1)
                fill(grid, layout.dims()[d], dim);
            m_dims.push_back(std::move(dim));
        }
    }

    const DeviceGroup& holders(const CellGrid& grid, const std::vector<std::int64_t>& at) const {
        std::int64_t shard = 0;
        for (const Dim& dim : m_dims) {
            std::int64_t local = 0;
            if (dim.shards > 1) {
                std::int64_t index = 0;
                for (const std::size_t f : dim.factors)
                    index = index * grid.cuts[f].classes() + at[f];
                local = dim.table[static_cast<std::size_t>(index)];
            }
            shard = shard * dim.shards + local;
        }
        return m_layout.groups()[static_cast<std::size_t>(shard)];
    }

private:
    struct Dim {
        std::vector<std::size_t> factors;
        std::int64_t shards = 1;
        std::vector<std::int64_t>
            table;  ///< Shard of this dimension by the classes of its factors, row-major.
    };

    static void fill(const CellGrid& grid, const std::vector<Component>& components, Dim& dim) {
        // The first element of each class tells its shard: cuts refine every input.
        std::vector<std::vector<std::int64_t>> first(dim.factors.size());
        std::size_t total = 1;
        for (std::size_t i = 0; i < dim.factors.size(); ++i) {
            const FactorCut& cut = grid.cuts[dim.factors[i]];
            for (std::int64_t c = 0; c < cut.classes(); ++c) {
                const IndexSet set = cut.elements(c);
                first[i].push_back(set.empty() ? -1 : set.intervals().front().begin);
            }
            total *= first[i].size();
        }
        // An empty block has no element: it is the block of the same number where the dimension is
        // one factor.
        dim.table.resize(total, 0);
        for (std::size_t index = 0; index < total; ++index) {
            std::size_t rest = index;
            std::int64_t element = 0, unit = 1;
            bool empty = false;
            for (std::size_t i = dim.factors.size(); i-- > 0;) {
                const std::int64_t start = first[i][rest % first[i].size()];
                rest /= first[i].size();
                empty = empty || start < 0;
                element += start * unit;
                unit *= grid.rule->factors[dim.factors[i]].size;
            }
            dim.table[index] =
                empty ? std::min<std::int64_t>(static_cast<std::int64_t>(index), dim.shards - 1)
                      : shardOfElement(components, element);
        }
    }

    const Layout& m_layout;
    std::vector<Dim> m_dims;
};

class Solver {
public:
    Solver(const RulePtr& rule, const DeviceGroup& devices, const std::vector<LayoutRef>& inputs)
        : m_rule(*rule), m_inputs(inputs), m_grid(std::make_shared<CellGrid>()) {
        m_solution.devices = devices;
        m_grid->rule = rule;
        m_grid->cuts.resize(rule->factors.size());
        for (std::size_t f = 0; f < rule->factors.size(); ++f)
            m_grid->cuts[f].components = {{std::max<std::int64_t>(rule->factors[f].size, 0), 1}};
    }

    NodeSolution run(const std::vector<const TensorInfo*>& outputs, LayoutPool& pool) {
        for (std::size_t slot = 0; slot < m_rule.inputs.size() && slot < m_inputs.size(); ++slot)
            if (m_inputs[slot] && m_rule.inputs[slot].present && !m_rule.inputs[slot].shapeOnly)
                cutBy(slot);
        checkKinds();
        if (m_solution.problems.empty())
            checkSize(outputs);
        if (!m_solution.problems.empty())
            return std::move(m_solution);
        placeCells();
        if (!m_solution.problems.empty())
            return std::move(m_solution);
        for (std::size_t slot = 0; slot < m_rule.outputs.size(); ++slot)
            m_solution.natural.push_back(m_rule.outputs[slot].present && slot < outputs.size()
                                             ? pool.intern(naturalLayout(slot, *outputs[slot]))
                                             : nullptr);
        m_solution.cells = m_grid;
        return std::move(m_solution);
    }

private:
    void cutBy(std::size_t slot) {
        const TensorMap& map = m_rule.inputs[slot];
        const Layout& layout = *m_inputs[slot];
        for (std::size_t d = 0; d < map.dims.size() && d < layout.dims().size(); ++d) {
            if (!layout.isSplit(d) || map.dims[d].empty())
                continue;
            std::vector<std::int64_t> sizes;
            for (const int f : map.dims[d])
                sizes.push_back(m_rule.factors[static_cast<std::size_t>(f)].size);
            const auto cuts = alignToFactors(layout.dims()[d], sizes);
            if (!cuts) {
                MeaningProblem problem{};
                problem.kind = MeaningProblem::Kind::ViewEdge;
                problem.slot = static_cast<int>(slot);
                problem.dim = static_cast<int>(d);
                m_solution.problems.push_back(problem);
                continue;
            }
            for (std::size_t i = 0; i < sizes.size(); ++i) {
                const auto f = static_cast<std::size_t>(map.dims[d][i]);
                if ((*cuts)[i].split())
                    m_cutBy.push_back({f, slot, d});
                m_grid->cuts[f] = refine(m_grid->cuts[f], (*cuts)[i]);
            }
        }
    }

    /// Windows are computed over one contiguous block at a time.
    bool hasExtra(std::size_t factor) const {
        return std::any_of(m_rule.slices.begin(), m_rule.slices.end(), [&](const SliceExtra& s) {
            return s.factor == static_cast<int>(factor) && (!s.window || contiguous(factor));
        });
    }

    bool contiguous(std::size_t factor) const {
        const FactorCut& cut = m_grid->cuts[factor];
        for (std::int64_t c = 0; c < cut.classes(); ++c)
            if (cut.elements(c).intervals().size() > 1)
                return false;
        return true;
    }

    void checkKinds() {
        std::vector<bool> told(m_rule.factors.size(), false);
        for (const auto& cut : m_cutBy) {
            const Factor& factor = m_rule.factors[cut.factor];
            const bool whole = factor.kind == FactorKind::Whole;
            const bool neighbour = factor.kind == FactorKind::Neighbour && !hasExtra(cut.factor);
            if ((!whole && !neighbour) || told[cut.factor])
                continue;
            told[cut.factor] = true;
            MeaningProblem problem{};
            problem.kind =
                whole ? MeaningProblem::Kind::SplitWhole : MeaningProblem::Kind::SplitNeighbour;
            problem.slot = static_cast<int>(cut.slot);
            problem.dim = static_cast<int>(cut.dim);
            problem.factor = static_cast<int>(cut.factor);
            m_solution.problems.push_back(problem);
        }
    }

    /// Bounds what the rest works with, before any of it is made.
    void checkSize(const std::vector<const TensorInfo*>& outputs) {
        std::int64_t cells = 1;
        for (const FactorCut& cut : m_grid->cuts)
            cells = saturatingProduct(cells, cut.classes());
        bool tooMany = cells > kMostCells;
        for (const FactorCut& cut : m_grid->cuts)
            tooMany = tooMany || isTooFine(cut.components);
        for (std::size_t slot = 0; slot < m_rule.outputs.size() && slot < outputs.size(); ++slot)
            for (const auto& factors : m_rule.outputs[slot].dims) {
                std::vector<Component> dim;
                for (const int f : factors) {
                    const auto& cut = m_grid->cuts[static_cast<std::size_t>(f)].components;
                    dim.insert(dim.end(), cut.begin(), cut.end());
                }
                tooMany = tooMany || isTooFine(dim);
            }
        if (tooMany)
            tooFine(cells);
    }

    void tooFine(std::int64_t cells) {
        MeaningProblem problem{};
        problem.kind = MeaningProblem::Kind::TooFine;
        problem.slot = m_cutBy.empty() ? -1 : static_cast<int>(m_cutBy.front().slot);
        problem.cells = cells;
        m_solution.problems.push_back(problem);
    }

    void placeCells() {
        std::vector<std::pair<std::size_t, ShardLookup>> lookups;
        for (std::size_t slot = 0; slot < m_rule.inputs.size() && slot < m_inputs.size(); ++slot)
            if (m_inputs[slot] && m_rule.inputs[slot].present && !m_rule.inputs[slot].shapeOnly)
                lookups.emplace_back(slot,
                                     ShardLookup(*m_grid, m_rule.inputs[slot], *m_inputs[slot]));
        std::int64_t cells = 1;
        for (const FactorCut& cut : m_grid->cuts)
            cells *= cut.classes();
        m_grid->devices.reserve(static_cast<std::size_t>(cells));
        std::int64_t work = 0;  // Devices looked at: groups may be as large as cells are many.
        MeaningProblem problem{};
        problem.kind = MeaningProblem::Kind::NoDevice;
        for (std::int64_t cell = 0; cell < cells; ++cell) {
            const auto at = m_grid->coordinates(cell);
            std::size_t emptiedBy = 0;
            DeviceGroup devices = holdersOfAll(lookups, at, emptiedBy);
            work += static_cast<std::int64_t>(devices.size());
            for (const auto& [slot, lookup] : lookups)
                work += static_cast<std::int64_t>(lookup.holders(*m_grid, at).size());
            if (work > kMostWork) {
                tooFine(cells);
                return;
            }
            if (devices.empty() && !lookups.empty() && !m_grid->emptyCell(cell)) {
                if (problem.cellsWithoutDevice++ == 0)
                    blame(problem, lookups, emptiedBy, at);
            }
            problem.cells += m_grid->emptyCell(cell) ? 0 : 1;
            m_grid->devices.push_back(std::move(devices));
        }
        if (problem.cellsWithoutDevice > 0)
            m_solution.problems.push_back(problem);
    }

    /// The node's devices that hold what a cell needs of every input; `last` is the input that was
    /// looked at last.
    DeviceGroup holdersOfAll(const std::vector<std::pair<std::size_t, ShardLookup>>& lookups,
                             const std::vector<std::int64_t>& at, std::size_t& last) const {
        if (lookups.empty())
            return m_solution.devices;
        DeviceGroup devices = intersect(m_solution.devices, lookups[0].second.holders(*m_grid, at));
        last = 0;
        for (std::size_t i = 1; i < lookups.size() && !devices.empty(); ++i) {
            devices = intersect(devices, lookups[i].second.holders(*m_grid, at));
            last = i;
        }
        return devices;
    }

    void blame(MeaningProblem& problem,
               const std::vector<std::pair<std::size_t, ShardLookup>>& lookups,
               std::size_t emptiedBy, const std::vector<std::int64_t>& at) const {
        problem.slot = static_cast<int>(lookups[emptiedBy].first);
        const DeviceGroup& mine = lookups[emptiedBy].second.holders(*m_grid, at);
        for (std::size_t i = 0; i < emptiedBy; ++i)
            if (intersect(mine, lookups[i].second.holders(*m_grid, at)).empty()) {
                problem.otherSlot = static_cast<int>(lookups[i].first);
                return;
            }
        if (emptiedBy > 0)
            problem.otherSlot = static_cast<int>(lookups[0].first);
    }

    /// Where output `slot` lies once its partial results are joined: each block on all devices that
    /// took part.
    Layout naturalLayout(std::size_t slot, const TensorInfo& info) const {
        const TensorMap& map = m_rule.outputs[slot];
        std::vector<std::int64_t> shape;
        for (std::size_t d = 0; d < map.dims.size(); ++d)
            shape.push_back(d < info.dims.size() ? std::max<std::int64_t>(info.dims[d], 0) : 1);
        std::vector<std::vector<Component>> dims(shape.size());
        std::vector<std::vector<std::int64_t>> classOfBlock(
            shape.size());  // Only where a slice moved the edges.
        std::vector<std::int64_t> blocks(shape.size(), 1);
        for (std::size_t d = 0; d < shape.size(); ++d) {
            const SliceExtra* slice = sliceOf(slot, d);
            if (slice) {
                cutBySlice(*slice, shape[d], dims[d], classOfBlock[d]);
            } else {
                for (const int f : map.dims[d])
                    for (const Component& c : m_grid->cuts[static_cast<std::size_t>(f)].components)
                        dims[d].push_back(c);
                if (dims[d].empty())
                    dims[d].push_back({shape[d], 1});
            }
            for (const Component& c : dims[d])
                blocks[d] *= c.shards;
        }
        std::int64_t total = 1;
        for (const std::int64_t n : blocks)
            total *= n;
        std::vector<DeviceGroup> groups(static_cast<std::size_t>(total));
        for (std::int64_t cell = 0; cell < m_grid->cellCount(); ++cell)
            addCell(map, m_grid->coordinates(cell), classOfBlock, blocks,
                    m_grid->devices[static_cast<std::size_t>(cell)], groups);
        return Layout(std::move(shape), std::move(dims), std::move(groups));
    }

    const SliceExtra* sliceOf(std::size_t slot, std::size_t dim) const {
        for (const SliceExtra& s : m_rule.slices)
            if (s.outputSlot == static_cast<int>(slot) && s.dim == static_cast<int>(dim) &&
                m_grid->cuts[static_cast<std::size_t>(s.factor)].split())
                return &s;
        for (const SliceExtra& s : m_rule.slices)
            if (s.outputSlot == static_cast<int>(slot) && s.dim == static_cast<int>(dim))
                return &s;
        return nullptr;
    }

    void cutBySlice(const SliceExtra& slice, std::int64_t size, std::vector<Component>& components,
                    std::vector<std::int64_t>& classOfBlock) const {
        const FactorCut& cut = m_grid->cuts[static_cast<std::size_t>(slice.factor)];
        std::vector<std::int64_t> edges;
        std::vector<IndexSet> sets;
        for (std::int64_t c = 0; c < cut.classes(); ++c) {
            sets.push_back(slicedIndices(cut.elements(c), slice));
            for (const auto& interval : sets.back().intervals()) {
                edges.push_back(interval.begin);
                edges.push_back(interval.end);
            }
        }
        const Component component = componentWithEdges(size, edges);
        components = {component};
        for (std::int64_t block = 0; block < component.shards; ++block) {
            std::int64_t owner = 0;
            const std::int64_t begin = block * component.block();
            for (std::size_t c = 0; c < sets.size(); ++c)
                if (sets[c].contains(IndexSet(begin, std::min(begin + 1, size))) && begin < size)
                    owner = static_cast<std::int64_t>(c);
            classOfBlock.push_back(owner);
        }
    }

    void addCell(const TensorMap& map, const std::vector<std::int64_t>& at,
                 const std::vector<std::vector<std::int64_t>>& classOfBlock,
                 const std::vector<std::int64_t>& blocks, const DeviceGroup& devices,
                 std::vector<DeviceGroup>& groups) const {
        // Per dimension the blocks that this cell fills; more than one only where a slice moved the
        // edges.
        std::vector<std::int64_t> shards{0};
        for (std::size_t d = 0; d < map.dims.size(); ++d) {
            std::int64_t index = 0;
            for (const int f : map.dims[d])
                index = index * m_grid->cuts[static_cast<std::size_t>(f)].classes() +
                        at[static_cast<std::size_t>(f)];
            std::vector<std::int64_t> next;
            for (const std::int64_t shard : shards) {
                if (classOfBlock[d].empty()) {
                    next.push_back(shard * blocks[d] + index);
                    continue;
                }
                for (std::size_t b = 0; b < classOfBlock[d].size(); ++b)
                    if (classOfBlock[d][b] == index)
                        next.push_back(shard * blocks[d] + static_cast<std::int64_t>(b));
            }
            shards = std::move(next);
        }
        for (const std::int64_t shard : shards)
            append(groups[static_cast<std::size_t>(shard)], devices);
    }

    struct CutBy {
        std::size_t factor, slot, dim;
    };
    const Rule& m_rule;
    const std::vector<LayoutRef>& m_inputs;
    std::shared_ptr<CellGrid> m_grid;
    std::vector<CutBy> m_cutBy;
    NodeSolution m_solution;
};

}  // namespace

NodeSolution solveNode(const RulePtr& rule, const DeviceGroup& devices,
                       const std::vector<LayoutRef>& inputs,
                       const std::vector<const TensorInfo*>& outputs, LayoutPool& pool) {
    NodeSolution solution = Solver(rule, devices, inputs).run(outputs, pool);
    const bool edges =
        !solution.problems.empty() &&
        std::all_of(solution.problems.begin(), solution.problems.end(), [](const auto& problem) {
            return problem.kind == MeaningProblem::Kind::ViewEdge;
        });
    if (edges && rule->otherwise)
        if (NodeSolution other = Solver(rule->otherwise, devices, inputs).run(outputs, pool);
            other.problems.empty())
            return other;
    return solution;
}

}  // namespace shardwright
