// SPDX-License-Identifier: Apache-2.0
#include "rules/validate.h"

#include <algorithm>
#include <set>

namespace shardwright {

namespace {

class Validator {
public:
    Validator(const Rule& rule, const NodeContext& context) : m_rule(rule), m_context(context) {}

    std::string run() {
        std::vector<ValueId> inputs = m_context.node.inputs;
        inputs.insert(inputs.end(), m_context.node.captures.begin(), m_context.node.captures.end());
        m_inInput.resize(m_rule.factors.size());
        m_inOutput.resize(m_rule.factors.size());
        checkTensors("input", m_rule.inputs, inputs, m_inInput, false);
        checkTensors("output", m_rule.outputs, m_context.node.outputs, m_inOutput, true);
        if (m_problem.empty())
            checkFactors();
        if (m_problem.empty())
            checkExtras();
        return m_problem;
    }

private:
    void say(std::string problem) {
        if (m_problem.empty())
            m_problem = std::move(problem);
    }

    bool isFactor(int f) const {
        return f >= 0 && static_cast<std::size_t>(f) < m_rule.factors.size();
    }

    void checkTensors(const char* what, const std::vector<TensorMap>& maps,
                      const std::vector<ValueId>& slots, std::vector<bool>& seen, bool outputs) {
        if (maps.size() != slots.size())
            return say(std::string("number of ") + what + "s");
        for (std::size_t slot = 0; slot < slots.size(); ++slot) {
            const std::string place = std::string(what) + " " + std::to_string(slot);
            if (maps[slot].present != static_cast<bool>(slots[slot]))
                return say("presence of " + place);
            if (!maps[slot].present || maps[slot].shapeOnly)
                continue;
            const TensorInfo& info = m_context.shapes.of(slots[slot]);
            if (maps[slot].dims.size() != info.dims.size())
                return say("rank of " + place);
            std::set<int> unique;
            for (std::size_t d = 0; d < info.dims.size(); ++d) {
                if (!fits(maps[slot].dims[d], info.dims[d], unique, seen,
                          outputs && isSliced(slot, d)))
                    return say("dimension " + std::to_string(d) + " of " + place);
            }
        }
    }

    bool isSliced(std::size_t slot, std::size_t dim) const {
        return std::any_of(m_rule.slices.begin(), m_rule.slices.end(), [&](const SliceExtra& s) {
            return s.outputSlot == static_cast<int>(slot) && s.dim == static_cast<int>(dim);
        });
    }

    bool fits(const std::vector<int>& factors, std::int64_t size, std::set<int>& unique,
              std::vector<bool>& seen, bool sliced) const {
        std::int64_t product = 1;
        for (const int f : factors) {
            if (!isFactor(f) || !unique.insert(f).second)
                return false;
            seen[static_cast<std::size_t>(f)] = true;
            if (__builtin_mul_overflow(product, m_rule.factors[static_cast<std::size_t>(f)].size,
                                       &product))
                return false;
        }
        return sliced || product == std::max<std::int64_t>(size, 0);
    }

    void checkFactors() {
        std::set<std::string> names;
        for (std::size_t f = 0; f < m_rule.factors.size(); ++f) {
            const Factor& factor = m_rule.factors[f];
            const std::string place = "factor " + factor.name;
            if (factor.name.empty() || !names.insert(factor.name).second)
                return say("name of " + place);
            const bool reduction = factor.kind == FactorKind::Reduction;
            if (reduction == (factor.reduce == ReduceKind::None) ||
                (reduction && inAllOutputs(static_cast<int>(f))))
                return say("reduction of " + place);
            if (factor.kind == FactorKind::Parallel && !m_inOutput[f])
                return say(place + " is parallel and in no output");
            if ((factor.kind == FactorKind::Neighbour || reduction) && !m_inInput[f])
                return say(place + " is in no input");
            if ((factor.kind == FactorKind::Whole || factor.kind == FactorKind::Neighbour) &&
                factor.reason.empty())
                return say(place + " has no reason");
        }
    }

    /// A result may be summed over what another output keeps (a loss and its log-probabilities).
    bool inAllOutputs(int factor) const {
        return std::all_of(m_rule.outputs.begin(), m_rule.outputs.end(), [&](const TensorMap& map) {
            return !map.present ||
                   std::any_of(map.dims.begin(), map.dims.end(), [&](const auto& factors) {
                       return std::find(factors.begin(), factors.end(), factor) != factors.end();
                   });
        });
    }

    void checkExtras() {
        const auto inputs = static_cast<int>(m_rule.inputs.size()),
                   outputs = static_cast<int>(m_rule.outputs.size());
        for (const SliceExtra& s : m_rule.slices)
            if (!isFactor(s.factor) || s.inputSlot < 0 || s.inputSlot >= inputs ||
                s.outputSlot < 0 || s.outputSlot >= outputs || s.step == 0 || s.count < 1 ||
                !insideFactor(s))
                return say("slice extra");
        for (const Rewrite& r : m_rule.rewrites)
            if ((r.factor != -1 && !isFactor(r.factor)) || r.slot >= inputs || r.output < 0 ||
                r.output >= outputs || !std::all_of(r.factors.begin(), r.factors.end(), [&](int f) {
                    return isFactor(f);
                }))
                return say("rewrite");
    }

    bool insideFactor(const SliceExtra& s) const {
        std::int64_t last = 0;
        const std::int64_t size = m_rule.factors[static_cast<std::size_t>(s.factor)].size;
        return s.start >= 0 && s.start < size &&
               !__builtin_mul_overflow(s.count - 1, s.step, &last) &&
               !__builtin_add_overflow(last, s.start, &last) && last >= 0 && last < size;
    }

    const Rule& m_rule;
    const NodeContext& m_context;
    std::vector<bool> m_inInput, m_inOutput;
    std::string m_problem;
};

}  // namespace

std::string validateRule(const Rule& rule, const NodeContext& context) {
    return Validator(rule, context).run();
}

}  // namespace shardwright
