// SPDX-License-Identifier: Apache-2.0
#include "run/tolerances.h"

#include "run/verify.h"

#include <algorithm>

namespace shardwright {

namespace {

double elements(const Rule& rule, const TensorMap& map) {
    double count = 1;
    for (const std::vector<int>& factors : map.dims)
        for (const int factor : factors)
            count *= static_cast<double>(rule.factors[static_cast<std::size_t>(factor)].size);
    return count;
}

}  // namespace

double sumLength(const Rule& rule) {
    double terms = 1, largest = 1;
    for (const Factor& factor : rule.factors)
        if ((factor.kind == FactorKind::Reduction || factor.kind == FactorKind::Whole) &&
            factor.size > 1)
            terms *= static_cast<double>(factor.size);
    for (const TensorMap& map : rule.inputs)
        largest = std::max(largest, elements(rule, map));
    return std::min(terms, largest);
}

Tolerances::Tolerances(const Analysis& analysis, double fixed)
    : m_analysis(analysis), m_fixed(fixed), m_types(analysis.graph().values.size(), 0),
      m_lengths(analysis.graph().values.size(), 0) {
    const GraphIndex& graph = analysis.graph();
    for (const NodeId id : graph.main().order) {
        const NodeInfo& node = graph.node(id);
        double type = 0, length = 0;
        for (const auto* values : {&node.inputs, &node.captures})
            for (const ValueId value : *values)
                if (value) {
                    type = std::max(type, m_types[value.index()]);
                    length = std::max(length, m_lengths[value.index()]);
                }
        length += sumLength(*analysis.rules->of(id));
        for (const ValueId value : node.outputs) {
            const double own = value ? typeTolerance(analysis.shapes->of(value).elementType) : 0;
            if (own == 0)
                continue;
            m_types[value.index()] = std::max(own, type);
            m_lengths[value.index()] = length;
        }
    }
}

double Tolerances::of(ValueId value) const {
    if (m_fixed >= 0 || !value || value.index() >= m_types.size())
        return m_fixed;
    const std::int32_t type = m_analysis.shapes->of(value).elementType;
    return tolerance(type, m_lengths[value.index()]) +
           std::max(0.0, m_types[value.index()] - typeTolerance(type));
}

double Tolerances::ofNodeAlone(ValueId value) const {
    if (m_fixed >= 0)
        return m_fixed;
    const NodeId producer = m_analysis.graph().value(value).producer;
    return tolerance(m_analysis.shapes->of(value).elementType,
                     producer ? sumLength(*m_analysis.rules->of(producer)) : 0);
}

}  // namespace shardwright
