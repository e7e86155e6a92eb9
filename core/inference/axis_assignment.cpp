// SPDX-License-Identifier: Apache-2.0
#include "inference/axis_assignment.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

namespace shardwright {

bool maySplit(const Rule& rule, std::size_t factor) {
    const Factor& f = rule.factors[factor];
    return f.size > 0 && (f.kind == FactorKind::Parallel || f.kind == FactorKind::Reduction);
}

namespace {

const TensorMap* mapAt(const Rule& rule, std::size_t t) {
    if (t < rule.inputs.size())
        return &rule.inputs[t];
    t -= rule.inputs.size();
    return t < rule.outputs.size() ? &rule.outputs[t] : nullptr;
}

std::vector<FactorRow> rowsOf(const Rule& rule, const std::vector<const AxisSharding*>& tensors) {
    std::vector<FactorRow> rows;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
        const TensorMap* map = mapAt(rule, t);
        rows.push_back(map && tensors[t] ? projectToFactors(rule, *map, *tensors[t]) : FactorRow{});
        rows.back().factors.resize(rule.factors.size());
    }
    return rows;
}

/// Where all rows say the same of each factor and no axis is on two factors, that.
bool agreed(const Rule& rule, const std::vector<FactorRow>& rows, FactorAssignment& into) {
    AxisList seen;
    for (std::size_t f = 0; f < rule.factors.size(); ++f) {
        const AxisList* axes = nullptr;
        for (const FactorRow& row : rows) {
            if (!row.taking || !row.factors[f].present)
                continue;
            if (!row.factors[f].overflow.empty() || (axes && *axes != row.factors[f].axes))
                return false;
            axes = &row.factors[f].axes;
        }
        if (!axes || axes->empty())
            continue;
        if (!maySplit(rule, f))
            return false;
        for (const AxisRef& axis : *axes)
            if (overlaps(axis, seen))
                return false;
        seen.insert(seen.end(), axes->begin(), axes->end());
        into[f] = *axes;
    }
    return true;
}

struct Candidate {
    std::size_t factor = 0;
    AxisList axes;
    double weight = 0;  ///< Elements of the tensors that have it.
    std::int64_t shards = 1;
};

int rank(const Rule& rule, std::size_t factor) {
    switch (rule.factors[factor].kind) {
        case FactorKind::Parallel: return 3;
        case FactorKind::Reduction: return 2;
        case FactorKind::Neighbour: return 1;
        case FactorKind::Whole: break;
    }
    return 0;
}

/// Two tensors, one factor a dimension: one of them is resharded, the other one left alone.
bool isUnary(const Rule& rule, const std::vector<FactorRow>& rows, std::vector<std::size_t>& both) {
    for (std::size_t t = 0; t < rows.size(); ++t)
        if (rows[t].taking && mapAt(rule, t) && !mapAt(rule, t)->dims.empty())
            both.push_back(t);
    if (both.size() != 2)
        return false;
    for (std::size_t f = 0; f < rule.factors.size(); ++f)
        if (!maySplit(rule, f))
            return false;
    for (const std::size_t t : both)
        for (const auto& dim : mapAt(rule, t)->dims)
            if (dim.size() > 1)
                return false;
    return true;
}

std::int64_t shardsIn(const FactorRow& row) {
    std::int64_t shards = 1;
    for (const FactorAxes& f : row.factors)
        shards *= shardsOf(f.axes) * shardsOf(f.overflow);
    return shards;
}

void preferOne(const Rule& rule, const std::vector<FactorRow>& rows,
               const std::vector<std::size_t>& both, const std::vector<double>& sizes,
               FactorAssignment& result) {
    const auto key = [&](std::size_t t) { return std::pair(sizes[t], shardsIn(rows[t])); };
    const bool first = key(both[0]) >= key(both[1]);
    const FactorRow& mine = rows[first ? both[0] : both[1]];
    const FactorRow& other = rows[first ? both[1] : both[0]];
    AxisList used;
    for (std::size_t f = 0; f < rule.factors.size(); ++f)
        if (mine.factors[f].present) {
            result[f] = mine.factors[f].axes;
            used.insert(used.end(), result[f].begin(), result[f].end());
        }
    for (std::size_t f = 0; f < rule.factors.size(); ++f) {
        if (mine.factors[f].present || !other.factors[f].present)
            continue;
        for (const AxisRef& axis : other.factors[f].axes) {
            const auto rest = without(axis, used);
            if (rest)
                result[f].push_back(*rest);
            if (!rest || *rest != axis)
                break;
        }
    }
}

class Heaviest {
public:
    Heaviest(const Rule& rule, const std::vector<FactorRow>& rows, const std::vector<double>& sizes,
             bool strided)
        : m_rule(rule), m_result(rule.factors.size()), m_strided(strided) {
        std::set<std::pair<std::size_t, AxisList>> known;
        for (const FactorRow& row : rows)
            for (std::size_t f = 0; row.taking && f < rule.factors.size(); ++f)
                for (AxisList axes = row.factors[f].axes; !axes.empty(); axes.pop_back())
                    known.insert({f, axes});
        for (const auto& [f, axes] : known) {
            Candidate c{f, axes, 0, shardsOf(axes)};
            for (std::size_t t = 0; t < rows.size(); ++t)
                if (rows[t].taking &&
                    prefixOrder(axes, rows[t].factors[f].axes) != PrefixOrder::None)
                    c.weight += sizes[t];
            m_candidates.push_back(std::move(c));
        }
    }

    FactorAssignment run() {
        while (const Candidate* best = findBest()) {
            const Candidate chosen = *best;
            m_result[chosen.factor] = chosen.axes;
            drop(chosen);
        }
        return std::move(m_result);
    }

private:
    /// Without strided components a factor is split only when those before it are split into
    /// single indices.
    bool ready(std::size_t factor) const {
        if (m_strided)
            return true;
        for (const auto* maps : {&m_rule.inputs, &m_rule.outputs})
            for (const TensorMap& map : *maps)
                for (const auto& dim : map.dims)
                    for (std::size_t i = 1; i < dim.size(); ++i) {
                        const auto before = static_cast<std::size_t>(dim[i - 1]);
                        if (static_cast<std::size_t>(dim[i]) == factor &&
                            shardsOf(m_result[before]) != m_rule.factors[before].size)
                            return false;
                    }
        return true;
    }

    const Candidate* findBest() const {
        const Candidate* best = nullptr;
        const auto key = [&](const Candidate& c) {
            return std::tuple(c.weight, rank(m_rule, c.factor), c.shards, c.factor, c.axes);
        };
        for (const Candidate& c : m_candidates)
            if (ready(c.factor) && (!best || key(*best) < key(c)))
                best = &c;
        return best;
    }

    void drop(const Candidate& chosen) {
        std::vector<Candidate> rest;
        for (Candidate& c : m_candidates) {
            if (c.factor == chosen.factor) {
                if (prefixOrder(chosen.axes, c.axes) != PrefixOrder::Strict)
                    continue;
                c.shards = shardsOf(c.axes) / shardsOf(chosen.axes);
                rest.push_back(std::move(c));
                continue;
            }
            AxisList kept;
            for (const AxisRef& axis : c.axes) {
                const auto part = without(axis, chosen.axes);
                if (part)
                    kept.push_back(*part);
                if (!part || *part != axis)
                    break;
            }
            if (kept.empty() || kept == m_result[c.factor])
                continue;
            c.axes = std::move(kept);
            c.shards = shardsOf(c.axes) / shardsOf(m_result[c.factor]);
            rest.push_back(std::move(c));
        }
        m_candidates = std::move(rest);
    }

    const Rule& m_rule;
    std::vector<Candidate> m_candidates;
    FactorAssignment m_result;
    bool m_strided;
};

}  // namespace

FactorAssignment assignAxes(const Rule& rule, const std::vector<const AxisSharding*>& tensors,
                            const std::vector<double>& sizes, bool strided) {
    const auto rows = rowsOf(rule, tensors);
    FactorAssignment result(rule.factors.size());
    if (agreed(rule, rows, result))
        return result;
    result.assign(rule.factors.size(), {});
    std::vector<std::size_t> both;
    if (isUnary(rule, rows, both))
        preferOne(rule, rows, both, sizes, result);
    else
        result = Heaviest(rule, rows, sizes, strided).run();
    for (std::size_t f = 0; f < rule.factors.size(); ++f)
        if (!maySplit(rule, f))
            result[f].clear();
    return result;
}

std::vector<FactorAssignment> enumerateAssignments(const Rule& rule,
                                                   const std::vector<const AxisSharding*>& tensors,
                                                   std::size_t limit) {
    const auto rows = rowsOf(rule, tensors);
    std::vector<std::vector<AxisList>> choices(rule.factors.size());
    for (std::size_t f = 0; f < rule.factors.size(); ++f) {
        std::set<AxisList> lists{AxisList{}};
        if (maySplit(rule, f))
            for (const FactorRow& row : rows)
                if (row.taking && row.factors[f].present)
                    lists.insert(row.factors[f].axes);
        choices[f].assign(lists.begin(), lists.end());
    }
    std::vector<FactorAssignment> result{FactorAssignment(rule.factors.size())};
    for (std::size_t f = 0; f < rule.factors.size(); ++f) {
        std::vector<FactorAssignment> next;
        for (const FactorAssignment& partial : result)
            for (const AxisList& axes : choices[f]) {
                const bool clash = std::any_of(axes.begin(), axes.end(), [&](const AxisRef& axis) {
                    return std::any_of(partial.begin(), partial.end(), [&](const AxisList& other) {
                        return overlaps(axis, other);
                    });
                });
                if (clash || next.size() >= limit)
                    continue;
                next.push_back(partial);
                next.back()[f] = axes;
            }
        result = std::move(next);
    }
    return result;
}

AxisSharding inputOf(const Rule& rule, std::size_t slot, const FactorAssignment& assignment) {
    return fromFactors(rule, rule.inputs[slot], assignment, true);
}

AxisSharding outputOf(const Rule& rule, std::size_t slot, const FactorAssignment& assignment) {
    return fromFactors(rule, rule.outputs[slot], assignment, true);
}

AxisList partialOf(const Rule& rule, std::size_t slot, const FactorAssignment& assignment) {
    AxisList axes;
    for (std::size_t f = 0; f < rule.factors.size(); ++f) {
        bool inOutput = false;
        for (const auto& dim : rule.outputs[slot].dims)
            inOutput =
                inOutput || std::find(dim.begin(), dim.end(), static_cast<int>(f)) != dim.end();
        if (rule.factors[f].kind == FactorKind::Reduction && !inOutput)
            axes.insert(axes.end(), assignment[f].begin(), assignment[f].end());
    }
    std::sort(axes.begin(), axes.end());
    return axes;
}

}  // namespace shardwright
