// SPDX-License-Identifier: Apache-2.0
#include "check/fixes.h"

#include "comm/moved_bits.h"
#include "inference/solve.h"
#include "sharding/shard_text.h"

#include <algorithm>
#include <iterator>

namespace shardwright {

namespace {

/// A layout sorts its groups and drops what is there twice.
void append(DeviceGroup& into, const DeviceGroup& more) {
    into.insert(into.end(), more.begin(), more.end());
}

/// The layout with dimension `dim` whole: every device that had a part of it has all of it.
Layout gathered(const Layout& layout, std::size_t dim) {
    std::int64_t inner = 1, along = 1;
    for (std::size_t d = layout.dims().size(); d-- > dim;)
        for (const Component& c : layout.dims()[d])
            (d == dim ? along : inner) *= c.shards;
    auto dims = layout.dims();
    dims[dim] = {{layout.shape()[dim], 1}};
    std::vector<DeviceGroup> groups(layout.groups().size() / static_cast<std::size_t>(along));
    for (std::int64_t shard = 0; shard < layout.shardCount(); ++shard) {
        const std::int64_t outer = shard / (inner * along);
        append(groups[static_cast<std::size_t>(outer * inner + shard % inner)],
               layout.groups()[static_cast<std::size_t>(shard)]);
    }
    return Layout(layout.shape(), std::move(dims), std::move(groups));
}

/// New input layouts of some tensors, each named by the first slot that reads it: a spec is of a
/// tensor, however often the node reads it.
struct Candidate {
    std::vector<std::pair<std::size_t, LayoutRef>> changes;
    std::string what;        ///< "`a` along dimension 1"
    std::string id;          ///< "-a:1": the end of the fix's id.
    std::int64_t bytes = 0;  ///< Of gathering, and of joining the node's results then.
};

class FixFinder {
public:
    /// `wanted`: devices that are to take part in the result; empty: it is enough that it has a
    /// meaning.
    FixFinder(const Analysis& analysis, NodeId node, DeviceGroup wanted, LayoutPool& pool)
        : m_analysis(analysis), m_wanted(std::move(wanted)), m_pool(pool),
          m_node(analysis.graph().node(node)), m_meaning(analysis.meaning.nodes[node.index()]) {
        m_devices = m_meaning.solution ? m_meaning.solution->devices : DeviceGroup{};
        for (const SlotMeaning& slot : m_meaning.inputs) {
            m_inputs.push_back(slot.layout);
            if (m_devices.empty() && slot.source == LayoutSource::Explicit && slot.layout)
                m_devices = slot.layout->devices();
        }
        if (m_devices.empty())
            m_devices = m_analysis.configuration.allDevices();
    }

    std::vector<Fix> run() {
        collect();
        std::vector<Candidate> good;
        for (Candidate& candidate : m_candidates) {
            // Gathering everything is the last resort.
            if (candidate.changes.size() > 1 && !good.empty())
                continue;
            const NodeSolution solution = solve(candidate);
            if (!solution.problems.empty() || !takePart(solution))
                continue;
            candidate.bytes = inputBytes(candidate) + outputBytes(solution);
            good.push_back(std::move(candidate));
        }
        std::stable_sort(good.begin(), good.end(),
                         [](const Candidate& a, const Candidate& b) { return a.bytes < b.bytes; });
        if (good.size() > 3)
            good.resize(3);
        std::vector<Fix> fixes;
        for (const Candidate& candidate : good)
            fixes.push_back(toFix(candidate));
        return fixes;
    }

private:
    const std::string& nameOf(std::size_t slot) const {
        return m_analysis.graph().value(m_node.inputs[slot]).name;
    }

    /// Of those that read the same tensor.
    std::size_t firstSlot(std::size_t slot) const {
        const auto first =
            std::find(m_node.inputs.begin(), m_node.inputs.end(), m_node.inputs[slot]);
        return static_cast<std::size_t>(first - m_node.inputs.begin());
    }

    void collect() {
        Candidate all;
        std::vector<Candidate> wholes;
        for (std::size_t slot = 0; slot < m_node.inputs.size() && slot < m_inputs.size(); ++slot) {
            const LayoutRef& layout = m_inputs[slot];
            // A whole tensor that is on some of the node's devices only can be sent to the others.
            if (!m_node.inputs[slot] || firstSlot(slot) != slot || !layout ||
                (layout->isWhole() && layout->devices() == m_devices))
                continue;
            const LayoutRef whole = m_pool.intern(Layout::replicated(layout->shape(), m_devices));
            int splitDims = 0;
            for (std::size_t d = 0; d < layout->dims().size(); ++d)
                splitDims += layout->isSplit(d) ? 1 : 0;
            for (std::size_t d = 0; d < layout->dims().size() && splitDims > 1; ++d)
                if (layout->isSplit(d))
                    m_candidates.push_back(
                        {{{slot, m_pool.intern(gathered(*layout, d))}},
                         "`" + nameOf(slot) + "` along dimension " + std::to_string(d),
                         "-" + nameOf(slot) + ":" + std::to_string(d)});
            wholes.push_back({{{slot, whole}}, "`" + nameOf(slot) + "`", "-" + nameOf(slot)});
            all.changes.emplace_back(slot, whole);
            all.what += (all.what.empty() ? "`" : " and `") + nameOf(slot) + "`";
            all.id += "-" + nameOf(slot);
        }
        // Of equal price, what leaves more of it split comes first.
        std::ranges::move(wholes, std::back_inserter(m_candidates));
        if (all.changes.size() > 1)
            m_candidates.push_back(std::move(all));
    }

    NodeSolution solve(const Candidate& candidate) const {
        std::vector<LayoutRef> inputs = m_inputs;
        for (const auto& [first, layout] : candidate.changes)
            for (std::size_t slot = first; slot < m_node.inputs.size(); ++slot)
                if (m_node.inputs[slot] == m_node.inputs[first])
                    inputs[slot] = layout;
        static const TensorInfo none;
        std::vector<const TensorInfo*> outputs;
        for (const ValueId output : m_node.outputs)
            outputs.push_back(output ? &m_analysis.shapes->of(output) : &none);
        return solveNode(m_analysis.rules->of(m_node.id), m_devices, inputs, outputs, m_pool);
    }

    bool takePart(const NodeSolution& solution) const {
        return std::all_of(solution.natural.begin(), solution.natural.end(),
                           [&](const LayoutRef& natural) {
                               return !natural || std::includes(natural->devices().begin(),
                                                                natural->devices().end(),
                                                                m_wanted.begin(), m_wanted.end());
                           });
    }

    std::int64_t bytesOf(const std::vector<SourcePiece>& pieces, ReduceKind reduce,
                         const Layout& target, ValueId value) const {
        const int bits = movedBits(m_analysis.shapes->of(value).elementType);
        std::int64_t bytes = 0;
        for (const GroupOperation& group :
             planReshard(pieces, reduce, target, m_analysis.configuration.mesh, bits).groups)
            bytes += group.bytes;
        return bytes;
    }

    std::int64_t inputBytes(const Candidate& candidate) const {
        std::int64_t bytes = 0;
        for (const auto& [slot, layout] : candidate.changes)
            if (const LayoutRef& arrives =
                    m_meaning.inputs[slot].arrives)  // Else whole on every device: cutting is free.
                bytes +=
                    bytesOf(piecesOf(*arrives), ReduceKind::None, *layout, m_node.inputs[slot]);
        return bytes;
    }

    /// What the node's own results then have to communicate.
    std::int64_t outputBytes(const NodeSolution& solution) const {
        std::int64_t bytes = 0;
        for (std::size_t slot = 0; slot < m_node.outputs.size() && slot < solution.natural.size();
             ++slot) {
            const LayoutRef& declared = m_meaning.outputs[slot].layout;
            const auto partial = solution.cells->partialFactors(slot);
            if (!m_node.outputs[slot] || !solution.natural[slot] || (partial.empty() && !declared))
                continue;
            const ReduceKind reduce =
                partial.empty()
                    ? ReduceKind::None
                    : solution.cells->rule->factors[static_cast<std::size_t>(partial[0])].reduce;
            bytes += bytesOf(piecesOf(*solution.cells, slot), reduce,
                             declared ? *declared : *solution.natural[slot], m_node.outputs[slot]);
        }
        return bytes;
    }

    /// Nothing has to be gathered: the changed inputs arrive whole on every device.
    bool isLocal(const Candidate& candidate) const {
        return std::all_of(
            candidate.changes.begin(), candidate.changes.end(),
            [&](const auto& change) { return !m_meaning.inputs[change.first].arrives; });
    }

    Fix toFix(const Candidate& candidate) const {
        Fix fix;
        fix.bytes = candidate.bytes;
        fix.id = (isLocal(candidate) ? "whole" : "gather") + candidate.id;
        std::vector<Edit> edits;
        Document document = m_analysis.document;
        for (const auto& [slot, layout] : candidate.changes) {
            // Each edit replaces the node's whole annotation: the next one starts from the result.
            edits.push_back(editSpec(document, m_node.id, m_analysis.configuration.name,
                                     nameOf(slot), layout.get(),
                                     m_analysis.shapes->of(m_node.inputs[slot])));
            apply(document.annotations, edits.back());
        }
        const bool sends = std::all_of(
            candidate.changes.begin(), candidate.changes.end(), [&](const auto& change) {
                const LayoutRef& arrives = m_meaning.inputs[change.first].arrives;
                return arrives && arrives->isWhole();
            });
        const std::string node = "`" + m_analysis.graph().label(m_node.id) + "`";
        if (isLocal(candidate))
            fix.title = "Keep " + candidate.what + " whole at " + node;
        else if (sends)
            fix.title = "Send " + candidate.what + " to the devices of " + node;
        else
            fix.title = "Gather " + candidate.what + " at " + node;
        fix.title += fix.bytes == 0 ? " (free)" : " (" + std::to_string(fix.bytes) + " bytes)";
        fix.edit = joinEdits(fix.title, std::move(edits));
        return fix;
    }

    const Analysis& m_analysis;
    DeviceGroup m_wanted;
    LayoutPool& m_pool;
    const NodeInfo& m_node;
    const NodeMeaning& m_meaning;
    DeviceGroup m_devices;
    std::vector<LayoutRef> m_inputs;
    std::vector<Candidate> m_candidates;
};

}  // namespace

std::vector<Fix> findFixes(const Analysis& analysis, const MeaningProblem& problem,
                           LayoutPool& pool) {
    return FixFinder(analysis, problem.node, {}, pool).run();
}

std::vector<Fix> findFixesOfIdle(const Analysis& analysis, NodeId node, const DeviceGroup& wanted,
                                 LayoutPool& pool) {
    return FixFinder(analysis, node, wanted, pool).run();
}

}  // namespace shardwright
