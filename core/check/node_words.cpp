// SPDX-License-Identifier: Apache-2.0
#include "check/node_words.h"

#include "check/fixes.h"
#include "check/problem_words.h"
#include "check/split_words.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace shardwright {

namespace {

DeviceGroup common(const DeviceGroup& a, const DeviceGroup& b) {
    DeviceGroup both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both;
}

DeviceGroup without(const DeviceGroup& all, const DeviceGroup& some) {
    DeviceGroup rest;
    std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(rest));
    return rest;
}

bool splits(const NodeMeaning& meaning) {
    const auto split = [](const SlotMeaning& s) { return s.layout && !s.layout->isWhole(); };
    return std::any_of(meaning.inputs.begin(), meaning.inputs.end(), split) ||
           std::any_of(meaning.outputs.begin(), meaning.outputs.end(), split);
}

int differingFactor(const Rule& rule, std::size_t a, const Layout& x, std::size_t b,
                    const Layout& y) {
    for (std::size_t i = 0; i < rule.inputs[a].dims.size(); ++i)
        for (std::size_t j = 0; j < rule.inputs[b].dims.size(); ++j) {
            const auto &f = rule.inputs[a].dims[i], &g = rule.inputs[b].dims[j];
            if (!f.empty() && f == g && x.dims()[i] != y.dims()[j])
                return f[0];
        }
    return -1;
}

class NodeChecker {
public:
    NodeChecker(const Analysis& analysis, NodeId id, LayoutPool& pool)
        : m_analysis(analysis), m_id(id), m_meaning(analysis.meaning.nodes[id.index()]),
          m_pool(pool) {}

    NodeWords run(std::span<const MeaningProblem* const> problems) {
        for (const MeaningProblem* problem : problems)
            say(diagnoseProblem(m_analysis, *problem, m_pool));
        checkRule();
        checkIdle();
        if (m_analysis.options.profile == Profile::Strict)
            checkStrictSpecs();
        return std::move(m_words);
    }

private:
    void say(Diagnostic d) { m_words.diagnostics.push_back(std::move(d)); }

    /// A node takes part in the annotations when it is not whole on every device.
    void checkRule() {
        const bool takesPart = !m_meaning.everywhere && m_analysis.hasConfiguration;
        const RulePtr& rule = m_analysis.rules->of(m_id);
        const bool strict = m_analysis.options.profile == Profile::Strict;
        const bool beyondProposal = takesPart && rule->known && !rule->strict && splits(m_meaning);
        m_words.extended = beyondProposal;
        if (takesPart && !rule->known) {
            Diagnostic d;
            d.code = "SW306";
            d.severity = strict ? Severity::Unsupported : Severity::Warning;
            d.node = m_id;
            d.message = nodeTitle(m_analysis, m_id) + "it runs whole" +
                        (rule->factors.empty() || rule->factors[0].reason.empty()
                             ? ""
                             : ": " + rule->factors[0].reason);
            say(std::move(d));
        } else if (beyondProposal && strict) {
            Diagnostic d;
            d.code = "SW307";
            d.severity = Severity::Unsupported;
            d.node = m_id;
            d.message = nodeTitle(m_analysis, m_id) + rule->strictReason;
            say(std::move(d));
        }
    }

    /// Blocks of inputs that are split over different axes meet on some of their devices only; and
    /// what a slice takes may be on some only.
    void checkIdle() {
        if (!m_meaning.solution)
            return;
        const auto& natural = m_meaning.solution->natural;
        const auto computed =
            std::find_if(natural.begin(), natural.end(),
                         [](const LayoutRef& layout) { return layout != nullptr; });
        if (computed == natural.end())
            return;
        const DeviceGroup& busy = (*computed)->devices();
        DeviceGroup present;  // All inputs are there, in part.
        bool first = true;
        for (const SlotMeaning& input : m_meaning.inputs) {
            if (!input.layout)
                continue;
            const DeviceGroup& devices = input.layout->devices();
            if (devices == busy)
                return;
            present = std::exchange(first, false) ? devices : common(present, devices);
        }
        const DeviceGroup idle = without(present, busy);
        if (idle.empty())
            return;
        Diagnostic d;
        d.code = "SW312";
        d.severity = Severity::Warning;
        d.node = m_id;
        d.message = nodeTitle(m_analysis, m_id) +
                    "what a part of the result needs is together on " + listDevices(busy) +
                    " only; " + listDevices(idle) + (idle.size() == 1 ? " computes" : " compute") +
                    " nothing here";
        d.fixes = findFixesOfIdle(m_analysis, m_id, present, m_pool);
        say(std::move(d));
    }

    /// Strict: explicit specs of two inputs that differ on an axis where neither broadcasts.
    /// Tensors that are whole on the devices are exempt.
    void checkStrictSpecs() {
        if (!m_meaning.solution || !m_meaning.solution->cells)
            return;
        const Rule& rule = *m_meaning.solution->cells->rule;
        for (std::size_t a = 0; a < m_meaning.inputs.size(); ++a)
            for (std::size_t b = a + 1; b < m_meaning.inputs.size(); ++b) {
                const SlotMeaning &x = m_meaning.inputs[a], &y = m_meaning.inputs[b];
                if (x.source != LayoutSource::Explicit || y.source != LayoutSource::Explicit ||
                    !x.layout || !y.layout || x.layout->isWhole() || y.layout->isWhole())
                    continue;
                const int factor = differingFactor(rule, a, *x.layout, b, *y.layout);
                if (factor < 0)
                    continue;
                Diagnostic d;
                d.code = "SW309";
                d.node = m_id;
                d.tensor = inputName(m_analysis, m_id, static_cast<int>(b));
                d.message = nodeTitle(m_analysis, m_id) + "the specs of " +
                            describeSplit(m_analysis, m_id, static_cast<int>(a)) + " and " +
                            describeSplit(m_analysis, m_id, static_cast<int>(b)) +
                            " differ on a common axis (" +
                            rule.factors[static_cast<std::size_t>(factor)].name +
                            "), which profile strict does not allow";
                say(std::move(d));
            }
    }

    const Analysis& m_analysis;
    NodeId m_id;
    const NodeMeaning& m_meaning;
    LayoutPool& m_pool;
    NodeWords m_words;
};

}  // namespace

NodeWords diagnoseNode(const Analysis& analysis, NodeId id,
                       std::span<const MeaningProblem* const> problems, LayoutPool& pool) {
    return NodeChecker(analysis, id, pool).run(problems);
}

}  // namespace shardwright
