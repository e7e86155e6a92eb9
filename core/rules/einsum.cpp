// SPDX-License-Identifier: Apache-2.0
#include "rules/contraction.h"
#include "rules/rule_maker.h"

#include <algorithm>
#include <map>

namespace shardwright {

namespace {

constexpr char kEllipsis = '.';

/// One term: labels in order, `kEllipsis` for "...".
using Term = std::string;

std::optional<Term> parseTerm(std::string_view text) {
    Term term;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == ' ')
            continue;
        if (c == '.') {
            if (text.substr(i, 3) != "..." || term.find(kEllipsis) != Term::npos)
                return std::nullopt;
            i += 2;
        } else if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) {
            return std::nullopt;
        }
        term += c;
    }
    return term;
}

struct Equation {
    std::vector<Term> inputs;
    Term output;
};

/// Without "->" the result has the ellipsis and the labels that occur once, in alphabetical order.
Term implicitOutput(const std::vector<Term>& inputs) {
    std::map<char, int> count;
    for (const Term& term : inputs)
        for (const char c : term)
            ++count[c];
    Term output;
    for (const auto& [label, n] : count)  // '.' comes before the letters.
        if (label == kEllipsis || n == 1)
            output += label;
    return output;
}

std::optional<Equation> parseEquation(const std::string& text) {
    Equation equation;
    const std::size_t arrow = text.find("->");
    std::string_view left = std::string_view(text).substr(0, arrow);
    while (true) {
        const std::size_t comma = left.find(',');
        auto term = parseTerm(left.substr(0, comma));
        if (!term)
            return std::nullopt;
        equation.inputs.push_back(std::move(*term));
        if (comma == std::string_view::npos)
            break;
        left.remove_prefix(comma + 1);
    }
    if (arrow == std::string::npos) {
        equation.output = implicitOutput(equation.inputs);
        return equation;
    }
    auto output = parseTerm(std::string_view(text).substr(arrow + 2));
    if (!output)
        return std::nullopt;
    equation.output = std::move(*output);
    for (const char c : equation.output)
        if (std::count(equation.output.begin(), equation.output.end(), c) > 1)
            return std::nullopt;
    return equation;
}

class EinsumMaker {
public:
    EinsumMaker(const NodeContext& context, Equation equation)
        : m_maker(context), m_context(context), m_equation(std::move(equation)) {}

    std::optional<Rule> run() {
        m_maker.require(m_equation.inputs.size() == m_context.node.inputs.size());
        if (m_maker.failed())
            return std::nullopt;
        for (std::size_t slot = 0; slot < m_equation.inputs.size(); ++slot)
            measure(m_equation.inputs[slot], m_maker.in(slot));
        if (m_maker.failed())
            return std::nullopt;
        makeFactors();
        for (std::size_t slot = 0; slot < m_equation.inputs.size(); ++slot)
            m_maker.input(slot, dimsOf(m_equation.inputs[slot], m_maker.in(slot)));
        const Dims y = dimsOf(m_equation.output, m_maker.out(0));
        m_maker.output(0, y);
        m_maker.travels({.largestWins = true});
        m_maker.flops(m_points *
                      static_cast<double>(std::max<std::size_t>(m_equation.inputs.size(), 1)));
        return m_maker.finish();
    }

private:
    /// Dimensions that the ellipsis stands for in a tensor of this rank.
    std::size_t ellipsisRank(const Term& term, std::size_t rank) {
        const std::size_t labels = term.size() - (term.find(kEllipsis) == Term::npos ? 0 : 1);
        m_maker.require(labels <= rank && (term.find(kEllipsis) != Term::npos || labels == rank));
        return labels <= rank ? rank - labels : 0;
    }

    void measure(const Term& term, const Sizes& sizes) {
        const std::size_t extra = ellipsisRank(term, sizes.size());
        if (m_maker.failed())
            return;
        if (extra > m_ellipsis.size())
            m_ellipsis.insert(m_ellipsis.begin(), extra - m_ellipsis.size(), 1);
        std::size_t d = 0;
        for (const char c : term) {
            if (c != kEllipsis) {
                m_diagonal[c] = m_diagonal[c] || std::count(term.begin(), term.end(), c) > 1;
                widen(m_sizes.emplace(c, 1).first->second, sizes[d++]);
                continue;
            }
            for (std::size_t i = 0; i < extra; ++i)
                widen(m_ellipsis[m_ellipsis.size() - extra + i], sizes[d++]);
        }
    }

    void widen(std::int64_t& size, std::int64_t found) {
        if (size == 1)
            size = found;
        m_maker.require(found == size || found == 1);
    }

    void makeFactors() {
        const bool keepsEllipsis = m_equation.output.find(kEllipsis) != Term::npos;
        for (std::size_t i = 0; i < m_ellipsis.size(); ++i) {
            const std::string name = "e" + std::to_string(i);
            m_ellipsisDims.push_back(
                {keepsEllipsis ? m_maker.parallel(name, m_ellipsis[i])
                               : m_maker.reduction(name, m_ellipsis[i], ReduceKind::Sum)});
            m_points *= static_cast<double>(m_ellipsis[i]);
        }
        for (const auto& [label, size] : m_sizes) {
            const std::string name(1, label);
            m_points *= static_cast<double>(size);
            if (m_diagonal[label]) {
                m_factors[label] =
                    m_maker.whole(name, size, "the equation takes a diagonal along it");
                m_maker.notStrict("proposal 0007 has no rule for an Einsum that takes a diagonal");
            } else {
                m_factors[label] = m_equation.output.find(label) != Term::npos
                                       ? m_maker.parallel(name, size)
                                       : m_maker.reduction(name, size, ReduceKind::Sum);
            }
        }
    }

    Dims dimsOf(const Term& term, const Sizes& sizes) {
        Dims target;
        std::string seen;
        const std::size_t extra = ellipsisRank(term, sizes.size());
        m_maker.require(extra <= m_ellipsisDims.size());
        if (m_maker.failed())
            return target;
        for (const char c : term) {
            if (c == kEllipsis) {
                target.insert(target.end(),
                              m_ellipsisDims.end() - static_cast<std::ptrdiff_t>(extra),
                              m_ellipsisDims.end());
                continue;
            }
            const auto factor = m_factors.find(c);
            if (factor == m_factors.end()) {
                m_maker.require(false);
                return target;
            }
            // A tensor has a factor once: the further ones of a diagonal are factors of their own.
            const bool again = seen.find(c) != std::string::npos;
            target.push_back({again ? m_maker.whole(std::string(1, c), m_sizes[c],
                                                    "the equation takes a diagonal along it")
                                    : factor->second});
            seen += c;
        }
        return m_maker.broadcast(sizes, target, 0);
    }

    RuleMaker m_maker;
    const NodeContext& m_context;
    Equation m_equation;
    std::map<char, std::int64_t> m_sizes;
    std::map<char, bool> m_diagonal;
    std::map<char, int> m_factors;
    Sizes m_ellipsis;  ///< Broadcast sizes of what "..." stands for.
    Dims m_ellipsisDims;
    double m_points = 1;
};

}  // namespace

std::optional<Rule> buildEinsum(const NodeContext& context) {
    auto equation = parseEquation(context.attribute("equation", ""));
    if (!equation)
        return std::nullopt;
    return EinsumMaker(context, std::move(*equation)).run();
}

}  // namespace shardwright
