// SPDX-License-Identifier: Apache-2.0
#include "rules/rule_maker.h"

#include <algorithm>
#include <set>

namespace shardwright {

namespace {

std::vector<TensorMap> presence(const std::vector<ValueId>& slots) {
    std::vector<TensorMap> maps(slots.size());
    for (std::size_t i = 0; i < slots.size(); ++i)
        maps[i].present = static_cast<bool>(slots[i]);
    return maps;
}

}  // namespace

RuleMaker::RuleMaker(const NodeContext& context) : m_context(context) {
    m_rule.inputs = presence(context.node.inputs);
    m_rule.outputs = presence(context.node.outputs);
    m_inputDone.resize(m_rule.inputs.size());
    m_outputDone.resize(m_rule.outputs.size());
}

// --- shapes
// ----------------------------------------------------------------------------------------------------------

const Sizes& RuleMaker::in(std::size_t slot) {
    require(m_context.hasInput(slot));
    return m_context.input(slot).dims;
}

const Sizes& RuleMaker::out(std::size_t slot) {
    require(m_context.hasOutput(slot));
    return m_context.output(slot).dims;
}

std::size_t RuleMaker::axis(std::int64_t axis, std::size_t rank) {
    const auto r = static_cast<std::int64_t>(rank);
    if (axis < -r || axis >= r) {
        m_failed = true;
        return 0;
    }
    return static_cast<std::size_t>(axis < 0 ? axis + r : axis);
}

std::vector<std::size_t> RuleMaker::axes(std::span<const std::int64_t> raw, std::size_t rank) {
    std::set<std::size_t> unique;
    for (const std::int64_t a : raw)
        require(unique.insert(axis(a, rank)).second);
    return {unique.begin(), unique.end()};
}

// --- factors
// ---------------------------------------------------------------------------------------------------------

int RuleMaker::add(Factor factor) {
    require(factor.size >= 0);
    m_rule.factors.push_back(std::move(factor));
    return static_cast<int>(m_rule.factors.size()) - 1;
}

int RuleMaker::parallel(std::string name, std::int64_t size) {
    return add({std::move(name), size, FactorKind::Parallel, ReduceKind::None, false, {}});
}

int RuleMaker::reduction(std::string name, std::int64_t size, ReduceKind reduce) {
    return add({std::move(name), size, FactorKind::Reduction, reduce, false, {}});
}

int RuleMaker::whole(std::string name, std::int64_t size, std::string reason) {
    return add(
        {std::move(name), size, FactorKind::Whole, ReduceKind::None, false, std::move(reason)});
}

int RuleMaker::neighbour(std::string name, std::int64_t size, std::string reason) {
    return add(
        {std::move(name), size, FactorKind::Neighbour, ReduceKind::None, false, std::move(reason)});
}

Dims RuleMaker::parallelDims(const Sizes& sizes, const std::string& prefix) {
    Dims dims;
    for (std::size_t d = 0; d < sizes.size(); ++d)
        dims.push_back({parallel(prefix + std::to_string(d), sizes[d])});
    return dims;
}

Dims RuleMaker::wholeDims(const Sizes& sizes, const std::string& prefix,
                          const std::string& reason) {
    Dims dims;
    for (std::size_t d = 0; d < sizes.size(); ++d)
        dims.push_back(
            {whole(sizes.size() == 1 ? prefix : prefix + std::to_string(d), sizes[d], reason)});
    return dims;
}

// --- tensors
// ---------------------------------------------------------------------------------------------------------

void RuleMaker::set(std::vector<TensorMap>& maps, std::vector<bool>& done, std::size_t slot,
                    Dims dims) {
    if (slot >= maps.size() || !maps[slot].present)
        return;
    for (std::vector<int>& factors : dims)
        if (std::erase(factors, -1) > 0)
            m_failed = true;  // A factor that the shapes do not have.
    maps[slot].dims = std::move(dims);
    done[slot] = true;
}

void RuleMaker::input(std::size_t slot, Dims dims) {
    set(m_rule.inputs, m_inputDone, slot, std::move(dims));
}

void RuleMaker::output(std::size_t slot, Dims dims) {
    set(m_rule.outputs, m_outputDone, slot, std::move(dims));
}

void RuleMaker::wholeInput(std::size_t slot, const std::string& prefix, const std::string& reason) {
    if (m_context.hasInput(slot))
        input(slot, wholeDims(m_context.input(slot).dims, prefix, reason));
}

void RuleMaker::wholeOutput(std::size_t slot, const std::string& prefix,
                            const std::string& reason) {
    if (m_context.hasOutput(slot))
        output(slot, wholeDims(m_context.output(slot).dims, prefix, reason));
}

void RuleMaker::shapeOnly(std::size_t slot) {
    input(slot, Dims(m_context.input(slot).dims.size()));
    if (m_context.hasInput(slot))
        m_rule.inputs[slot].shapeOnly = true;
}

void RuleMaker::addedOnce(std::size_t slot) {
    if (m_context.hasInput(slot))
        m_rule.inputs[slot].addedOnce = true;
}

std::int64_t RuleMaker::product(const std::vector<int>& factors) const {
    std::int64_t size = 1;
    for (const int f : factors)
        if (f < 0 ||
            __builtin_mul_overflow(size, m_rule.factors[static_cast<std::size_t>(f)].size, &size))
            return -1;
    return size;
}

Dims RuleMaker::broadcast(const Sizes& sizes, const Dims& target, std::int64_t offset) {
    if (offset < 0)
        offset = static_cast<std::int64_t>(target.size()) - static_cast<std::int64_t>(sizes.size());
    Dims dims(sizes.size());
    if (offset < 0 || static_cast<std::size_t>(offset) + sizes.size() > target.size()) {
        m_failed = true;
        return dims;
    }
    for (std::size_t d = 0; d < sizes.size(); ++d) {
        const std::vector<int>& factors = target[static_cast<std::size_t>(offset) + d];
        if (sizes[d] == product(factors))
            dims[d] = factors;
        else
            require(sizes[d] == 1);
    }
    return dims;
}

// --- the rest
// --------------------------------------------------------------------------------------------------------

void RuleMaker::notStrict(std::string reason) {
    m_rule.strict = false;
    m_rule.strictReason = std::move(reason);
}

double RuleMaker::elements(const Sizes& sizes) const {
    double count = 1;
    for (const std::int64_t size : sizes)
        count *= static_cast<double>(size);
    return count;
}

std::optional<Rule> RuleMaker::finish() {
    for (std::size_t i = 0; i < m_inputDone.size(); ++i)
        require(m_inputDone[i] || !m_rule.inputs[i].present);
    for (std::size_t i = 0; i < m_outputDone.size(); ++i)
        require(m_outputDone[i] || !m_rule.outputs[i].present);
    if (m_failed)
        return std::nullopt;
    for (Factor& factor : m_rule.factors)
        if (factor.size == 0 && factor.kind != FactorKind::Whole) {
            factor.kind = FactorKind::Whole;
            factor.reduce = ReduceKind::None;
            factor.reason = "it has no elements";
        }
    dropUnitFactors();
    makeNamesUnique();
    double points = 1;
    for (const Factor& factor : m_rule.factors)
        points *= static_cast<double>(factor.size);
    const double total = m_flops >= 0 ? m_flops : elements(m_context.output(0).dims);
    m_rule.flopsPerPoint = points > 0 ? total / points : 0.0;
    return std::move(m_rule);
}

/// Factors of size 1 and those that no tensor has, for example the heads of a model with one head.
void RuleMaker::dropUnitFactors() {
    std::vector<bool> used(m_rule.factors.size());
    for (auto* maps : {&m_rule.inputs, &m_rule.outputs})
        for (const TensorMap& map : *maps)
            for (const auto& dim : map.dims)
                for (const int f : dim)
                    used[static_cast<std::size_t>(f)] = true;
    std::vector<int> renumbered(m_rule.factors.size(), -1);
    std::vector<Factor> kept;
    for (std::size_t f = 0; f < m_rule.factors.size(); ++f)
        if (used[f] && m_rule.factors[f].size != 1) {
            renumbered[f] = static_cast<int>(kept.size());
            kept.push_back(std::move(m_rule.factors[f]));
        }
    m_rule.factors = std::move(kept);
    for (auto* maps : {&m_rule.inputs, &m_rule.outputs})
        for (TensorMap& map : *maps)
            for (auto& dim : map.dims) {
                for (int& f : dim)
                    f = renumbered[static_cast<std::size_t>(f)];
                std::erase(dim, -1);
            }
    for (Rewrite& rewrite : m_rule.rewrites)
        dropFrom(rewrite, renumbered);
    std::erase_if(m_rule.rewrites, [](const Rewrite& r) { return r.factor == -2; });
    for (SliceExtra& slice : m_rule.slices)
        slice.factor = renumbered[static_cast<std::size_t>(slice.factor)];
    std::erase_if(m_rule.slices, [](const SliceExtra& s) { return s.factor < 0; });
}

/// -2 marks a rewrite that never applies, since its factors are gone.
void RuleMaker::dropFrom(Rewrite& rewrite, const std::vector<int>& renumbered) const {
    if (rewrite.factor >= 0) {
        const int now = renumbered[static_cast<std::size_t>(rewrite.factor)];
        rewrite.factor = now < 0 ? -2 : now;
    }
    if (rewrite.factors.empty())
        return;
    for (int& f : rewrite.factors)
        f = renumbered[static_cast<std::size_t>(f)];
    std::erase(rewrite.factors, -1);
    if (rewrite.factors.empty())
        rewrite.factor = -2;
}

void RuleMaker::makeNamesUnique() {
    std::set<std::string> taken;
    for (Factor& factor : m_rule.factors) {
        std::string name = factor.name;
        for (int n = 2; !taken.insert(name).second; ++n)
            name = factor.name + "_" + std::to_string(n);
        factor.name = std::move(name);
    }
}

std::string letterName(std::size_t index) {
    return index < 26 ? std::string(1, static_cast<char>('a' + index))
                      : "f" + std::to_string(index);
}

TensorMap wholeMap(const TensorInfo& info, const std::string& prefix, const std::string& reason,
                   std::vector<Factor>& factors) {
    TensorMap map;
    map.dims.resize(info.dims.size());
    for (std::size_t d = 0; d < info.dims.size(); ++d) {
        if (info.dims[d] == 1)
            continue;
        map.dims[d].push_back(static_cast<int>(factors.size()));
        factors.push_back({prefix + std::to_string(d), std::max<std::int64_t>(info.dims[d], 0),
                           FactorKind::Whole, ReduceKind::None, false, reason});
    }
    return map;
}

}  // namespace shardwright
