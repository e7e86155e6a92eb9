// SPDX-License-Identifier: Apache-2.0
#include "inference/meaning.h"

#include "inference/agenda.h"
#include "inference/solve.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace shardwright {

std::string layoutSourceName(LayoutSource source) {
    switch (source) {
        case LayoutSource::Explicit: return "explicit";
        case LayoutSource::Inferred: return "inferred";
        case LayoutSource::Everywhere: return "everywhere";
        case LayoutSource::Unknown: break;
    }
    return "unknown";
}

namespace {

struct SolutionKey {
    const Rule* rule;
    DeviceGroup devices;
    std::vector<const Layout*> inputs;
    bool operator==(const SolutionKey&) const = default;
};

struct SolutionKeyHash {
    std::size_t operator()(const SolutionKey& key) const {
        std::size_t h = std::hash<const void*>{}(key.rule);
        const auto mix = [&h](std::size_t v) {
            h ^= v + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
        };
        for (const DeviceId d : key.devices)
            mix(static_cast<std::size_t>(d));
        for (const Layout* layout : key.inputs)
            mix(std::hash<const void*>{}(layout));
        return h;
    }
};

struct CachedSolution {
    RulePtr rule;  // Keep what the key points to alive.
    std::vector<LayoutRef> inputs;
    std::shared_ptr<const NodeSolution> solution;
};

/// A finished completion and what it was made from.
struct Completion {
    std::shared_ptr<const ShapeTable> shapes;
    std::shared_ptr<const RuleTable> rules;
    Configuration configuration;
    NodeSpecsArray specs;
    std::map<int, DeviceGroup> stages;
    Meaning meaning;

    bool suits(const MeaningInput& input) const {
        return shapes == input.shapes && rules == input.rules &&
               configuration == *input.configuration &&
               specs.size() == input.annotations->nodes.size();
    }
};

std::uint64_t nextRevision() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

void unite(DeviceGroup& into, const DeviceGroup& more) {
    DeviceGroup result;
    std::set_union(into.begin(), into.end(), more.begin(), more.end(), std::back_inserter(result));
    into = std::move(result);
}

bool isWithin(const DeviceGroup& inner, const DeviceGroup& outer) {
    return std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
}

}  // namespace

struct MeaningCache::Impl {
    LayoutPool pool;
    std::unordered_map<SolutionKey, CachedSolution, SolutionKeyHash> solutions;
    std::shared_ptr<const Model> model;
    std::shared_ptr<const std::vector<int>> positions;
    std::unordered_map<ValueId, std::vector<NodeId>>
        captureUsers;  ///< Nodes whose bodies read a value.
    std::optional<Completion> last;

    void indexModel(const std::shared_ptr<const Model>& wanted) {
        if (model == wanted)
            return;
        model = wanted;
        last.reset();
        captureUsers.clear();
        const GraphIndex& graph = model->graph();
        std::vector<int> places(graph.nodes.size(), -1);
        int place = 0;
        for (const NodeId node : graph.main().order) {
            places[node.index()] = place++;
            for (const ValueId value : graph.node(node).captures)
                captureUsers[value].push_back(node);
        }
        positions = std::make_shared<const std::vector<int>>(std::move(places));
    }
};

MeaningCache::MeaningCache() : m_impl(std::make_unique<Impl>()) {}
MeaningCache::~MeaningCache() = default;
LayoutPool& MeaningCache::pool() {
    return m_impl->pool;
}

/// One completion: walks the main graph in topological order and gives every slot its layout.
/// Nodes may be worked out before others as long as all that they follow from goes before them:
/// each is worked out once, and the result is the same.
class MeaningSolver {
public:
    MeaningSolver(const MeaningInput& input, MeaningCache& cache)
        : m_in(input), m_graph(input.model->graph()), m_cache(*cache.m_impl),
          m_basis(findBasis(input, *cache.m_impl)),
          m_nodes(m_basis ? NodeEditor(m_basis->meaning.nodes) : NodeEditor(m_graph.nodes.size())),
          m_values(m_basis ? ValueEditor(m_basis->meaning.values)
                           : ValueEditor(m_graph.values.size())),
          m_agenda(m_graph.main().order.size()) {
        m_meaning.positions = m_cache.positions;
        m_meaning.revision = nextRevision();
        m_meaning.basis = m_basis ? m_basis->meaning.revision : 0;
        bindStages();
        if (m_basis) {
            addChanges();
        } else {
            placeWhatTheFileHas();
            m_agenda.addAll();
        }
    }

    /// Works out what is to be done in topological order, `most` nodes at most.
    void workOut(std::size_t most, const CancelToken& cancel) {
        m_agenda.restart();
        work(nullptr, most, cancel);
    }

    void workOut(std::span<const NodeId> nodes, const CancelToken& cancel) {
        const auto first = m_agenda.first();
        if (!first)
            return;
        // What they follow from; nothing before the first change can be another than it was.
        PlaceSet wanted(m_graph.main().order.size());
        std::vector<NodeId> open;
        const auto want = [&](NodeId node) {
            const int place = node ? positionOf(node) : -1;
            if (place >= static_cast<int>(*first) && wanted.add(static_cast<std::size_t>(place)))
                open.push_back(node);
        };
        for (const NodeId node : nodes)
            want(node);
        while (!open.empty()) {
            const NodeInfo& node = m_graph.node(open.back());
            open.pop_back();
            for (const auto* values : {&node.inputs, &node.captures})
                for (const ValueId value : *values)
                    if (value)
                        want(m_graph.value(value).producer);
        }
        m_agenda.restart();
        work(&wanted, kNoLimit, cancel);
    }

    bool isDone() const { return !m_agenda.first(); }

    Meaning soFar() {
        Meaning meaning = m_meaning;
        completeLists(meaning);
        meaning.nodes = m_nodes.snapshot();
        meaning.values = m_values.snapshot();
        return meaning;
    }

    Meaning finish(const CancelToken& cancel) {
        workOut(kNoLimit, cancel);
        completeLists(m_meaning);
        m_meaning.nodes = std::move(m_nodes).finish();
        m_meaning.values = std::move(m_values).finish();
        // A completion that was given up leaves the one before as what the next goes on from.
        if (!cancel.cancelled())
            m_cache.last =
                Completion{m_in.shapes, m_in.rules, *m_in.configuration, m_in.annotations->nodes,
                           m_stages,    m_meaning};
        return std::move(m_meaning);
    }

private:
    using NodeEditor = PersistentArray<NodeMeaning>::Editor;
    using ValueEditor = PersistentArray<ValueMeaning>::Editor;
    static constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);

    static const Completion* findBasis(const MeaningInput& input, MeaningCache::Impl& cache) {
        cache.indexModel(input.model);
        return cache.last && cache.last->suits(input) ? &*cache.last : nullptr;
    }

    int positionOf(NodeId node) const { return (*m_cache.positions)[node.index()]; }

    void placeWhatTheFileHas() {
        for (const ValueInfo& value : m_graph.values)
            if (value.graph == m_graph.main().id &&
                (value.kind == ValueKind::GraphInput || value.kind == ValueKind::Initializer))
                m_values.edit(value.id.index()).source = LayoutSource::Everywhere;
    }

    /// Nodes whose own words, or whose stage's devices, have changed.
    void addChanges() {
        const auto& specs = m_in.annotations->nodes;
        NodeSpecsArray::compare(specs, m_basis->specs,
                                [&](std::size_t node) { m_agenda.add(positionOf(NodeId(node))); });
        if (m_stages == m_basis->stages)
            return;
        const auto devicesOf = [](const std::map<int, DeviceGroup>& stages, int stage) {
            const auto it = stages.find(stage);
            return it == stages.end() ? DeviceGroup{} : it->second;
        };
        for (const NodeId node : m_in.annotations->staged) {
            const int stage = specs[node.index()]->stage;
            if (devicesOf(m_stages, stage) != devicesOf(m_basis->stages, stage))
                m_agenda.add(positionOf(node));
        }
    }

    void addReaders(ValueId value) {
        for (const ValueUse& use : m_graph.value(value).uses)
            m_agenda.add(positionOf(use.node));
        if (const auto it = m_cache.captureUsers.find(value); it != m_cache.captureUsers.end())
            for (const NodeId node : it->second)
                m_agenda.add(positionOf(node));
    }

    void work(const PlaceSet* only, std::size_t most, const CancelToken& cancel) {
        const auto& order = m_graph.main().order;
        std::vector<ValueMeaning> before;
        for (std::size_t done = 0; done < most; ++done) {
            if ((done & 0xff) == 0xff && cancel.cancelled())
                return;
            const auto next = m_agenda.take(only);
            if (!next)
                return;
            const NodeInfo& node = m_graph.node(order[*next]);
            before.clear();
            for (const ValueId output : node.outputs)
                before.push_back(output ? m_values[output.index()] : ValueMeaning{});
            complete(node);
            if (!m_basis)
                continue;
            m_meaning.redone.push_back(node.id);
            for (std::size_t slot = 0; slot < node.outputs.size(); ++slot)
                if (const ValueId output = node.outputs[slot];
                    output && !(m_values[output.index()] == before[slot]))
                    addReaders(output);
        }
    }

    /// Adds what stands of the basis, and brings the lists into topological order.
    void completeLists(Meaning& meaning) const {
        if (m_basis) {
            const std::unordered_set<NodeId> redone(meaning.redone.begin(), meaning.redone.end());
            for (const MeaningProblem& problem : m_basis->meaning.problems)
                if (!redone.contains(problem.node))
                    meaning.problems.push_back(problem);
        }
        std::ranges::stable_sort(meaning.problems, {},
                                 [&](const auto& p) { return positionOf(p.node); });
        std::ranges::sort(meaning.redone, {}, [&](NodeId node) { return positionOf(node); });
    }

    /// Stages without devices of their own in the metadata run on the union of their nodes'
    /// explicit specs.
    void bindStages() {
        for (const NodeId node : m_in.annotations->staged) {
            if (m_graph.node(node).graph != m_graph.main().id)
                continue;
            const NodeSpecs* specs = specsOf(node);
            DeviceGroup& devices = m_stages[specs->stage];
            const DeviceGroup bound = m_in.configuration->stageDevices(specs->stage);
            if (!bound.empty()) {
                devices = bound;
                continue;
            }
            for (const DecodedSpec& spec : specs->specs)
                if (spec.layout)
                    unite(devices, spec.layout->devices());
        }
    }

    const NodeSpecs* specsOf(NodeId node) const {
        const auto& nodes = m_in.annotations->nodes;
        return node.index() < nodes.size() ? nodes[node.index()].get() : nullptr;
    }

    struct Arrival {
        ValueId value;
        const DecodedSpec* spec = nullptr;
        bool shapeOnly = false;
        bool present = false;
    };

    std::vector<Arrival> arrivals(const NodeInfo& node, const Rule& rule,
                                  const NodeSpecs* specs) const {
        std::vector<Arrival> result;
        for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
            Arrival a;
            a.value = node.inputs[slot];
            a.present = static_cast<bool>(a.value);
            a.shapeOnly = slot < rule.inputs.size() && rule.inputs[slot].shapeOnly;
            if (a.present && specs)
                a.spec = specs->find(m_graph.value(a.value).name);
            result.push_back(a);
        }
        for (const ValueId value : node.captures)
            result.push_back({value, nullptr, false, true});
        return result;
    }

    DeviceGroup stageOf(const NodeSpecs* specs) const {
        if (!specs || specs->stage < 0)
            return {};
        const auto it = m_stages.find(specs->stage);
        return it == m_stages.end() ? DeviceGroup{} : it->second;
    }

    /// ARCHITECTURE "Where a node runs". Empty: all devices, because nothing says otherwise.
    DeviceGroup devicesOf(const NodeInfo& node, const std::vector<Arrival>& inputs,
                          const NodeSpecs* specs) const {
        DeviceGroup devices = stageOf(specs);
        if (!devices.empty())
            return devices;
        for (const Arrival& a : inputs)
            if (a.spec && a.spec->layout && !a.shapeOnly)
                unite(devices, a.spec->layout->devices());
        if (!devices.empty())
            return devices;
        if (specs)
            for (const ValueId output : node.outputs)
                if (const DecodedSpec* spec =
                        output ? specs->find(m_graph.value(output).name) : nullptr;
                    spec && spec->layout)
                    unite(devices, spec->layout->devices());
        if (!devices.empty())
            return devices;
        for (const Arrival& a : inputs)
            if (a.present && !a.shapeOnly && m_values[a.value.index()].layout)
                unite(devices, m_values[a.value.index()].layout->devices());
        return devices;
    }

    void complete(const NodeInfo& node) {
        const RulePtr& rule = m_in.rules->of(node.id);
        const NodeSpecs* specs = specsOf(node.id);
        NodeMeaning& meaning = m_nodes.edit(node.id.index());
        meaning = {};
        const auto inputs = arrivals(node, *rule, specs);
        if (rule->everywhereOutputs) {
            everywhere(node, inputs, meaning);
            return;
        }
        const DeviceGroup devices = devicesOf(node, inputs, specs);
        bool known = true;
        for (const Arrival& a : inputs)
            known = known &&
                    (!a.present || a.shapeOnly ||
                     m_values[a.value.index()].source != LayoutSource::Unknown ||
                     (a.spec && a.spec->layout)) &&
                    !(a.spec && !a.spec->layout && !a.shapeOnly);
        if (devices.empty() && known) {
            everywhere(node, inputs, meaning);
            return;
        }
        known =
            fillInputs(node, inputs, devices, stageOf(specs), meaning) && known && !devices.empty();
        if (known)
            meaning.solution = solve(node, rule, devices, meaning);
        fillOutputs(node, specs, meaning);
    }

    void everywhere(const NodeInfo& node, const std::vector<Arrival>& inputs,
                    NodeMeaning& meaning) {
        meaning.everywhere = true;
        for (const Arrival& a : inputs) {
            SlotMeaning slot;
            if (a.present) {
                const ValueMeaning& value = m_values[a.value.index()];
                slot.source =
                    value.source == LayoutSource::Explicit ? LayoutSource::Inferred : value.source;
                slot.layout = slot.arrives = value.layout;
            }
            meaning.inputs.push_back(std::move(slot));
        }
        for (const ValueId output : node.outputs) {
            SlotMeaning slot;
            slot.source = LayoutSource::Everywhere;
            meaning.outputs.push_back(slot);
            setValue(node, output, {LayoutSource::Everywhere, nullptr});
        }
    }

    /// False: the node gets no meaning (an input is unknown or cannot be moved).
    bool fillInputs(const NodeInfo& node, const std::vector<Arrival>& inputs,
                    const DeviceGroup& devices, const DeviceGroup& stage, NodeMeaning& meaning) {
        bool known = true;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const Arrival& a = inputs[i];
            SlotMeaning slot;
            if (!a.present) {
                meaning.inputs.push_back(slot);
                continue;
            }
            const ValueMeaning& value = m_values[a.value.index()];
            slot.arrives = value.layout;
            if (a.spec) {
                slot.source = a.spec->layout ? LayoutSource::Explicit : LayoutSource::Unknown;
                slot.layout = a.spec->layout;
                // The decoder has told of a spec outside its stage: no second message.
                known = known &&
                        (!slot.layout || stage.empty() || isWithin(slot.layout->devices(), stage));
            } else {
                slot.source =
                    value.source == LayoutSource::Explicit ? LayoutSource::Inferred : value.source;
                slot.layout = value.layout;
                if (slot.layout && !a.shapeOnly && !isWithin(slot.layout->devices(), devices))
                    known = move(node, static_cast<int>(i), devices, slot) && known;
            }
            meaning.inputs.push_back(std::move(slot));
        }
        return known;
    }

    bool move(const NodeInfo& node, int index, const DeviceGroup& devices, SlotMeaning& slot) {
        const Layout restricted = slot.layout->restrictedTo(devices);
        bool complete = !devices.empty();
        for (std::int64_t shard = 0; shard < restricted.shardCount() && complete; ++shard)
            complete = !restricted.groups()[static_cast<std::size_t>(shard)].empty() ||
                       restricted.shardBox(shard).empty();
        if (complete && !restricted.devices().empty()) {
            slot.layout = m_cache.pool.intern(restricted);
            return true;
        }
        slot.moved = true;
        if (slot.layout->isWhole()) {
            slot.layout = m_cache.pool.intern(Layout::replicated(slot.layout->shape(), devices));
            return true;
        }
        if (slot.layout->devices().size() == devices.size()) {
            slot.layout = m_cache.pool.intern(slot.layout->movedTo(devices));
            return true;
        }
        MeaningProblem problem{};
        problem.kind = MeaningProblem::Kind::MoveCount;
        problem.node = node.id;
        problem.slot = index;
        m_meaning.problems.push_back(problem);
        return false;
    }

    std::shared_ptr<const NodeSolution> solve(const NodeInfo& node, const RulePtr& rule,
                                              const DeviceGroup& devices,
                                              const NodeMeaning& meaning) {
        SolutionKey key{rule.get(), devices, {}};
        std::vector<LayoutRef> layouts;
        for (const SlotMeaning& slot : meaning.inputs) {
            key.inputs.push_back(slot.layout.get());
            layouts.push_back(slot.layout);
        }
        auto it = m_cache.solutions.find(key);
        if (it == m_cache.solutions.end()) {
            std::vector<const TensorInfo*> outputs;
            static const TensorInfo none;
            for (const ValueId output : node.outputs)
                outputs.push_back(output ? &m_in.shapes->of(output) : &none);
            auto solution = std::make_shared<const NodeSolution>(
                solveNode(rule, devices, layouts, outputs, m_cache.pool));
            it = m_cache.solutions
                     .emplace(std::move(key), CachedSolution{rule, layouts, std::move(solution)})
                     .first;
        }
        for (MeaningProblem problem : it->second.solution->problems) {
            problem.node = node.id;
            m_meaning.problems.push_back(problem);
        }
        return it->second.solution;
    }

    /// A value that two nodes produce keeps the first.
    void setValue(const NodeInfo& node, ValueId value, ValueMeaning meaning) {
        if (value && m_graph.value(value).producer == node.id &&
            !(m_values[value.index()] == meaning))
            m_values.edit(value.index()) = std::move(meaning);
    }

    void fillOutputs(const NodeInfo& node, const NodeSpecs* specs, NodeMeaning& meaning) {
        const bool solved = meaning.solution && meaning.solution->cells;
        for (std::size_t slot = 0; slot < node.outputs.size(); ++slot) {
            SlotMeaning out;
            const ValueId output = node.outputs[slot];
            if (output) {
                const DecodedSpec* spec = specs ? specs->find(m_graph.value(output).name) : nullptr;
                if (spec && spec->layout) {
                    out.source = LayoutSource::Explicit;
                    out.layout = spec->layout;
                } else if (solved && !spec && slot < meaning.solution->natural.size()) {
                    out.layout = meaning.solution->natural[slot];
                    out.source = out.layout ? LayoutSource::Inferred : LayoutSource::Unknown;
                }
                setValue(node, output, {out.source, out.layout});
            }
            meaning.outputs.push_back(std::move(out));
        }
    }

    const MeaningInput& m_in;
    const GraphIndex& m_graph;
    MeaningCache::Impl& m_cache;
    const Completion* m_basis;  ///< Null: everything is to be worked out.
    NodeEditor m_nodes;
    ValueEditor m_values;
    Agenda m_agenda;
    std::map<int, DeviceGroup> m_stages;
    Meaning m_meaning;  ///< Problems and redone nodes so far.
};

MeaningRun::MeaningRun(const MeaningInput& input, MeaningCache& cache)
    : m_solver(std::make_unique<MeaningSolver>(input, cache)) {}
MeaningRun::~MeaningRun() = default;

void MeaningRun::workOut(std::size_t most, const CancelToken& cancel) {
    m_solver->workOut(most, cancel);
}

void MeaningRun::workOut(std::span<const NodeId> nodes, const CancelToken& cancel) {
    m_solver->workOut(nodes, cancel);
}

bool MeaningRun::isDone() const {
    return m_solver->isDone();
}

Meaning MeaningRun::soFar() {
    return m_solver->soFar();
}

Meaning MeaningRun::finish(const CancelToken& cancel) {
    return m_solver->finish(cancel);
}

Meaning completeMeaning(const MeaningInput& input, MeaningCache& cache, const CancelToken& cancel) {
    return MeaningRun(input, cache).finish(cancel);
}

}  // namespace shardwright
