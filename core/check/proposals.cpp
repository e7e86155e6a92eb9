// SPDX-License-Identifier: Apache-2.0
//
// From what propagation found to specs. A node computes by one assignment of axes to factors. An
// output gets what its value has; an input gets a spec where the value is the file's (weights,
// graph inputs), or where what arrives does not go with the assignment. The result is then read as
// any file is: a node without meaning gets all its inputs by the assignment, next all of them
// whole, and at last no proposals.

#include "check/proposals.h"

#include "check/conflicts.h"
#include "inference/axis_assignment.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

namespace shardwright {

namespace {

void writeProposal(Document& document, const Analysis& analysis, const Proposal& proposal) {
    apply(document.annotations,
          editSpec(document, proposal.slot.node, analysis.configuration.name,
                   analysis.graph().value(proposal.value).name, proposal.layout.get(),
                   analysis.shapes->of(proposal.value)));
}

class Proposer {
public:
    Proposer(const Analysis& analysis, const Propagator& propagator, const CancelToken& cancel)
        : m_analysis(analysis), m_propagator(propagator), m_cancel(cancel),
          m_graph(analysis.graph()), m_work(analysis.document) {}

    /// The proposals without sources of further rounds, conflicts and edit. Cancelled: some of
    /// them.
    std::vector<Proposal> run(std::vector<NodeId>& left) {
        for (const NodeId node : m_graph.main().nodes)
            if (!m_cancel.cancelled())
                propose(node);
        write();
        settle();
        std::vector<Proposal> result;
        for (auto& [key, proposal] : m_proposals) {
            addSources(proposal);
            result.push_back(std::move(proposal));
        }
        left.insert(left.end(), m_left.begin(), m_left.end());
        return result;
    }
    const Document& document() const { return m_work; }

private:
    struct Key {
        NodeId node;
        bool output = false;
        int slot = 0;
        auto operator<=>(const Key&) const = default;
    };

    const Rule& rule(NodeId node) const { return *m_analysis.rules->of(node); }

    const NodeSpecs* specsOf(NodeId node) const {
        const auto& nodes = m_analysis.annotations.nodes;
        return node.index() < nodes.size() ? nodes[node.index()].get() : nullptr;
    }

    DeviceGroup devicesOf(NodeId node) const {
        const NodeSpecs* specs = specsOf(node);
        return specs && specs->stage >= 0 ? m_analysis.configuration.stageDevices(specs->stage)
                                          : DeviceGroup{};
    }

    LayoutRef layoutOf(NodeId node, ValueId value, const AxisSharding& sharding) {
        const TensorInfo& info = m_analysis.shapes->of(value);
        if (!info.concrete())
            return nullptr;
        auto layout = m_propagator.space().toLayout(sharding, info.dims, devicesOf(node));
        return layout ? m_pool.intern(std::move(*layout)) : nullptr;
    }

    bool isFree(NodeId node, bool output, int slot) const {
        const NodeSpecs* specs = specsOf(node);
        const ValueId value = valueAt(m_graph, {node, output, slot});
        return value && !(specs && specs->find(m_graph.value(value).name));
    }

    void put(NodeId node, bool output, int slot, const AxisSharding& sharding, bool reshard) {
        const ValueId value = valueAt(m_graph, {node, output, slot});
        if (!value || !isFree(node, output, slot))
            return;
        const LayoutRef layout = layoutOf(node, value, sharding);
        if (!layout)
            return;
        // A tensor in several slots of a node has one spec.
        for (int s = 0; s < slot; ++s)
            if (valueAt(m_graph, {node, output, s}) == value)
                return;
        m_proposals[{node, output, slot}] = {
            {node, output, slot}, value, sharding, layout, reshard, {}};
    }

    FactorAssignment assignmentOf(NodeId node) const {
        const Rule& r = rule(node);
        const auto tensors = m_propagator.tensorsOf(node);
        std::vector<double> sizes;
        for (std::size_t t = 0; t < tensors.size(); ++t) {
            const bool output = t >= r.inputs.size();
            const TensorMap& map = output ? r.outputs[t - r.inputs.size()] : r.inputs[t];
            double size = 1;
            for (const auto& dim : map.dims)
                for (const int f : dim)
                    size *= static_cast<double>(r.factors[static_cast<std::size_t>(f)].size);
            // What a person said comes first.
            const int slot = static_cast<int>(output ? t - r.inputs.size() : t);
            const bool said = tensors[t] && m_propagator.isExplicit({node, output, slot});
            sizes.push_back(said ? size * 1e12 : size);
        }
        return assignAxes(r, tensors, sizes, true);
    }

    /// Whether what arrives can be cut locally to what the node wants: no axis lies elsewhere.
    static bool goesWith(const Rule& r, const TensorMap& map, const AxisSharding& arrives,
                         const FactorAssignment& assignment) {
        const FactorRow row = projectToFactors(r, map, arrives);
        if (!row.taking)
            return true;
        for (std::size_t f = 0; f < r.factors.size(); ++f) {
            if (!row.factors[f].present)
                continue;
            if (!row.factors[f].overflow.empty() ||
                prefixOrder(row.factors[f].axes, assignment[f]) == PrefixOrder::None)
                return false;
        }
        return true;
    }

    bool takesPart(NodeId node) const {
        const Rule& r = rule(node);
        if (!r.known || r.everywhereOutputs)
            return false;
        for (const AxisSharding* sharding : m_propagator.tensorsOf(node))
            if (sharding && sharding->split())
                return true;
        return false;
    }

    void propose(NodeId node) {
        if (!takesPart(node))
            return;
        const Rule& r = rule(node);
        const FactorAssignment assignment = assignmentOf(node);
        for (std::size_t i = 0; i < r.inputs.size(); ++i) {
            const int slot = static_cast<int>(i);
            const ValueId value = valueAt(m_graph, {node, false, slot});
            const AxisSharding* arrives =
                value ? m_propagator.of(NodeSlot{node, false, slot}) : nullptr;
            if (!arrives || !r.inputs[i].present || r.inputs[i].shapeOnly)
                continue;
            const AxisSharding wanted = inputOf(r, i, assignment);
            const bool ofFile = !m_graph.value(value).producer;
            if (ofFile ? wanted.split() : !goesWith(r, r.inputs[i], *arrives, assignment))
                put(node, false, slot, wanted, !ofFile);
        }
        for (std::size_t o = 0; o < r.outputs.size(); ++o) {
            const AxisSharding* sharding =
                m_propagator.of(NodeSlot{node, true, static_cast<int>(o)});
            if (sharding && sharding->split())
                put(node, true, static_cast<int>(o), *sharding, false);
        }
    }

    void write() {
        m_work.annotations = m_analysis.document.annotations;
        for (const auto& [key, proposal] : m_proposals)
            writeProposal(m_work, m_analysis, proposal);
    }

    /// Reads the result as a file and mends nodes that have no meaning in it, unless they had none
    /// before.
    void settle() {
        std::set<NodeId> before;
        for (const MeaningProblem& problem : m_analysis.meaning.problems)
            before.insert(problem.node);
        MeaningCache cache;
        std::map<NodeId, int> tried;
        for (int round = 0; round < kRounds && !m_cancel.cancelled(); ++round) {
            const auto annotations = decodeAnnotations(m_work, *m_analysis.shapes,
                                                       m_analysis.configuration, cache.pool());
            MeaningInput input = m_analysis.meaningInput();
            input.annotations = &annotations;
            const Meaning meaning = completeMeaning(input, cache, m_cancel);
            bool changed = false;
            std::set<NodeId> seen;
            for (const MeaningProblem& problem : meaning.problems)
                if (seen.insert(problem.node).second)
                    changed =
                        mend(problem.node, tried[problem.node]++, before.contains(problem.node)) ||
                        changed;
            if (!changed)
                return;
            write();
        }
    }

    bool mend(NodeId node, int attempt, bool wasBroken) {
        const Rule& r = rule(node);
        if (attempt < 2) {
            const FactorAssignment assignment =
                attempt == 0 && r.known ? assignmentOf(node) : FactorAssignment(r.factors.size());
            for (std::size_t i = 0; i < r.inputs.size(); ++i)
                if (r.inputs[i].present && !r.inputs[i].shapeOnly)
                    put(node, false, static_cast<int>(i), inputOf(r, i, assignment), true);
            return true;
        }
        const auto first = m_proposals.lower_bound({node, false, 0});
        const auto last = m_proposals.lower_bound({NodeId(node.index() + 1), false, 0});
        if (attempt > 2 || first == last)
            return false;
        m_proposals.erase(first, last);
        if (!wasBroken)
            m_left.push_back(node);
        return true;
    }

    void addSources(Proposal& proposal) const {
        for (std::size_t d = 0; d < proposal.sharding.dims.size(); ++d)
            for (const AxisRef& axis : proposal.sharding.dims[d].all())
                proposal.sources.push_back(sourceOf(m_propagator, proposal.slot, proposal.value,
                                                    static_cast<int>(d), axis));
    }

    static constexpr int kRounds = 8;
    const Analysis& m_analysis;
    const Propagator& m_propagator;
    const CancelToken& m_cancel;
    const GraphIndex& m_graph;
    Document m_work;
    LayoutPool m_pool;
    std::map<Key, Proposal> m_proposals;
    std::vector<NodeId> m_left;
};

/// What was resolved at a node can let axes pass that could not before: proposals are propagated
/// again until there are no more.
class Rounds {
public:
    Rounds(const Analysis& analysis, const Propagator& propagator, const HardwareProfile* profile,
           const CancelToken& cancel)
        : m_analysis(analysis), m_propagator(propagator), m_profile(profile), m_cancel(cancel) {}

    /// Error: cancelled.
    Result<Proposals> run() {
        m_result.space = std::make_shared<AxisSpace>(m_propagator.space());
        m_result.conflicts = findConflicts(m_analysis, m_propagator, m_profile);
        Analysis now = m_analysis;
        // Axes of placements are numbers of one propagation only.
        const bool meshOnly =
            m_propagator.space().axisCount() == m_propagator.space().mesh().axes.size();
        for (int round = 0; round < (meshOnly ? kRounds : 1); ++round) {
            std::optional<Propagator> again;
            if (round > 0) {
                again.emplace(now.meaningInput(), m_propagator.options());
                again->run(now.annotations, m_cancel);
            }
            Proposer proposer(now, again ? *again : m_propagator, m_cancel);
            auto more = proposer.run(m_result.left);
            if (m_cancel.cancelled())
                return Error{"cancelled", {}};
            if (more.empty())
                break;
            for (Proposal& proposal : more)
                add(std::move(proposal));
            now.document = proposer.document();
            now.annotations =
                decodeAnnotations(now.document, *now.shapes, now.configuration, m_cache.pool());
            now.meaning = completeMeaning(now.meaningInput(), m_cache, m_cancel);
        }
        std::sort(
            m_result.proposals.begin(), m_result.proposals.end(),
            [](const Proposal& a, const Proposal& b) { return keyOf(a.slot) < keyOf(b.slot); });
        std::vector<std::size_t> all(m_result.proposals.size());
        std::iota(all.begin(), all.end(), std::size_t{0});
        m_result.acceptAll = acceptProposals(m_analysis, m_result, all);
        if (m_cancel.cancelled())
            return Error{"cancelled", {}};
        return std::move(m_result);
    }

private:
    static constexpr int kRounds = 4;
    using Key = std::tuple<NodeId, bool, int>;
    static Key keyOf(TensorSlot slot) { return {slot.node, slot.output, slot.slot}; }

    /// An axis that came from a proposal of an earlier round comes from where that one came from.
    void add(Proposal proposal) {
        for (ProposalSource& source : proposal.sources) {
            const auto it = m_index.find(keyOf(source.annotation));
            if (!source.annotation.node || it == m_index.end())
                continue;
            for (const ProposalSource& earlier : m_result.proposals[it->second].sources)
                if (earlier.axis.overlaps(source.axis)) {
                    source.annotation = earlier.annotation;
                    source.words += "; proposed there since " + earlier.words;
                    break;
                }
        }
        m_index[keyOf(proposal.slot)] = m_result.proposals.size();
        m_result.proposals.push_back(std::move(proposal));
    }

    const Analysis& m_analysis;
    const Propagator& m_propagator;
    const HardwareProfile* m_profile;
    const CancelToken& m_cancel;
    MeaningCache m_cache;
    std::map<Key, std::size_t> m_index;  ///< Of proposals of earlier rounds.
    Proposals m_result;
};

}  // namespace

Result<Proposals> proposeLayouts(const Analysis& analysis, const PropagationOptions& options,
                                 const CancelToken& cancel, const HardwareProfile* profile) {
    if (!analysis.hasConfiguration)
        return Error{"the model has no device configuration yet", {}};
    Propagator propagator(analysis.meaningInput(), options);
    propagator.run(analysis.annotations, cancel);
    if (cancel.cancelled())
        return Error{"cancelled", {}};
    return Rounds(analysis, propagator, profile, cancel).run();
}

Result<Proposals> proposeLayouts(const Analysis& analysis, const Propagator& propagator,
                                 const HardwareProfile* profile) {
    if (!analysis.hasConfiguration)
        return Error{"the model has no device configuration yet", {}};
    return Rounds(analysis, propagator, profile, {}).run();
}

Edit acceptProposals(const Analysis& analysis, const Proposals& proposals,
                     std::span<const std::size_t> which) {
    Document written = analysis.document;
    for (const std::size_t i : which)
        writeProposal(written, analysis, proposals.proposals[i]);
    std::vector<Edit> edits;
    const auto& now = written.annotations.nodes;
    const auto& then = analysis.document.annotations.nodes;
    for (std::size_t n = 0; n < now.size(); ++n)
        if (!sameAnnotation(now[n], n < then.size() ? then[n] : nullptr))
            edits.push_back({{}, {SetNodeAnnotation{NodeId(n), now[n]}}});
    return joinEdits("Accept " + std::to_string(which.size()) +
                         (which.size() == 1 ? " layout" : " layouts"),
                     std::move(edits));
}

/// More than anybody tells apart.
static constexpr int kMostPriority = 1000;

Result<std::vector<int>> parseAxisPriorities(const Mesh& mesh,
                                             const std::vector<std::string>& texts) {
    std::vector<int> priorities(texts.empty() ? 0 : mesh.axes.size(), 0);
    std::set<int> given;
    for (const std::string& text : texts) {
        const auto equals = text.rfind('=');
        const int axis = equals == std::string::npos ? -1 : mesh.axisIndex(text.substr(0, equals));
        if (axis < 0)
            return Error{"expected AXIS=N with an axis of " + mesh.text() + ", found `" + text +
                             "`",
                         "--priority"};
        int& number = priorities[static_cast<std::size_t>(axis)];
        const char* end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data() + equals + 1, end, number);
        if (parsed.ec != std::errc() || parsed.ptr != end || number < 0 || number > kMostPriority)
            return Error{"expected AXIS=N with N from 0 to " + std::to_string(kMostPriority) +
                             ", found `" + text + "`",
                         "--priority"};
        if (!given.insert(axis).second)
            return Error{"`" + text + "` is the second one of its axis", "--priority"};
    }
    return priorities;
}

}  // namespace shardwright
