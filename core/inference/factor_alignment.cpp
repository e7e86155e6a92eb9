// SPDX-License-Identifier: Apache-2.0
#include "inference/factor_alignment.h"

#include "inference/index_product.h"

#include <algorithm>
#include <numeric>

namespace shardwright {

namespace {

/// Walks factors and components together, outermost first. A component that spans several factors
/// is taken apart: its blocks are whole multiples of the inner part (then only the outer factor is
/// cut), or divide it (then the outer factor is cut to single indices and the rest goes on
/// inwards).
class Aligner {
public:
    Aligner(const std::vector<Component>& components, const std::vector<std::int64_t>& sizes)
        : m_components(components), m_sizes(sizes), m_cuts(sizes.size()) {
        for (FactorCut& cut : m_cuts)
            cut.components.clear();
    }

    std::optional<std::vector<FactorCut>> run() {
        for (const Component& component : m_components)
            if (!place(component))
                return std::nullopt;
        for (std::size_t f = 0; f < m_sizes.size(); ++f)
            if (m_cuts[f].components.empty())
                m_cuts[f].components.push_back({m_sizes[f], 1});
        return std::move(m_cuts);
    }

private:
    bool place(Component component) {
        while (component.size > 1 || component.shards > 1) {
            while (m_factor < m_sizes.size() && remaining() == 1)
                nextFactor();
            if (m_factor >= m_sizes.size())
                return component.size <= 1;
            const std::int64_t room = remaining();
            if (room % component.size == 0) {
                append(component);
                return true;
            }
            if (component.size % room != 0)
                return false;
            const std::int64_t inner = component.size / room;
            const std::int64_t block = component.block();
            if (component.shards == 1 || block % inner == 0) {
                append({room, component.shards});
                component = {inner, 1};
            } else if (inner % block == 0) {
                append({room, room});
                component = {inner, inner / block};
            } else {
                return false;
            }
        }
        return true;
    }

    std::int64_t remaining() const {
        return m_sizes[m_factor] / std::max<std::int64_t>(m_placed, 1);
    }
    void nextFactor() {
        ++m_factor;
        m_placed = 1;
    }
    void append(const Component& component) {
        m_cuts[m_factor].components.push_back(component);
        m_placed *= component.size;
    }

    const std::vector<Component>& m_components;
    const std::vector<std::int64_t>& m_sizes;
    std::vector<FactorCut> m_cuts;
    std::size_t m_factor = 0;
    std::int64_t m_placed = 1;  ///< Product of the component sizes already in the current factor.
};

bool isSplit(const std::vector<Component>& components) {
    return std::any_of(components.begin(), components.end(),
                       [](const Component& c) { return c.shards > 1; });
}

std::optional<FactorCut> refineByComponent(const FactorCut& a, const FactorCut& b) {
    if (a.components.size() != b.components.size())
        return std::nullopt;
    FactorCut result;
    result.components.clear();
    for (std::size_t i = 0; i < a.components.size(); ++i) {
        const Component &x = a.components[i], &y = b.components[i];
        if (x.size != y.size)
            return std::nullopt;
        if (x.shards == 1 || y.shards == 1) {
            result.components.push_back(x.shards == 1 ? y : x);
        } else if (x.block() % y.block() == 0) {
            result.components.push_back(y);
        } else if (y.block() % x.block() == 0) {
            result.components.push_back(x);
        } else {
            return std::nullopt;
        }
    }
    return result;
}

void addEdges(const FactorCut& cut, std::vector<std::int64_t>& edges) {
    std::int64_t unit = 1;
    for (std::size_t i = cut.components.size(); i-- > 0;) {
        const Component& c = cut.components[i];
        if (c.shards > 1) {
            edges.push_back(c.block() * unit);
            edges.push_back(c.size * unit);  // The pattern starts again there.
        }
        unit *= c.size;
    }
}

}  // namespace

std::optional<std::vector<FactorCut>> alignToFactors(const std::vector<Component>& components,
                                                     const std::vector<std::int64_t>& factorSizes) {
    if (factorSizes.size() == 1) {
        FactorCut cut;
        cut.components =
            components.empty() ? std::vector<Component>{{factorSizes[0], 1}} : components;
        return std::vector<FactorCut>{cut};
    }
    if (!isSplit(components)) {
        std::vector<FactorCut> cuts(factorSizes.size());
        for (std::size_t f = 0; f < cuts.size(); ++f)
            cuts[f].components = {{factorSizes[f], 1}};
        return cuts;
    }
    return Aligner(components, factorSizes).run();
}

FactorCut refine(const FactorCut& a, const FactorCut& b) {
    if (a == b || !b.split())
        return a;
    if (!a.split())
        return b;
    if (auto cut = refineByComponent(a, b))
        return *cut;
    std::int64_t size = 1;
    for (const Component& c : a.components)
        size *= c.size;
    std::vector<std::int64_t> edges;
    addEdges(a, edges);
    addEdges(b, edges);
    FactorCut cut;
    cut.components = {componentWithEdges(size, edges)};
    return cut;
}

}  // namespace shardwright
