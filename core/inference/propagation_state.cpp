// SPDX-License-Identifier: Apache-2.0
#include "inference/propagation_state.h"

#include <algorithm>
#include <set>

namespace shardwright {

namespace {

constexpr std::uint8_t kPassThrough = 1, kSeveralUses = 2, kBroadcast = 4;

}  // namespace

PropagationState::PropagationState(const MeaningInput& input, PropagationOptions options)
    : m_in(input), m_options(std::move(options)), m_space(input.configuration->mesh) {
    const std::set<int> priorities(m_options.axisPriorities.begin(),
                                   m_options.axisPriorities.end());
    m_priorities.assign(priorities.begin(), priorities.end());
    if (m_priorities.empty())
        m_priorities.push_back(0);
    m_steps = m_options.policy.bySteps ? 5 : 1;
    values.resize(graph().values.size());
    m_pins.resize(graph().nodes.size());
    for (const ValueInfo& value : graph().values)
        if (value.graph == graph().main().id)
            values[value.id.index()].initial = initialOf(value.id);
    for (const NodeId id : graph().main().order)
        for (const ValueId value : graph().node(id).captures)
            m_capturers[value].push_back(id);
    splitShared();
    listSlots();
    classify();
}

void PropagationState::listSlots() {
    m_hasPins.assign(graph().nodes.size(), false);
    m_firstSlot.assign(1, 0);
    for (const NodeInfo& node : graph().nodes) {
        const bool main = node.graph == graph().main().id;
        const Rule& r = rule(node.id);
        const auto add = [&](ValueId place) {
            m_slots.push_back(place && values[place.index()].initial >= 0 ? place : ValueId());
        };
        for (std::size_t i = 0; main && i < r.inputs.size(); ++i)
            add(i < inputCount(node) ? placeAt(node.id, i) : ValueId());
        for (std::size_t o = 0; main && o < r.outputs.size(); ++o)
            add(o < node.outputs.size() ? node.outputs[o] : ValueId());
        m_firstSlot.push_back(m_slots.size());
    }
}

bool PropagationState::sharedConstant(const ValueInfo& value) const {
    return value.kind == ValueKind::Initializer && readers(value.id) > 1 &&
           shapes().of(value.id).dims.size() <= 1;
}

std::size_t PropagationState::readers(ValueId value) const {
    const auto inside = m_capturers.find(value);
    return graph().value(value).uses.size() +
           (inside != m_capturers.end() ? inside->second.size() : 0);
}

void PropagationState::splitShared() {
    m_useAt.resize(graph().nodes.size());
    for (const NodeId id : graph().main().order) {
        const NodeInfo& node = graph().node(id);
        for (std::size_t slot = 0; slot < inputCount(node); ++slot) {
            const ValueId value = inputAt(node, slot);
            if (!value || !sharedConstant(graph().value(value)))
                continue;
            // A node reads a tensor in one way, in however many slots.
            const auto& known = m_useAt[id.index()];
            const auto same = std::find_if(known.begin(), known.end(), [&](const auto& use) {
                return inputAt(node, use.first) == value;
            });
            if (same != known.end()) {
                m_useAt[id.index()].emplace_back(slot, same->second);
                continue;
            }
            m_useAt[id.index()].emplace_back(slot, ValueId(values.size()));
            m_uses.push_back({id, value});
            values.push_back(values[value.index()]);
        }
    }
}

ValueId PropagationState::placeAt(NodeId node, std::size_t input) const {
    for (const auto& [slot, place] : m_useAt[node.index()])
        if (slot == input)
            return place;
    return inputAt(graph().node(node), input);
}

ValueId PropagationState::valueOf(ValueId place) const {
    const std::size_t count = graph().values.size();
    return place.index() < count ? place : m_uses[place.index() - count].value;
}

void PropagationState::classify() {
    m_active.assign(graph().nodes.size(), false);
    m_class.assign(graph().nodes.size(), 0);
    for (const NodeId id : graph().main().order) {
        const Rule& r = rule(id);
        m_active[id.index()] =
            r.known && !r.everywhereOutputs && !(m_options.policy.strictOnly && !r.strict);
        std::uint8_t& mine = m_class[id.index()];
        if (r.travel.passThrough)
            mine |= kPassThrough;
        if (r.travel.backwardFirst)
            mine |= kBroadcast;
        for (const ValueId value : graph().node(id).inputs)
            if (value && readers(value) > 1 && !shapes().of(value).dims.empty() &&
                !sharedConstant(graph().value(value)))
                mine |= kSeveralUses;
    }
}

StepMode PropagationState::modeIn(NodeId node, int phase) const {
    if (!m_options.policy.bySteps)
        return StepMode::All;
    const int step = phase % m_steps + 1;
    const std::uint8_t mine = m_class[node.index()];
    if ((mine & kPassThrough) != 0 && (step >= 2 || (mine & kSeveralUses) == 0))
        return StepMode::All;
    if (step < 3)
        return StepMode::None;
    const bool broadcast = (mine & kBroadcast) != 0;
    if (step == 3)
        return broadcast ? StepMode::ReverseParallel : StepMode::ParallelFactors;
    return step == 4 && broadcast ? StepMode::ReverseOnly : StepMode::All;
}

int PropagationState::Value::before(std::int64_t time) const {
    const auto it = std::lower_bound(events.begin(), events.end(), time,
                                     [](const AxisEvent& e, std::int64_t t) { return e.time < t; });
    return it == events.begin() ? initial : std::prev(it)->sharding;
}

int PropagationState::intern(AxisSharding sharding) {
    const bool isSplit = sharding.split();
    const int id = m_shardings.intern(std::move(sharding));
    if (static_cast<std::size_t>(id) == m_split.size())
        m_split.push_back(isSplit);
    return id;
}

int PropagationState::openOfRank(std::size_t rank) {
    while (m_open.size() <= rank)
        m_open.push_back(intern(AxisSharding::openOfRank(m_open.size())));
    return m_open[rank];
}

int PropagationState::ofLayout(const LayoutRef& layout) {
    const auto it = m_ofLayout.find(layout.get());
    if (it != m_ofLayout.end())
        return it->second.second;
    const int id = intern(m_space.fromLayout(*layout));
    m_ofLayout.emplace(layout.get(), std::pair(layout, id));
    return id;
}

int PropagationState::initialOf(ValueId value) const {
    const TensorInfo& info = shapes().of(value);
    const bool tensor = info.kind == TensorInfo::Kind::Tensor && info.hasRank;
    return tensor ? const_cast<PropagationState*>(this)->openOfRank(info.dims.size()) : -1;
}

int PropagationState::pin(NodeId node, int slot) const {
    for (const auto& [at, id] : m_pins[node.index()])
        if (at == slot)
            return id;
    return -1;
}

bool PropagationState::readSpecs(NodeId node, const NodeSpecs* specs,
                                 std::vector<ValueId>& restarted) {
    const NodeInfo& info = graph().node(node);
    const auto explicitOf = [&](ValueId value) {
        const DecodedSpec* spec = value && specs ? specs->find(graph().value(value).name) : nullptr;
        if (!spec || !spec->layout || initialOf(value) < 0 ||
            spec->layout->shape().size() != shapes().of(value).dims.size())
            return -1;
        return ofLayout(spec->layout);
    };
    Pins pins;
    for (std::size_t i = 0; i < info.inputs.size(); ++i)
        if (const int id = explicitOf(info.inputs[i]); id >= 0)
            pins.emplace_back(static_cast<int>(i), id);
    const bool changed = pins != m_pins[node.index()];
    m_hasPins[node.index()] = !pins.empty();
    m_pins[node.index()] = std::move(pins);
    for (const ValueId output : info.outputs) {
        if (!output || graph().value(output).producer != node)
            continue;
        const int said = explicitOf(output);
        const int initial = said >= 0 ? said : initialOf(output);
        if (initial != values[output.index()].initial) {
            values[output.index()].initial = initial;
            restarted.push_back(output);
        }
    }
    return changed;
}

std::vector<NodeId> PropagationState::nodesAt(ValueId value) const {
    std::vector<NodeId> nodes;
    if (value.index() >= graph().values.size()) {
        const NodeId node = m_uses[value.index() - graph().values.size()].node;
        return active(node) ? std::vector{node} : nodes;
    }
    const ValueInfo& info = graph().value(value);
    if (info.producer)
        nodes.push_back(info.producer);
    for (const ValueUse& use : info.uses)
        if (nodes.empty() || nodes.back() != use.node)
            nodes.push_back(use.node);
    if (const auto inside = m_capturers.find(value); inside != m_capturers.end())
        for (const NodeId node : inside->second)
            if (std::find(nodes.begin(), nodes.end(), node) == nodes.end())
                nodes.push_back(node);
    std::erase_if(nodes, [&](NodeId node) { return !active(node); });
    return nodes;
}

std::vector<ValueId> PropagationState::valuesAt(NodeId node) const {
    std::vector<ValueId> result;
    const NodeInfo& info = graph().node(node);
    const auto add = [&](ValueId value) {
        if (value && values[value.index()].initial >= 0 &&
            std::find(result.begin(), result.end(), value) == result.end())
            result.push_back(value);
    };
    for (std::size_t slot = 0; slot < inputCount(info); ++slot)
        add(placeAt(node, slot));
    for (const ValueId output : info.outputs)
        add(output);
    return result;
}

std::size_t PropagationState::KeyHash::operator()(const Key& key) const {
    std::size_t h = std::hash<const void*>{}(key.rule);
    const auto mix = [&h](int v) {
        h ^= static_cast<std::size_t>(v) + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
    };
    mix(static_cast<int>(key.mode));
    mix(key.priority);
    for (const int id : key.ids)
        mix(id);
    return h;
}

const std::vector<int>& PropagationState::step(const Key& key) {
    const auto known = m_stepped.find(key);
    if (known != m_stepped.end())
        return known->second;
    StepOptions options;
    options.policy = &m_options.policy;
    options.direction = m_options.direction;
    options.mode = key.mode;
    options.space = &m_space;
    options.priorities = &m_options.axisPriorities;
    options.priority = key.priority;
    // A copy: interning may move what is pointed to no more than the map, but the key is scratch.
    NodeShardings tensors;
    for (const int id : key.ids)
        tensors.push_back(id < 0 ? nullptr : &m_shardings.of(id));
    std::vector<int> next(key.ids.size(), -1);
    auto changed = propagateNode(*key.rule, tensors, options);
    for (std::size_t t = 0; t < changed.size(); ++t)
        if (changed[t])
            next[t] = intern(std::move(*changed[t]));
    return m_stepped.emplace(key, std::move(next)).first->second;
}

int PropagationState::join(int sharding, int more) {
    if (sharding == more)
        return sharding;
    const std::int64_t key = (static_cast<std::int64_t>(sharding) << 32) | more;
    const auto known = m_joined.find(key);
    if (known != m_joined.end())
        return known->second;
    AxisSharding result = m_shardings.of(sharding);
    const AxisSharding& other = m_shardings.of(more);
    for (std::size_t d = 0; d < result.dims.size() && d < other.dims.size(); ++d) {
        DimAxes& dim = result.dims[d];
        const bool simple = dim.parts.size() <= 1 && other.dims[d].parts.size() <= 1;
        if (!dim.open || !other.dims[d].split() ||
            !(dim.split()
                  ? simple && prefixOrder(dim.all(), other.dims[d].all()) == PrefixOrder::Strict
                  : true))
            continue;
        AxisSharding next = result;
        next.dims[d].parts = other.dims[d].parts;
        const AxisList all = next.all();
        const bool onePlacement = std::all_of(all.begin(), all.end(), [&](const AxisRef& axis) {
            return m_space.placementOf(axis.axis) == m_space.placementOf(all.front().axis);
        });
        if (next.axesOnce() && onePlacement)
            result = std::move(next);
    }
    const int id = intern(std::move(result));
    m_joined.emplace(key, id);
    return id;
}

}  // namespace shardwright
