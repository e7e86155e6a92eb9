// SPDX-License-Identifier: Apache-2.0
//
// Inference as PaddlePaddle's SPMD rules do it (paddle/phi/infermeta/spmd_rules): tensors are asked
// in order, each factor takes what the first one says, and an axis stays on the first factor that
// took it. A fused dimension carries an axis on its outermost part only, and only where that
// divides.

#include "inference/factor_propagation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace shardwright {

FirstWinsTraits firstWinsTraits(const Rule& rule) {
    FirstWinsTraits traits;
    traits.cheapestInputs = rule.travel.cheapestInputs;
    traits.largestWins = rule.travel.largestWins;
    return traits;
}

namespace {

class Inference {
public:
    Inference(const Rule& rule, const NodeShardings& tensors, bool forward,
              const FirstWinsTraits& traits, const AxisSpace& space, std::vector<std::size_t> order)
        : m_rule(rule), m_tensors(tensors), m_forward(forward), m_traits(traits), m_space(space),
          m_order(std::move(order)), m_factors(rule.factors.size()) {
        if (m_order.empty()) {
            m_order.resize(rule.inputs.size());
            std::iota(m_order.begin(), m_order.end(), std::size_t{0});
        }
    }

    FirstWins run() {
        findCarriers();
        m_own.resize(m_tensors.size());
        for (std::size_t t = 0; t < m_tensors.size(); ++t)
            if (source(t))
                read(t);
        if (m_forward && m_traits.cheapestInputs)
            shareAxes();
        else
            merge();
        for (std::size_t t = 0; t < m_rule.inputs.size(); ++t)
            m_result.inputs.push_back(
                written(t, m_forward && m_traits.keepsInputs ? &m_own[t] : nullptr));
        for (std::size_t o = 0; o < m_rule.outputs.size(); ++o) {
            const std::size_t t = m_rule.inputs.size() + o;
            const bool kept = !m_forward && m_traits.keepsOutputs && m_tensors[t];
            m_result.outputs.push_back(kept ? *m_tensors[t] : written(t, nullptr));
            m_result.partial.push_back(m_forward ? partial(o) : AxisList{});
        }
        return std::move(m_result);
    }

private:
    using FactorLists = std::map<int, AxisList>;

    const TensorMap& mapOf(std::size_t t) const {
        return t < m_rule.inputs.size() ? m_rule.inputs[t]
                                        : m_rule.outputs[t - m_rule.inputs.size()];
    }

    bool source(std::size_t t) const {
        const TensorMap& map = mapOf(t);
        return (t < m_rule.inputs.size()) == m_forward && map.present && !map.shapeOnly &&
               m_tensors[t] && m_tensors[t]->dims.size() == map.dims.size();
    }

    /// Factors that may carry an axis: split without neighbours, outermost wherever they occur, and
    /// with an input to carry it.
    void findCarriers() {
        m_carries.assign(m_rule.factors.size(), false);
        for (const TensorMap& map : m_rule.inputs)
            for (const auto& dim : map.dims)
                for (const int f : dim)
                    m_carries[static_cast<std::size_t>(f)] = true;
        for (std::size_t f = 0; f < m_rule.factors.size(); ++f) {
            const Factor& factor = m_rule.factors[f];
            const bool whole =
                factor.kind == FactorKind::Whole && !(m_forward && m_traits.splitsWhole);
            if (whole || factor.kind == FactorKind::Neighbour)
                m_carries[f] = false;
        }
        for (const Rewrite& rewrite : m_rule.rewrites)
            if (rewrite.kind == Rewrite::Kind::MaskedLookup && !m_traits.maskedLookup &&
                rewrite.factor >= 0)
                m_carries[static_cast<std::size_t>(rewrite.factor)] = false;
        for (const auto* maps : {&m_rule.inputs, &m_rule.outputs})
            for (const TensorMap& map : *maps)
                for (const auto& dim : map.dims)
                    for (std::size_t i = 1; i < dim.size(); ++i)
                        m_carries[static_cast<std::size_t>(dim[i])] = false;
    }

    bool divides(int factor, const AxisList& axes) const {
        const std::int64_t shards = shardsOf(axes);
        return shards > 0 && m_rule.factors[static_cast<std::size_t>(factor)].size % shards == 0;
    }

    /// Whether the factor is a part of a dimension of some tensor.
    bool partOfDim(int factor) const {
        for (const auto* maps : {&m_rule.inputs, &m_rule.outputs})
            for (const TensorMap& map : *maps)
                for (const auto& dim : map.dims)
                    if (dim.size() > 1 && dim.front() == factor)
                        return true;
        return false;
    }

    void read(std::size_t t) {
        const TensorMap& map = mapOf(t);
        const AxisSharding& sharding = *m_tensors[t];
        if (!sharding.axesOnce())
            m_result.conflict = "an axis splits two dimensions of one tensor";
        for (std::size_t d = 0; d < map.dims.size(); ++d) {
            const AxisList axes = sharding.dims[d].all();
            if (axes.empty() || map.dims[d].empty())
                continue;
            const int f = map.dims[d].front();
            const bool whole =
                m_rule.factors[static_cast<std::size_t>(f)].kind == FactorKind::Whole;
            const bool takesPart = m_carries[static_cast<std::size_t>(f)] || !m_forward ||
                                   (m_traits.wholeTakesPart && whole);
            if (!takesPart || (partOfDim(f) && !divides(f, axes)))
                continue;
            m_own[t][f] = axes;
        }
    }

    /// The sources in the order in which they are asked.
    std::vector<std::size_t> sources() const {
        std::vector<std::size_t> result;
        if (m_forward)
            result = m_order;
        else
            for (std::size_t o = 0; o < m_rule.outputs.size(); ++o)
                result.push_back(m_rule.inputs.size() + o);
        std::erase_if(result, [&](std::size_t t) { return !source(t); });
        return result;
    }

    void merge() {
        std::vector<int> order;  // Factors in the order in which they were first split.
        for (const std::size_t t : sources()) {
            for (const auto& dim : mapOf(t).dims) {
                const auto it = dim.empty() ? m_own[t].end() : m_own[t].find(dim.front());
                if (it == m_own[t].end())
                    continue;
                AxisList& axes = m_factors[static_cast<std::size_t>(it->first)];
                if (axes.empty()) {
                    axes = it->second;
                    order.push_back(it->first);
                } else if (axes != it->second) {
                    m_result.conflict = "factor " +
                                        m_rule.factors[static_cast<std::size_t>(it->first)].name +
                                        " is split along " + m_space.text(axes) + " and along " +
                                        m_space.text(it->second);
                }
            }
        }
        if (m_traits.reductionsAgree)
            checkReductions();
        if (m_traits.largestWins)
            std::stable_sort(order.begin(), order.end(),
                             [&](int a, int b) { return sizeOf(a) > sizeOf(b); });
        AxisList used;
        for (const int f : order) {
            AxisList& axes = m_factors[static_cast<std::size_t>(f)];
            AxisList kept;
            for (const AxisRef& axis : axes) {
                if (!overlaps(axis, used))
                    kept.push_back(axis);
                else if (m_traits.oneFactorAnAxis)
                    m_result.conflict = "axis " + m_space.text(axis) + " is on two factors";
            }
            axes = std::move(kept);
            used.insert(used.end(), axes.begin(), axes.end());
        }
        for (std::size_t f = 0; f < m_factors.size(); ++f)
            if (!m_carries[f])
                m_factors[f].clear();
    }

    std::int64_t sizeOf(int factor) const {
        return m_rule.factors[static_cast<std::size_t>(factor)].size;
    }

    void checkReductions() {
        for (std::size_t f = 0; f < m_rule.factors.size(); ++f) {
            if (m_rule.factors[f].kind != FactorKind::Reduction || m_factors[f].empty())
                continue;
            for (const std::size_t t : sources())
                for (const auto& dim : mapOf(t).dims)
                    if (!dim.empty() && dim.front() == static_cast<int>(f) &&
                        !m_own[t].contains(static_cast<int>(f)))
                        m_result.conflict = "factor " + m_rule.factors[f].name +
                                            " is split in one input only, along " +
                                            m_space.text(m_factors[f]);
        }
    }

    /// A mesh axis on which the inputs agree stays; another one goes to the factor for
    /// which the fewest elements have to move.
    void shareAxes() {
        const auto inputs = sources();
        std::vector<int> align;
        for (std::size_t f = 0; f < m_rule.factors.size(); ++f)
            if (m_carries[f])
                align.push_back(static_cast<int>(f));
        const auto has = [&](std::size_t t, int f, int axis) {
            const auto it = m_own[t].find(f);
            return it != m_own[t].end() &&
                   std::any_of(it->second.begin(), it->second.end(),
                               [&](const AxisRef& a) { return a.axis == axis; });
        };
        const auto anywhere = [&](std::size_t t, int axis) {
            const AxisList all = m_tensors[t]->all();
            return std::any_of(all.begin(), all.end(),
                               [&](const AxisRef& a) { return a.axis == axis; });
        };
        const auto dimOf = [&](std::size_t t, int axis) {
            for (std::size_t d = 0; d < m_tensors[t]->dims.size(); ++d)
                for (const AxisRef& a : m_tensors[t]->dims[d].all())
                    if (a.axis == axis)
                        return static_cast<int>(d);
            return -1;
        };
        std::vector<int> differ;
        std::vector<bool> taken(m_rule.factors.size(), false);
        for (int axis = 0; axis < static_cast<int>(m_space.axisCount()); ++axis) {
            const bool same = std::all_of(inputs.begin(), inputs.end(), [&](std::size_t t) {
                return dimOf(t, axis) == dimOf(inputs.front(), axis);
            });
            if (!same) {
                differ.push_back(axis);
                continue;
            }
            for (const int f : align)
                if (!inputs.empty() && has(inputs.front(), f, axis)) {
                    m_factors[static_cast<std::size_t>(f)].push_back(m_space.whole(axis));
                    taken[static_cast<std::size_t>(f)] = true;
                }
        }
        for (const int axis : differ) {
            int best = -1;
            double least = std::numeric_limits<double>::infinity();
            for (const int f : align) {
                if (taken[static_cast<std::size_t>(f)])
                    continue;
                double cost = 0;
                for (const std::size_t t : inputs)
                    cost += costOf(t, f, axis, has(t, f, axis) || m_own[t].contains(f),
                                   anywhere(t, axis));
                if (cost < least) {
                    least = cost;
                    best = f;
                }
            }
            if (best >= 0) {
                m_factors[static_cast<std::size_t>(best)].push_back(m_space.whole(axis));
                taken[static_cast<std::size_t>(best)] = true;
            }
        }
    }

    double costOf(std::size_t t, int f, int axis, bool splitThere, bool) const {
        const auto size = static_cast<double>(m_space.axisSize(axis));
        if (m_rule.factors[static_cast<std::size_t>(f)].size < m_space.axisSize(axis))
            return std::numeric_limits<double>::infinity();
        if (splitThere)
            return 0;
        double local = 1;
        for (std::size_t d = 0; d < mapOf(t).dims.size(); ++d) {
            double whole = 1;
            for (const int g : mapOf(t).dims[d])
                whole *= static_cast<double>(m_rule.factors[static_cast<std::size_t>(g)].size);
            local *= std::ceil(whole / static_cast<double>(shardsOf(m_tensors[t]->dims[d].all())));
        }
        return local * size;
    }

    AxisSharding written(std::size_t t, const FactorLists* own) const {
        const TensorMap& map = mapOf(t);
        AxisSharding result = AxisSharding::openOfRank(map.dims.size());
        for (std::size_t d = 0; d < map.dims.size(); ++d) {
            if (map.dims[d].empty())
                continue;
            const int f = map.dims[d].front();
            AxisList axes = m_factors[static_cast<std::size_t>(f)];
            if (own)
                axes = own->contains(f) && m_carries[static_cast<std::size_t>(f)] ? own->at(f)
                                                                                  : AxisList{};
            if (!axes.empty())
                result.dims[d].parts = {{0, axes}};
        }
        return result;
    }

    AxisList partial(std::size_t o) const {
        AxisList axes;
        for (std::size_t f = 0; f < m_rule.factors.size(); ++f) {
            bool inOutput = false;
            for (const auto& dim : m_rule.outputs[o].dims)
                inOutput =
                    inOutput || std::find(dim.begin(), dim.end(), static_cast<int>(f)) != dim.end();
            if (m_rule.factors[f].kind == FactorKind::Reduction && !inOutput)
                axes.insert(axes.end(), m_factors[f].begin(), m_factors[f].end());
        }
        std::sort(axes.begin(), axes.end());
        return axes;
    }

    const Rule& m_rule;
    const NodeShardings& m_tensors;
    bool m_forward;
    FirstWinsTraits m_traits;
    const AxisSpace& m_space;
    std::vector<std::size_t> m_order;
    std::vector<bool> m_carries;
    std::vector<FactorLists>
        m_own;  ///< By tensor: what it says itself, of factors that carry axes.
    std::vector<AxisList> m_factors;  ///< The result.
    FirstWins m_result;
};

}  // namespace

FirstWins inferFirstWins(const Rule& rule, const NodeShardings& tensors, bool forward,
                         const FirstWinsTraits& traits, const AxisSpace& space,
                         const std::vector<std::size_t>& order) {
    return Inference(rule, tensors, forward, traits, space, order).run();
}

}  // namespace shardwright
