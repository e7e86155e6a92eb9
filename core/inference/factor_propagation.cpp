// SPDX-License-Identifier: Apache-2.0
//
// One step at one node. The rows (tensors) are projected to the columns (factors) of the rule; per
// factor the lists that the sources have are joined, whatever an axis list would do elsewhere in
// the node is taken off, and what is left extends the rows that have a beginning of it. The
// algorithm of Shardy's basic and aggressive strategies, with policies as data.

#include "inference/factor_propagation.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

namespace shardwright {

bool carriesAxes(const Rule& rule, std::size_t factor, const PropagationPolicy& policy) {
    const Factor& f = rule.factors[factor];
    if (f.blocksPropagation || f.size == 0 || (policy.strictOnly && !rule.strict))
        return false;
    if (f.kind == FactorKind::Whole)
        return policy.throughWhole && rule.known;
    return f.kind != FactorKind::Neighbour || policy.throughNeighbour;
}

namespace {

class Step {
public:
    Step(const Rule& rule, const NodeShardings& tensors, const StepOptions& options)
        : m_rule(rule), m_tensors(tensors), m_options(options) {
        for (std::size_t t = 0; t < tensors.size(); ++t) {
            const TensorMap* map = mapOf(t);
            m_rows.push_back(map && tensors[t] ? projectToFactors(rule, *map, *tensors[t])
                                               : FactorRow{});
            if (!m_rows.back().taking)
                m_rows.back().factors.resize(rule.factors.size());
        }
        m_changed.resize(tensors.size());
    }

    std::vector<std::optional<AxisSharding>> run() {
        switch (m_options.policy->matching) {
            case PropagationPolicy::Matching::Common: common(); break;
            case PropagationPolicy::Matching::PerTensor: perTensor(); break;
            case PropagationPolicy::Matching::FirstWins: firstWins(); break;
        }
        std::vector<std::optional<AxisSharding>> result(m_tensors.size());
        for (std::size_t t = 0; t < m_tensors.size(); ++t) {
            if (m_changed[t].empty())
                continue;
            AxisSharding next = fromFactors(m_rule, *mapOf(t), m_rows[t], *m_tensors[t],
                                            m_changed[t], m_options.policy->strided);
            if (next != *m_tensors[t] && next.axesOnce())
                result[t] = std::move(next);
        }
        return result;
    }

private:
    bool isInput(std::size_t t) const { return t < m_rule.inputs.size(); }

    const TensorMap* mapOf(std::size_t t) const {
        if (isInput(t))
            return &m_rule.inputs[t];
        const std::size_t out = t - m_rule.inputs.size();
        return out < m_rule.outputs.size() ? &m_rule.outputs[out] : nullptr;
    }

    bool has(std::size_t t, std::size_t f) const {
        return m_rows[t].taking && m_rows[t].factors[f].present;
    }

    /// nullopt: nothing may pass along this factor.
    std::optional<PropagationDirection> direction(std::size_t f) const {
        if (!carriesAxes(m_rule, f, *m_options.policy) || m_options.mode == StepMode::None)
            return std::nullopt;
        const bool parallel = m_options.mode == StepMode::ParallelFactors ||
                              m_options.mode == StepMode::ReverseParallel;
        if (parallel && m_rule.factors[f].kind != FactorKind::Parallel)
            return std::nullopt;
        const bool reverse =
            m_options.mode == StepMode::ReverseOnly || m_options.mode == StepMode::ReverseParallel;
        auto wanted = m_options.direction;
        if (m_options.policy->forwardOnly) {
            if (wanted == PropagationDirection::Reverse)
                return std::nullopt;
            wanted = PropagationDirection::Forward;
        }
        if (!reverse)
            return wanted;
        return wanted == PropagationDirection::Forward
                   ? std::nullopt
                   : std::optional(PropagationDirection::Reverse);
    }

    AxisList due(const AxisList& axes) const {
        if (!m_options.priorities || m_options.priorities->empty())
            return axes;
        AxisList result;
        for (const AxisRef& axis : axes) {
            const auto i = static_cast<std::size_t>(axis.axis);
            if (i < m_options.priorities->size() && (*m_options.priorities)[i] > m_options.priority)
                break;
            result.push_back(axis);
        }
        return result;
    }

    AxisList joined(std::size_t f) const {
        const auto way = direction(f);
        if (!way)
            return {};
        AxisList axes;
        bool mayExtend = true;
        const auto add = [&](bool inputs) {
            for (std::size_t t = 0; t < m_rows.size(); ++t) {
                if (isInput(t) != inputs || !has(t, f))
                    continue;
                auto next = joinAxes(axes, due(m_rows[t].factors[f].axes), mayExtend);
                axes = std::move(next.axes);
                mayExtend = next.mayExtend;
            }
        };
        const bool inputsFirst = *way != PropagationDirection::Reverse;
        add(inputsFirst);
        mayExtend = mayExtend && *way == PropagationDirection::Both;
        add(!inputsFirst);
        return axes;
    }

    std::optional<AxisRef> withoutOthers(AxisRef axis, const FactorRow& row, std::size_t f) const {
        for (std::size_t g = 0; g < row.factors.size(); ++g) {
            if (!row.factors[g].present)
                continue;
            for (const AxisList* list : {&row.factors[g].overflow, &row.factors[g].axes}) {
                for (const AxisRef& other : *list)
                    if (m_options.space->placementOf(other.axis) !=
                        m_options.space->placementOf(axis.axis))
                        return std::nullopt;
                if (g == f)
                    continue;
                const auto rest = without(axis, *list);
                if (!rest)
                    return std::nullopt;
                axis = *rest;
            }
        }
        return axis;
    }

    /// What of `axis` fits behind `before` shards of the factor in a row that has it.
    std::optional<AxisRef> fitting(const AxisRef& axis, const FactorAxes& mine, std::size_t f,
                                   std::int64_t before) const {
        if (std::any_of(mine.axes.begin(), mine.axes.end(),
                        [&](const AxisRef& a) { return a.contains(axis); }))
            return axis;
        const std::int64_t size = m_rule.factors[f].size;
        if (mine.open && mine.overflow.empty()) {
            if (mine.minorMost)
                return axis;
            if (size % before == 0) {
                const std::int64_t common = std::gcd(size / before, axis.size);
                if (common == axis.size)
                    return axis;
                if (common > 1)
                    return AxisRef{axis.axis, axis.pre, common};
            }
        }
        if (!mine.axes.empty() && mine.axes.back().prefixOf(axis))
            return mine.axes.back();
        return std::nullopt;
    }

    using Cut = std::function<std::optional<AxisRef>(const AxisRef&, std::int64_t before)>;
    static void truncate(AxisList& axes, const Cut& cut) {
        std::int64_t before = 1;
        for (std::size_t i = 0; i < axes.size(); ++i) {
            const auto kept = cut(axes[i], before);
            if (!kept || *kept != axes[i]) {
                axes.resize(i);
                if (kept)
                    axes.push_back(*kept);
                return;
            }
            before *= kept->size;
        }
    }

    bool target(std::size_t t, std::size_t f) const {
        if (!has(t, f))
            return false;
        if (m_options.policy->sideways)
            return true;
        const auto way = direction(f);
        return way && (isInput(t) ? *way != PropagationDirection::Forward
                                  : *way != PropagationDirection::Reverse);
    }

    void extend(std::size_t t, std::size_t f, const AxisList& axes) {
        if (!target(t, f))
            return;
        FactorAxes& mine = m_rows[t].factors[f];
        if (!mine.open || prefixOrder(mine.axes, axes) != PrefixOrder::Strict)
            return;
        mine.axes = axes;
        const TensorMap& map = *mapOf(t);
        m_changed[t].resize(map.dims.size());
        for (std::size_t d = 0; d < map.dims.size(); ++d)
            if (std::find(map.dims[d].begin(), map.dims[d].end(), static_cast<int>(f)) !=
                map.dims[d].end())
                m_changed[t][d] = true;
    }

    void common() {
        for (std::size_t f = 0; f < m_rule.factors.size(); ++f) {
            AxisList axes = joined(f);
            if (axes.empty())
                continue;
            truncate(axes, [&](AxisRef axis, std::int64_t before) -> std::optional<AxisRef> {
                for (const FactorRow& row : m_rows) {
                    if (!row.taking)
                        continue;
                    auto rest = withoutOthers(axis, row, f);
                    if (rest && row.factors[f].present)
                        rest = fitting(*rest, row.factors[f], f, before);
                    if (!rest)
                        return std::nullopt;
                    axis = *rest;
                }
                return axis;
            });
            for (std::size_t t = 0; t < m_rows.size(); ++t)
                extend(t, f, axes);
        }
    }

    bool elementwise() const { return m_rule.travel.elementwise; }

    void perTensor() {
        const std::size_t count = m_rule.factors.size();
        std::vector<AxisList> lists;
        for (std::size_t f = 0; f < count; ++f)
            lists.push_back(joined(f));
        if (std::all_of(lists.begin(), lists.end(), [](const AxisList& l) { return l.empty(); }))
            return;
        // The tensor that a list comes from: the largest that has all of it.
        std::vector<std::pair<double, std::int64_t>> source(count, {-1.0, -1});
        for (std::size_t t = 0; t < m_rows.size(); ++t) {
            double size = 1;
            for (std::size_t f = 0; f < count; ++f)
                size *= has(t, f) ? static_cast<double>(m_rule.factors[f].size) : 1.0;
            for (std::size_t f = 0; f < count; ++f)
                if (has(t, f) && !lists[f].empty() &&
                    prefixOrder(lists[f], m_rows[t].factors[f].axes) != PrefixOrder::None &&
                    size > source[f].first)
                    source[f] = {size, static_cast<std::int64_t>(t)};
        }
        std::vector<std::size_t> order(count);
        std::iota(order.begin(), order.end(), std::size_t{0});
        const bool shards = elementwise();
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            const auto key = [&](std::size_t f) {
                return std::tuple(-source[f].first, shards ? -shardsOf(lists[f]) : 0,
                                  source[f].second, f);
            };
            return key(a) < key(b);
        });
        for (const bool inputs : {false, true})
            for (std::size_t t = 0; t < m_rows.size(); ++t)
                for (const std::size_t f : order)
                    if (isInput(t) == inputs && has(t, f) && !lists[f].empty())
                        extendByItself(t, f, lists[f], shards && inputs);
    }

    void extendByItself(std::size_t t, std::size_t f, AxisList axes, bool atMostOutputs) {
        truncate(axes, [&](const AxisRef& axis, std::int64_t before) {
            return fitting(axis, m_rows[t].factors[f], f, before);
        });
        if (prefixOrder(m_rows[t].factors[f].axes, axes) != PrefixOrder::Strict)
            return;
        truncate(axes, [&](const AxisRef& axis, std::int64_t) {
            return withoutOthers(axis, m_rows[t], f);
        });
        if (axes.empty())
            return;
        // Where the result cannot have the axis there is no use in splitting another input by it.
        for (std::size_t o = m_rule.inputs.size(); atMostOutputs && o < m_rows.size(); ++o)
            if (has(o, f) && prefixOrder(m_rows[o].factors[f].axes, axes) == PrefixOrder::Strict)
                axes = m_rows[o].factors[f].axes;
        extend(t, f, axes);
    }

    void firstWins() {
        for (const bool forward : {true, false}) {
            const auto unwanted =
                forward ? PropagationDirection::Reverse : PropagationDirection::Forward;
            if (m_options.direction == unwanted)
                continue;
            NodeShardings tensors = m_tensors;
            const auto inferred =
                inferFirstWins(m_rule, tensors, forward, firstWinsTraits(m_rule), *m_options.space);
            for (std::size_t t = 0; t < m_rows.size(); ++t) {
                const std::size_t out = t - m_rule.inputs.size();
                if (!m_rows[t].taking || (!isInput(t) && out >= inferred.outputs.size()))
                    continue;
                const AxisSharding& wanted =
                    isInput(t) ? inferred.inputs[t] : inferred.outputs[out];
                const FactorRow row = projectToFactors(m_rule, *mapOf(t), wanted);
                for (std::size_t f = 0; f < m_rule.factors.size(); ++f) {
                    AxisList axes =
                        has(t, f) && row.factors[f].present ? due(row.factors[f].axes) : AxisList{};
                    truncate(axes, [&](const AxisRef& axis, std::int64_t) {
                        return withoutOthers(axis, m_rows[t], f);
                    });
                    if (!axes.empty())
                        extend(t, f, axes);
                }
            }
        }
    }

    const Rule& m_rule;
    const NodeShardings& m_tensors;
    const StepOptions& m_options;
    std::vector<FactorRow> m_rows;
    std::vector<std::vector<bool>> m_changed;
};

}  // namespace

std::vector<std::optional<AxisSharding>>
propagateNode(const Rule& rule, const NodeShardings& tensors, const StepOptions& options) {
    return Step(rule, tensors, options).run();
}

}  // namespace shardwright
