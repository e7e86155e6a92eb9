// SPDX-License-Identifier: Apache-2.0
#include "comm/communication.h"

#include "comm/halo.h"
#include "comm/moved_bits.h"
#include "model/saturating.h"
#include "sharding/shard_text.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace shardwright {

namespace {

struct PlanKey {
    const void* source;  ///< A Layout, or the CellGrid whose output `slot` is partial.
    std::size_t slot;
    const Layout* target;
    int bits;
    bool operator==(const PlanKey&) const = default;
};

struct PlanKeyHash {
    std::size_t operator()(const PlanKey& k) const {
        return (std::hash<const void*>{}(k.source) * 31 + std::hash<const void*>{}(k.target)) * 31 +
               k.slot * 131 + static_cast<std::size_t>(k.bits);
    }
};

struct CachedPlan {
    std::shared_ptr<const void> source;  // Keep what the key points to alive.
    LayoutRef target;
    std::shared_ptr<const ReshardPlan> plan;
};

}  // namespace

/// What one node communicates, as if it were the only consumer of its inputs.
struct NodeReshards {
    struct Input {
        LayoutRef layout;
        std::vector<CommEntry> entries;
    };
    std::vector<Input> inputs;
    std::vector<CommEntry> halos;
    std::vector<CommEntry> outputs;
    bool empty() const { return inputs.empty() && halos.empty() && outputs.empty(); }
};

struct CommCache::Impl {
    Mesh mesh;
    std::unordered_map<PlanKey, CachedPlan, PlanKeyHash> plans;
    std::uint64_t revision = 0;  ///< Of the meaning that `nodes` is of.
    std::map<int, NodeReshards>
        nodes;  ///< By place in the topological order; without those that move nothing.
    std::uint64_t earlyRevision = 0;    ///< Of the meaning that `early` is of.
    std::map<int, NodeReshards> early;  ///< Of nodes that somebody wanted before the whole.
};

CommCache::CommCache() : m_impl(std::make_unique<Impl>()) {}
CommCache::~CommCache() = default;

std::map<CollectiveKind, Communication::KindTotal> Communication::byKind() const {
    std::map<CollectiveKind, KindTotal> totals;
    for (const CommEntry& entry : entries) {
        KindTotal& total = totals[entry.kind];
        const auto groups = static_cast<std::int64_t>(entry.groups.size());
        total.count += groups;
        total.bytes = saturatingSum(total.bytes, saturatingProduct(groups, entry.bytes));
    }
    return totals;
}

class CommBuilder {
public:
    CommBuilder(const MeaningInput& input, const Meaning& meaning, CommCache& cache)
        : m_in(input), m_graph(input.model->graph()), m_meaning(meaning), m_cache(*cache.m_impl) {
        // Plans depend on the mesh, through the choice of senders and the names of axes.
        if (!(m_cache.mesh == input.configuration->mesh)) {
            m_cache.mesh = input.configuration->mesh;
            m_cache.plans.clear();
            m_cache.revision = 0;
        }
    }

    Communication run() {
        const bool goesOn = m_meaning.basis != 0 && m_meaning.basis == m_cache.revision;
        if (!goesOn)
            m_cache.nodes.clear();
        if (m_cache.earlyRevision != m_meaning.revision)
            m_cache.early.clear();
        for (const NodeId node : goesOn ? m_meaning.redone : m_graph.main().order) {
            const int place = placeOf(node);
            m_cache.nodes.erase(place);
            const auto known = m_cache.early.find(place);
            NodeReshards found =
                known == m_cache.early.end() ? findReshards(node) : std::move(known->second);
            if (!found.empty())
                m_cache.nodes.emplace(place, std::move(found));
        }
        m_cache.early.clear();
        m_cache.revision = m_meaning.revision;
        m_result.entries.reserve(m_cache.nodes.size());
        for (const auto& [place, reshards] : m_cache.nodes)
            take(reshards);
        return std::move(m_result);
    }

    Communication runOn(std::span<const NodeId> nodes) {
        const bool goesOn = m_meaning.basis != 0 && m_meaning.basis == m_cache.revision;
        const std::unordered_set<NodeId> redone(m_meaning.redone.begin(), m_meaning.redone.end());
        if (std::exchange(m_cache.earlyRevision, m_meaning.revision) != m_meaning.revision)
            m_cache.early.clear();
        std::map<int, NodeId> places;
        for (const NodeId node : nodes)
            places.emplace(placeOf(node), node);
        for (const auto& [place, node] : places) {
            if (place < 0)
                continue;
            if (goesOn && !redone.contains(node)) {
                if (const auto known = m_cache.nodes.find(place); known != m_cache.nodes.end())
                    take(known->second);
                continue;
            }
            const auto [it, isNew] = m_cache.early.try_emplace(place);
            if (isNew)
                it->second = findReshards(node);
            take(it->second);
        }
        return std::move(m_result);
    }

private:
    int placeOf(NodeId node) const { return (*m_meaning.positions)[node.index()]; }

    NodeReshards findReshards(NodeId id) {
        NodeReshards found;
        const NodeMeaning& meaning = m_meaning.nodes[id.index()];
        if (meaning.everywhere)
            return found;
        for (std::size_t slot = 0; slot < meaning.inputs.size(); ++slot)
            findInput(m_graph.node(id), slot, meaning.inputs[slot], found);
        if (meaning.solution && meaning.solution->cells) {
            for (std::size_t slot = 0; slot < meaning.inputs.size(); ++slot)
                findHalo(m_graph.node(id), slot, meaning, found);
            for (std::size_t slot = 0; slot < meaning.outputs.size(); ++slot)
                findOutput(m_graph.node(id), slot, meaning, found);
        }
        return found;
    }

    void take(const NodeReshards& reshards) {
        for (const NodeReshards::Input& input : reshards.inputs)
            take(input);
        for (const auto* entries : {&reshards.halos, &reshards.outputs})
            for (const CommEntry& entry : *entries)
                take(entry);
    }

    void take(const CommEntry& entry) {
        m_result.totalBytes = saturatingSum(
            m_result.totalBytes,
            saturatingProduct(entry.bytes, static_cast<std::int64_t>(entry.groups.size())));
        m_result.entries.push_back(entry);
    }

    /// The same value brought to the same layout for several consumers is one reshard.
    void take(const NodeReshards::Input& input) {
        auto& known = m_inputReshards[input.entries.front().value];
        const NodeId consumer = input.entries.front().node;
        for (const auto& [layout, first, count] : known)
            if (layout == input.layout) {
                for (std::size_t i = first; i < first + count; ++i)
                    if (m_result.entries[i].consumers.back() != consumer)
                        m_result.entries[i].consumers.push_back(consumer);
                return;
            }
        known.push_back({input.layout, m_result.entries.size(), input.entries.size()});
        for (const CommEntry& entry : input.entries)
            take(entry);
    }

    int bitsOf(ValueId value) const { return movedBits(m_in.shapes->of(value).elementType); }

    std::shared_ptr<const ReshardPlan> planFor(std::shared_ptr<const void> source, std::size_t slot,
                                               const LayoutRef& target, int bits,
                                               const std::function<ReshardPlan()>& make) {
        const PlanKey key{source.get(), slot, target.get(), bits};
        auto it = m_cache.plans.find(key);
        if (it == m_cache.plans.end())
            it = m_cache.plans
                     .emplace(key, CachedPlan{std::move(source), target,
                                              std::make_shared<const ReshardPlan>(make())})
                     .first;
        return it->second.plan;
    }

    bool isShapeOnly(const NodeInfo& node, std::size_t slot) const {
        const RulePtr& rule = m_in.rules->of(node.id);
        return slot < rule->inputs.size() && rule->inputs[slot].shapeOnly;
    }

    void findInput(const NodeInfo& node, std::size_t slot, const SlotMeaning& s,
                   NodeReshards& found) {
        if (!s.arrives || !s.layout || s.arrives == s.layout || isShapeOnly(node, slot))
            return;
        const ValueId value = slot < node.inputs.size() ? node.inputs[slot]
                                                        : node.captures[slot - node.inputs.size()];
        const auto plan = planFor(s.arrives, 0, s.layout, bitsOf(value), [&] {
            return planReshard(piecesOf(*s.arrives), ReduceKind::None, *s.layout,
                               m_in.configuration->mesh, bitsOf(value));
        });
        if (plan->free())
            return;
        CommEntry entry;
        entry.node = node.id;
        entry.value = value;
        entry.consumers = {node.id};
        entry.phase = CommPhase::Input;
        const std::string name = "`" + m_graph.value(value).name + "`";
        const NodeId producer = m_graph.value(value).producer;
        entry.cause = name + " leaves " +
                      (producer ? "`" + m_graph.label(producer) + "`" : std::string("the file")) +
                      " as " + shortText(*s.arrives, m_in.configuration->mesh) + "; `" +
                      m_graph.label(node.id) + "` " +
                      (s.moved ? "runs on other devices and takes it as " : "wants it as ") +
                      shortText(*s.layout, m_in.configuration->mesh);
        found.inputs.push_back({s.layout, entriesOf(std::move(entry), plan, bitsOf(value))});
    }

    /// What windows read of their neighbours' shards.
    void findHalo(const NodeInfo& node, std::size_t slot, const NodeMeaning& meaning,
                  NodeReshards& found) {
        const CellGrid& cells = *meaning.solution->cells;
        const LayoutRef& layout = meaning.inputs[slot].layout;
        // Of a value that is everywhere, each device has what it needs.
        if (!layout || !meaning.inputs[slot].arrives || slot >= node.inputs.size() ||
            !cells.hasHalo(slot))
            return;
        const ValueId value = node.inputs[slot];
        // Not the key of an output's plan: those are numbered from 0.
        const auto plan = planFor(
            meaning.solution->cells, node.outputs.size() + slot, layout, bitsOf(value), [&] {
                return planHalo(cells, slot, *layout, m_in.configuration->mesh, bitsOf(value));
            });
        if (plan->free())
            return;
        CommEntry entry;
        entry.node = node.id;
        entry.value = value;
        entry.consumers = {node.id};
        entry.phase = CommPhase::Input;
        entry.cause = "`" + m_graph.value(value).name + "` is " +
                      shortText(*layout, m_in.configuration->mesh) + "; `" +
                      m_graph.label(node.id) +
                      "` reads elements of neighbours: " + haloReason(cells, slot);
        for (CommEntry& part : entriesOf(std::move(entry), plan, bitsOf(value)))
            found.halos.push_back(std::move(part));
    }

    static std::string haloReason(const CellGrid& cells, std::size_t slot) {
        for (const SliceExtra& slice : cells.rule->slices)
            if (const auto f = static_cast<std::size_t>(slice.factor);
                slice.window && slice.inputSlot == static_cast<int>(slot) && cells.cuts[f].split())
                return cells.rule->factors[f].reason;
        return {};
    }

    void findOutput(const NodeInfo& node, std::size_t slot, const NodeMeaning& meaning,
                    NodeReshards& found) {
        const SlotMeaning& s = meaning.outputs[slot];
        const CellGrid& cells = *meaning.solution->cells;
        if (!s.layout || !node.outputs[slot] || slot >= meaning.solution->natural.size())
            return;
        const std::vector<int> partial = cells.partialFactors(slot);
        const LayoutRef& natural = meaning.solution->natural[slot];
        if (partial.empty() && natural == s.layout)
            return;
        const ValueId value = node.outputs[slot];
        const ReduceKind reduce =
            partial.empty() ? ReduceKind::None
                            : cells.rule->factors[static_cast<std::size_t>(partial[0])].reduce;
        const auto plan = planFor(meaning.solution->cells, slot, s.layout, bitsOf(value), [&] {
            return planReshard(piecesOf(cells, slot), reduce, *s.layout, m_in.configuration->mesh,
                               bitsOf(value));
        });
        if (plan->free())
            return;
        CommEntry entry;
        entry.node = node.id;
        entry.value = value;
        entry.reduce = reduce;
        entry.phase = CommPhase::Output;
        for (const ValueUse& use : m_graph.value(value).uses)
            if (entry.consumers.empty() || entry.consumers.back() != use.node)
                entry.consumers.push_back(use.node);
        entry.cause = outputCause(node, slot, meaning, partial);
        for (CommEntry& part : entriesOf(std::move(entry), plan, bitsOf(value)))
            found.outputs.push_back(std::move(part));
    }

    std::string outputCause(const NodeInfo& node, std::size_t slot, const NodeMeaning& meaning,
                            const std::vector<int>& partial) const {
        const Mesh& mesh = m_in.configuration->mesh;
        const CellGrid& cells = *meaning.solution->cells;
        std::string text = "`" + m_graph.value(node.outputs[slot]).name + "`: ";
        if (partial.empty()) {
            text += "`" + m_graph.label(node.id) + "` gives it as " +
                    shortText(*meaning.solution->natural[slot], mesh);
        } else {
            const Factor& factor = cells.rule->factors[static_cast<std::size_t>(partial[0])];
            text += "`" + m_graph.label(node.id) + "` has partial results (" +
                    reduceKindName(factor.reduce) + " over " + factor.name + "), since ";
            bool first = true;
            for (std::size_t i = 0; i < meaning.inputs.size() && i < node.inputs.size(); ++i) {
                const LayoutRef& layout = meaning.inputs[i].layout;
                if (!layout || layout->isWhole())
                    continue;
                text += (first ? "`" : " and `") + m_graph.value(node.inputs[i]).name + "` is " +
                        shortText(*layout, mesh);
                first = false;
            }
        }
        return text +
               (meaning.outputs[slot].source == LayoutSource::Explicit ? "; its spec wants "
                                                                       : "; the result is ") +
               shortText(*meaning.outputs[slot].layout, mesh);
    }

    /// One entry, or several where groups work on different numbers of bytes.
    static std::vector<CommEntry>
    entriesOf(CommEntry entry, const std::shared_ptr<const ReshardPlan>& plan, int bits) {
        std::vector<CommEntry> entries;
        entry.kind = plan->kind;
        entry.axes = plan->axes;
        entry.plan = plan;
        std::map<std::int64_t, ReshardPlan> byBytes;
        for (const GroupOperation& group : plan->groups)
            byBytes[group.bytes].groups.push_back(group);
        if (plan->tooLarge) {
            entry.cause += "; so many copies between devices are not worked with";
            entries.push_back(entry);
        }
        for (const auto& [bytes, part] : byBytes) {
            entry.bytes = bytes;
            entry.groups.clear();
            for (const GroupOperation& group : part.groups)
                entry.groups.push_back(group.devices);
            entry.bytesSentMax = part.bytesSentMax(bits);
            entry.bytesSentTotal = part.bytesSentTotal(bits);
            entries.push_back(entry);
        }
        return entries;
    }

    struct KnownReshard {
        LayoutRef layout;
        std::size_t first, count;
    };
    const MeaningInput& m_in;
    const GraphIndex& m_graph;
    const Meaning& m_meaning;
    CommCache::Impl& m_cache;
    std::unordered_map<ValueId, std::vector<KnownReshard>> m_inputReshards;
    Communication m_result;
};

Communication findCommunication(const MeaningInput& input, const Meaning& meaning,
                                CommCache& cache) {
    return CommBuilder(input, meaning, cache).run();
}

Communication findCommunication(const MeaningInput& input, const Meaning& soFar, CommCache& cache,
                                std::span<const NodeId> nodes) {
    return CommBuilder(input, soFar, cache).runOn(nodes);
}

}  // namespace shardwright
