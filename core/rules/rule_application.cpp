// SPDX-License-Identifier: Apache-2.0
//
// Written rules on the shapes of a node.
#include "rules/rule_maker.h"
#include "rules/rule_notation.h"

#include <algorithm>
#include <set>

namespace shardwright {

namespace {

constexpr const char* kOwnRule = "the rule of your own says that it must be whole";

class Applier {
public:
    Applier(const WrittenRule& written, const NodeContext& context)
        : m_written(written), m_context(context), m_maker(context),
          m_sizes(written.factors.size(), -1), m_many(written.factors.size()) {}

    std::optional<Rule> run() {
        if (!collect() || !giveSizes() || !solve())
            return std::nullopt;
        makeFactors();
        for (std::size_t slot = 0; slot < m_context.node.inputs.size(); ++slot)
            if (m_written.inputs[slot].shapeOnly && m_context.hasInput(slot))
                m_maker.shapeOnly(slot);
        for (const Slot& slot : m_slots)
            set(slot);
        for (std::size_t f = 0; f < m_written.factors.size(); ++f)
            if (!m_written.factors[f].attribute.empty()) {
                Rewrite rewrite{Rewrite::Kind::LocalAttribute};
                rewrite.name = m_written.factors[f].attribute;
                rewrite.factors = {m_numbers[f]};
                m_maker.rewrite(std::move(rewrite));
            }
        auto rule = m_maker.finish();
        if (!rule)
            no("the sizes contradict each other");
        return rule;
    }
    /// Why there is no rule.
    const std::string& why() const { return m_why; }

private:
    bool no(std::string why) {
        m_why = std::move(why);
        return false;
    }
    static std::string name(bool output, std::size_t slot) {
        return (output ? "#out" : "#in") + std::to_string(slot);
    }
    /// "(h d)"
    std::string text(const std::vector<int>& dim) const {
        std::string names;
        for (const int f : dim)
            names +=
                (names.empty() ? "" : " ") + m_written.factors[static_cast<std::size_t>(f)].name;
        return dim.size() == 1 ? "`" + names + "`" : "`(" + names + ")`";
    }

    struct Slot {
        const WrittenRule::Tensor* tensor;
        const Sizes* sizes;
        std::size_t slot;
        bool output;
        /// Dimensions that `..` stands for.
        std::size_t first = 0, count = 0;
        bool many = false;
    };

    static bool isMany(const WrittenRule& written, const std::vector<int>& dim) {
        return dim.size() == 1 && written.factors[static_cast<std::size_t>(dim[0])].many;
    }

    bool collectFrom(const std::vector<WrittenRule::Tensor>& tensors, std::size_t count,
                     bool output) {
        // What is left out at the end may be written as an empty name, or not at all.
        while (count > 0 &&
               !(output ? m_context.hasOutput(count - 1) : m_context.hasInput(count - 1)))
            --count;
        if (count > tensors.size())
            return no("the node has " + std::to_string(count) + (output ? " outputs" : " inputs") +
                      ", the rule " + std::to_string(tensors.size()));
        for (std::size_t slot = 0; slot < count; ++slot) {
            const bool present = output ? m_context.hasOutput(slot) : m_context.hasInput(slot);
            if (present && !tensors[slot].present)
                return no("the rule leaves " + name(output, slot) + " out, the node has it");
            if (!present || tensors[slot].shapeOnly)
                continue;
            const Sizes& sizes = output ? m_context.output(slot).dims : m_context.input(slot).dims;
            Slot one{&tensors[slot], &sizes, slot, output};
            const auto& dims = tensors[slot].dims;
            const auto many = std::find_if(dims.begin(), dims.end(),
                                           [&](const auto& dim) { return isMany(m_written, dim); });
            one.many = many != dims.end();
            if (sizes.size() + (one.many ? 1 : 0) < dims.size() ||
                (!one.many && sizes.size() != dims.size()))
                return no(name(output, slot) + " has " + std::to_string(sizes.size()) +
                          (sizes.size() == 1 ? " dimension" : " dimensions") + ", the rule " +
                          (one.many ? "at least " : "") +
                          std::to_string(dims.size() - (one.many ? 1 : 0)));
            if (one.many) {
                one.first = static_cast<std::size_t>(many - dims.begin());
                one.count = sizes.size() + 1 - dims.size();
            }
            m_slots.push_back(one);
        }
        return true;
    }

    bool collect() {
        return collectFrom(m_written.inputs, m_context.node.inputs.size(), false) &&
               collectFrom(m_written.outputs, m_context.node.outputs.size(), true);
    }

    /// Calls `use(factors, size, dimension)` for each written dimension but `..`. False: it said
    /// so.
    template <class Use>
    bool each(const Slot& slot, Use use) const {
        std::size_t d = 0;
        for (std::size_t i = 0; i < slot.tensor->dims.size(); ++i) {
            if (slot.many && i == slot.first) {
                d += slot.count;
                continue;
            }
            if (!use(slot.tensor->dims[i], (*slot.sizes)[d], d))
                return false;
            ++d;
        }
        return true;
    }

    std::int64_t& size(int factor) { return m_sizes[static_cast<std::size_t>(factor)]; }

    bool giveSizes() {
        for (std::size_t f = 0; f < m_written.factors.size(); ++f) {
            const auto& factor = m_written.factors[f];
            m_sizes[f] = factor.size;
            if (factor.attribute.empty())
                continue;
            if (m_context.attribute(factor.attribute.c_str(), -1) < 0)
                return no(factor.name + ": " +
                          (m_context.hasAttribute(factor.attribute.c_str())
                               ? "the attribute " + factor.attribute + " of the node is no size"
                               : "the node has no attribute " + factor.attribute));
            m_sizes[f] = m_context.attribute(factor.attribute.c_str(), -1);
        }
        for (const Slot& slot : m_slots)
            if (slot.many && !giveManySizes(slot))
                return false;
        return true;
    }

    /// Aligned at the last, a size of 1 is broadcast.
    bool giveManySizes(const Slot& slot) {
        const auto f = static_cast<std::size_t>(slot.tensor->dims[slot.first][0]);
        Sizes& known = m_many[f];  // From the last dimension to the first.
        if (known.size() < slot.count)
            known.resize(slot.count, 1);
        for (std::size_t i = 0; i < slot.count; ++i) {
            const std::int64_t own = (*slot.sizes)[slot.first + slot.count - 1 - i];
            if (own == 1)
                continue;
            if (known[i] != 1 && known[i] != own)
                return no("dimension " + std::to_string(slot.first + slot.count - 1 - i) + " of " +
                          name(slot.output, slot.slot) + " (`" + m_written.factors[f].name +
                          "..`) is " + std::to_string(own) + ", elsewhere it is " +
                          std::to_string(known[i]));
            known[i] = own;
        }
        return true;
    }

    /// Dimensions of one unknown factor tell its size; again, until nothing is learnt. A dimension
    /// of size 1 tells nothing: it may be broadcast.
    bool solve() {
        for (bool learnt = true; learnt;) {
            learnt = false;
            for (const Slot& slot : m_slots)
                if (!each(slot,
                          [&](const std::vector<int>& dim, std::int64_t whole, std::size_t d) {
                              return whole == 1 || solveDim(dim, whole, learnt) ||
                                     no("dimension " + std::to_string(d) + " of " +
                                        name(slot.output, slot.slot) + ", " + text(dim) + ", is " +
                                        std::to_string(whole) + productText(dim));
                          }))
                    return false;
        }
        // What is 1 everywhere.
        for (std::size_t f = 0; f < m_sizes.size(); ++f)
            if (m_sizes[f] < 0)
                m_sizes[f] = m_inLarger.count(static_cast<int>(f)) > 0 ? -1 : 1;
        for (std::size_t f = 0; f < m_sizes.size(); ++f)
            if (m_sizes[f] < 0)
                return no("the size of `" + m_written.factors[f].name +
                          "` does not follow from the shapes");
        return true;
    }

    /// ", by the rule it is 6", ", no multiple of 4"
    std::string productText(const std::vector<int>& dim) const {
        std::int64_t product = 1;
        bool all = true;
        for (const int f : dim) {
            const std::int64_t size = m_sizes[static_cast<std::size_t>(f)];
            all = all && size >= 0;
            if (size >= 0 && __builtin_mul_overflow(product, size, &product))
                return {};
        }
        return (all ? ", elsewhere it is " : ", no multiple of ") + std::to_string(product);
    }

    bool solveDim(const std::vector<int>& dim, std::int64_t whole, bool& learnt) {
        std::int64_t product = 1;
        int missing = -1;
        for (const int f : dim) {
            if (size(f) >= 0) {
                if (__builtin_mul_overflow(product, size(f), &product))
                    return false;
            } else if (missing >= 0) {
                m_inLarger.insert(f);
                m_inLarger.insert(missing);
                return true;
            } else {
                missing = f;
            }
        }
        if (missing < 0)
            return product == whole;
        if (product == 0 || whole % product != 0)
            return false;
        size(missing) = whole / product;
        learnt = true;
        return true;
    }

    void makeFactors() {
        m_numbers.assign(m_written.factors.size(), -1);
        m_manyNumbers.resize(m_written.factors.size());
        for (std::size_t f = 0; f < m_written.factors.size(); ++f) {
            const auto& factor = m_written.factors[f];
            if (!factor.many) {
                m_numbers[f] = add(factor, factor.name, m_sizes[f]);
                continue;
            }
            for (std::size_t i = m_many[f].size(); i-- > 0;)
                m_manyNumbers[f].push_back(add(
                    factor, factor.name + std::to_string(m_many[f].size() - 1 - i), m_many[f][i]));
        }
    }

    int add(const WrittenRule::Factor& factor, const std::string& name, std::int64_t size) {
        const std::string reason = factor.reason.empty() ? kOwnRule : factor.reason;
        switch (factor.kind) {
            case FactorKind::Parallel: return m_maker.parallel(name, size);
            case FactorKind::Reduction: return m_maker.reduction(name, size, factor.reduce);
            case FactorKind::Whole: return m_maker.whole(name, size, reason);
            case FactorKind::Neighbour: return m_maker.neighbour(name, size, reason);
        }
        return -1;
    }

    void set(const Slot& slot) {
        Dims dims;
        for (std::size_t i = 0; i < slot.tensor->dims.size(); ++i) {
            const auto& written = slot.tensor->dims[i];
            if (slot.many && i == slot.first) {
                const auto& own = m_manyNumbers[static_cast<std::size_t>(written[0])];
                for (std::size_t k = own.size() - slot.count; k < own.size(); ++k)
                    dims.push_back(sized(slot, dims.size(), {own[k]}));
                continue;
            }
            std::vector<int> factors;
            for (const int f : written)
                factors.push_back(m_numbers[static_cast<std::size_t>(f)]);
            dims.push_back(sized(slot, dims.size(), std::move(factors)));
        }
        if (slot.output)
            m_maker.output(slot.slot, std::move(dims));
        else
            m_maker.input(slot.slot, std::move(dims));
        if (!slot.output && slot.tensor->once)
            m_maker.addedOnce(slot.slot);
    }

    /// A dimension of size 1 has no factor.
    static std::vector<int> sized(const Slot& slot, std::size_t d, std::vector<int> factors) {
        return (*slot.sizes)[d] == 1 ? std::vector<int>{} : factors;
    }

    const WrittenRule& m_written;
    const NodeContext& m_context;
    RuleMaker m_maker;
    std::vector<Slot> m_slots;
    Sizes m_sizes;              ///< By factor; -1: not known yet.
    std::vector<Sizes> m_many;  ///< By factor with `..`, from the last dimension to the first.
    std::set<int> m_inLarger;   ///< Factors of dimensions that could not be told apart.
    std::vector<int> m_numbers;
    std::vector<std::vector<int>> m_manyNumbers;
    std::string m_why;
};

}  // namespace

std::optional<Rule> applyRule(const WrittenRule& written, const NodeContext& context) {
    return Applier(written, context).run();
}

std::string misfitOfRule(const WrittenRule& written, const NodeContext& context) {
    Applier applier(written, context);
    return applier.run() ? std::string() : applier.why();
}

}  // namespace shardwright
