// SPDX-License-Identifier: Apache-2.0
#include "inference/meaning.h"

#include "inference/solve.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>

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
        const auto mix = [&h](std::size_t v) { h ^= v + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2); };
        for (const DeviceId d : key.devices)
            mix(static_cast<std::size_t>(d));
        for (const Layout* layout : key.inputs)
            mix(std::hash<const void*>{}(layout));
        return h;
    }
};

struct CachedSolution {
    RulePtr rule;                   // Keep what the key points to alive.
    std::vector<LayoutRef> inputs;
    std::shared_ptr<const NodeSolution> solution;
};

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
};

MeaningCache::MeaningCache() : m_impl(std::make_unique<Impl>()) {}
MeaningCache::~MeaningCache() = default;
LayoutPool& MeaningCache::pool() { return m_impl->pool; }

/// One completion: walks the main graph in topological order and gives every slot its layout.
class MeaningSolver {
public:
    MeaningSolver(const MeaningInput& input, MeaningCache& cache)
        : m_in(input), m_graph(input.model->graph()), m_cache(*cache.m_impl) {}

    Meaning run(const CancelToken& cancel) {
        m_meaning.nodes.resize(m_graph.nodes.size());
        m_meaning.values.resize(m_graph.values.size());
        for (const ValueInfo& value : m_graph.values)
            if (value.graph == m_graph.main().id &&
                (value.kind == ValueKind::GraphInput || value.kind == ValueKind::Initializer))
                m_meaning.values[value.id.index()].source = LayoutSource::Everywhere;
        bindStages();
        std::size_t done = 0;
        for (const NodeId node : m_graph.main().order) {
            if ((++done & 0xff) == 0 && cancel.cancelled())
                break;
            complete(m_graph.node(node));
        }
        return std::move(m_meaning);
    }

private:
    /// Stages without devices of their own in the metadata run on the union of their nodes' explicit specs.
    void bindStages() {
        for (const NodeId node : m_graph.main().nodes) {
            const NodeSpecs* specs = specsOf(node);
            if (!specs || specs->stage < 0)
                continue;
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

    std::vector<Arrival> arrivals(const NodeInfo& node, const Rule& rule, const NodeSpecs* specs) const {
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
    DeviceGroup devicesOf(const NodeInfo& node, const std::vector<Arrival>& inputs, const NodeSpecs* specs) const {
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
                if (const DecodedSpec* spec = output ? specs->find(m_graph.value(output).name) : nullptr;
                    spec && spec->layout)
                    unite(devices, spec->layout->devices());
        if (!devices.empty())
            return devices;
        for (const Arrival& a : inputs)
            if (a.present && !a.shapeOnly && m_meaning.values[a.value.index()].layout)
                unite(devices, m_meaning.values[a.value.index()].layout->devices());
        return devices;
    }

    void complete(const NodeInfo& node) {
        const RulePtr& rule = m_in.rules->of(node.id);
        const NodeSpecs* specs = specsOf(node.id);
        NodeMeaning& meaning = m_meaning.nodes[node.id.index()];
        const auto inputs = arrivals(node, *rule, specs);
        if (rule->everywhereOutputs) {
            everywhere(node, inputs, meaning);
            return;
        }
        const DeviceGroup devices = devicesOf(node, inputs, specs);
        bool known = true;
        for (const Arrival& a : inputs)
            known = known && (!a.present || a.shapeOnly || m_meaning.values[a.value.index()].source != LayoutSource::Unknown ||
                              (a.spec && a.spec->layout)) &&
                    !(a.spec && !a.spec->layout && !a.shapeOnly);
        if (devices.empty() && known) {
            everywhere(node, inputs, meaning);
            return;
        }
        known = fillInputs(node, inputs, devices, stageOf(specs), meaning) && known && !devices.empty();
        if (known)
            meaning.solution = solve(node, rule, devices, meaning);
        fillOutputs(node, specs, meaning);
    }

    void everywhere(const NodeInfo& node, const std::vector<Arrival>& inputs, NodeMeaning& meaning) {
        meaning.everywhere = true;
        for (const Arrival& a : inputs) {
            SlotMeaning slot;
            if (a.present) {
                const ValueMeaning& value = m_meaning.values[a.value.index()];
                slot.source = value.source == LayoutSource::Explicit ? LayoutSource::Inferred : value.source;
                slot.layout = slot.arrives = value.layout;
            }
            meaning.inputs.push_back(std::move(slot));
        }
        for (const ValueId output : node.outputs) {
            SlotMeaning slot;
            slot.source = LayoutSource::Everywhere;
            meaning.outputs.push_back(slot);
            if (output)
                m_meaning.values[output.index()].source = LayoutSource::Everywhere;
        }
    }

    /// False: the node gets no meaning (an input is unknown or cannot be moved).
    bool fillInputs(const NodeInfo& node, const std::vector<Arrival>& inputs, const DeviceGroup& devices,
                    const DeviceGroup& stage, NodeMeaning& meaning) {
        bool known = true;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const Arrival& a = inputs[i];
            SlotMeaning slot;
            if (!a.present) {
                meaning.inputs.push_back(slot);
                continue;
            }
            const ValueMeaning& value = m_meaning.values[a.value.index()];
            slot.arrives = value.layout;
            if (a.spec) {
                slot.source = a.spec->layout ? LayoutSource::Explicit : LayoutSource::Unknown;
                slot.layout = a.spec->layout;
                // The decoder has told of a spec outside its stage: no second message.
                known = known && (!slot.layout || stage.empty() || isWithin(slot.layout->devices(), stage));
            } else {
                slot.source = value.source == LayoutSource::Explicit ? LayoutSource::Inferred : value.source;
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
            complete = !restricted.groups()[static_cast<std::size_t>(shard)].empty() || restricted.shardBox(shard).empty();
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

    std::shared_ptr<const NodeSolution> solve(const NodeInfo& node, const RulePtr& rule, const DeviceGroup& devices,
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
            auto solution =
                std::make_shared<const NodeSolution>(solveNode(rule, devices, layouts, outputs, m_cache.pool));
            it = m_cache.solutions.emplace(std::move(key), CachedSolution{rule, layouts, std::move(solution)}).first;
        }
        for (MeaningProblem problem : it->second.solution->problems) {
            problem.node = node.id;
            m_meaning.problems.push_back(problem);
        }
        return it->second.solution;
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
                // A value that two nodes produce keeps the first.
                if (m_graph.value(output).producer == node.id)
                    m_meaning.values[output.index()] = {out.source, out.layout};
            }
            meaning.outputs.push_back(std::move(out));
        }
    }

    const MeaningInput& m_in;
    const GraphIndex& m_graph;
    MeaningCache::Impl& m_cache;
    std::map<int, DeviceGroup> m_stages;
    Meaning m_meaning;
};

Meaning completeMeaning(const MeaningInput& input, MeaningCache& cache, const CancelToken& cancel) {
    return MeaningSolver(input, cache).run(cancel);
}

}  // namespace shardwright
