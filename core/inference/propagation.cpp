// SPDX-License-Identifier: Apache-2.0
//
// The rounds. Time is (phase, round); a phase is one operator step of one priority and ends when
// no node adds anything. In round 0 of a phase every node looks that may do more than in the one
// before, later those next to a value that changed in the round before.
//
// An update replays time. "Differing" values are those whose state differs from the old one at the
// same time; only nodes next to them can act differently, so only values next to these nodes (the
// watched ones) have to be computed again, from all nodes around them (the rim). Everything else
// keeps its history, and its events tell the rim when to look.

#include "inference/propagation.h"

#include "inference/propagation_state.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

namespace shardwright {

namespace {

using State = PropagationState;

/// Applies proposals in order. `current` is changed in place through `set`.
template <class Get, class Add>
void apply(State& state, std::vector<AxisProposal>& proposals, const Get& startOf, const Add& add) {
    std::stable_sort(proposals.begin(), proposals.end(),
                     [](const AxisProposal& a, const AxisProposal& b) { return a.node < b.node; });
    for (const AxisProposal& p : proposals) {
        const int now = state.values[p.value.index()].last();
        const int next = now == startOf(p.value) ? p.sharding : state.join(now, p.sharding);
        if (next != now)
            add(p.value, next, p.node);
    }
}

class FullRun {
public:
    explicit FullRun(State& state) : m_state(state), m_queued(state.graph().nodes.size(), -1) {}

    void run(const CancelToken& cancel) {
        for (int phase = 0; phase < m_state.phases(); ++phase) {
            std::vector<NodeId> due;
            for (const NodeId node : m_state.graph().main().order)
                if (m_state.beginsIn(node, phase))
                    due.push_back(node);
            for (std::int64_t time = phase * State::kPhase; !due.empty() && !cancel.cancelled();
                 ++time)
                due = round(time, phase, std::move(due));
        }
    }

private:
    std::vector<NodeId> round(std::int64_t time, int phase, std::vector<NodeId> due) {
        std::vector<AxisProposal> proposals;
        for (const NodeId node : due)
            m_state.propose(
                node, phase, [&](ValueId v) { return m_state.values[v.index()].last(); },
                proposals);
        std::unordered_map<ValueId, int> start;
        for (const AxisProposal& p : proposals)
            start.emplace(p.value, m_state.values[p.value.index()].last());
        std::vector<NodeId> next;
        apply(
            m_state, proposals, [&](ValueId v) { return start.at(v); },
            [&](ValueId v, int sharding, NodeId node) {
                m_state.values[v.index()].events.push_back({time, sharding, node});
                for (const NodeId other : m_state.nodesAt(v)) {
                    if (m_queued[other.index()] == time)
                        continue;
                    m_queued[other.index()] = time;
                    next.push_back(other);
                }
            });
        return next;
    }

    State& m_state;
    std::vector<std::int64_t> m_queued;
};

class Replay {
public:
    explicit Replay(State& state)
        : m_state(state), m_rim(state.graph().nodes.size(), false),
          m_hot(state.graph().nodes.size(), false), m_scheduled(state.values.size(), false) {}

    void run(const std::vector<ValueId>& restarted, const std::vector<int>& oldInitial,
             const std::vector<NodeId>& repinned) {
        for (std::size_t i = 0; i < restarted.size(); ++i) {
            watch(restarted[i], 0);
            m_watched[restarted[i]].nowOld = oldInitial[i];
            m_watched[restarted[i]].differed = true;
        }
        for (const ValueId value : restarted)
            for (const NodeId node : m_state.nodesAt(value))
                heat(node, 0);
        for (const NodeId node : repinned)
            heat(node, 0);
        for (int phase = 0; phase < m_state.phases(); ++phase)
            replay(phase);
    }

private:
    struct Watched {
        std::vector<AxisEvent> old;
        std::size_t position = 0;  ///< Of the next old event.
        int nowOld = -1;
        bool differed = false;
    };

    void replay(int phase) {
        std::int64_t time = phase * State::kPhase;
        m_due.assign(m_rimNodes.begin(), m_rimNodes.end());
        const std::int64_t end = time + State::kPhase;
        while (true) {
            round(time, phase);
            if (!m_due.empty()) {
                ++time;
                continue;
            }
            while (!m_times.empty() && m_times.top().first <= time)
                m_times.pop();
            if (m_times.empty() || m_times.top().first >= end)
                return;
            time = m_times.top().first;
        }
    }

    void round(std::int64_t time, int phase) {
        std::vector<NodeId> due = std::exchange(m_due, {});
        std::sort(due.begin(), due.end());
        due.erase(std::unique(due.begin(), due.end()), due.end());
        std::vector<AxisProposal> proposals;
        const auto stateOf = [&](ValueId v) { return m_state.values[v.index()].before(time); };
        for (const NodeId node : due)
            m_state.propose(node, phase, stateOf, proposals);
        std::erase_if(proposals,
                      [&](const AxisProposal& p) { return !m_watched.contains(p.value); });
        std::vector<ValueId> moved;
        apply(m_state, proposals, stateOf, [&](ValueId v, int sharding, NodeId node) {
            m_state.values[v.index()].events.push_back({time, sharding, node});
            moved.push_back(v);
        });
        while (!m_times.empty() && m_times.top().first <= time) {
            moved.push_back(m_times.top().second);
            m_times.pop();
        }
        std::sort(moved.begin(), moved.end());
        moved.erase(std::unique(moved.begin(), moved.end()), moved.end());
        for (const ValueId value : moved)
            for (const NodeId node : m_state.nodesAt(value))
                if (m_rim[node.index()])
                    m_due.push_back(node);
        for (const ValueId value : moved)
            compare(value, time);
    }

    /// Follows the old history of a watched value to the end of the round.
    void compare(ValueId value, std::int64_t time) {
        const auto it = m_watched.find(value);
        if (it == m_watched.end())
            return;
        Watched& mine = it->second;
        while (mine.position < mine.old.size() && mine.old[mine.position].time <= time)
            mine.nowOld = mine.old[mine.position++].sharding;
        if (mine.differed || mine.nowOld == m_state.values[value.index()].last())
            return;
        mine.differed = true;
        for (const NodeId node : m_state.nodesAt(value))
            heat(node, time + 1);
    }

    /// The node may act differently from this time on.
    void heat(NodeId node, std::int64_t time) {
        if (m_hot[node.index()])
            return;
        m_hot[node.index()] = true;
        for (const ValueId value : m_state.valuesAt(node))
            watch(value, time);
        join(node, time);
    }

    void watch(ValueId value, std::int64_t time) {
        if (m_watched.contains(value))
            return;
        State::Value& now = m_state.values[value.index()];
        Watched& mine = m_watched[value];
        mine.nowOld = now.before(time);
        const auto from =
            std::lower_bound(now.events.begin(), now.events.end(), time,
                             [](const AxisEvent& e, std::int64_t t) { return e.time < t; });
        mine.old.assign(from, now.events.end());
        now.events.erase(from, now.events.end());
        for (const AxisEvent& event : mine.old)
            m_times.emplace(event.time, value);
        for (const NodeId node : m_state.nodesAt(value))
            join(node, time);
    }

    void join(NodeId node, std::int64_t time) {
        if (m_rim[node.index()] || !m_state.active(node))
            return;
        m_rim[node.index()] = true;
        m_rimNodes.push_back(node);
        m_due.push_back(node);
        for (const ValueId value : m_state.valuesAt(node)) {
            if (m_scheduled[value.index()])
                continue;
            m_scheduled[value.index()] = true;
            for (const AxisEvent& event : m_state.values[value.index()].events)
                if (event.time >= time)
                    m_times.emplace(event.time, value);
        }
    }

    State& m_state;
    std::unordered_map<ValueId, Watched> m_watched;
    std::vector<bool> m_rim, m_hot;
    std::vector<NodeId> m_rimNodes;
    std::vector<bool> m_scheduled;  ///< By value: its old events are in m_times.
    std::vector<NodeId> m_due;
    using Time = std::pair<std::int64_t, ValueId>;
    std::priority_queue<Time, std::vector<Time>, std::greater<>> m_times;
};

}  // namespace

Propagator::Propagator(const MeaningInput& input, PropagationOptions options)
    : m_impl(std::make_unique<Impl>(input, std::move(options))) {}
Propagator::~Propagator() = default;
Propagator::Propagator(Propagator&&) noexcept = default;

namespace {

const NodeSpecs* specsOf(const DecodedAnnotations& annotations, NodeId node) {
    return node.index() < annotations.nodes.size() ? annotations.nodes[node.index()].get()
                                                   : nullptr;
}

}  // namespace

void Propagator::run(const DecodedAnnotations& annotations, const CancelToken& cancel) {
    State& state = m_impl->state;
    m_impl->origins.clear();
    state.evaluations = 0;
    std::vector<ValueId> restarted;
    for (const NodeId node : state.graph().main().nodes)
        state.readSpecs(node, specsOf(annotations, node), restarted);
    for (State::Value& value : state.values)
        value.events.clear();
    FullRun(state).run(cancel);
}

void Propagator::update(const DecodedAnnotations& annotations, std::span<const NodeId> changed) {
    State& state = m_impl->state;
    m_impl->origins.clear();
    state.evaluations = 0;
    std::vector<ValueId> restarted;
    std::vector<int> before;
    std::vector<NodeId> repinned;
    for (const NodeId node : changed) {
        std::vector<std::pair<ValueId, int>> old;
        for (const ValueId output : state.graph().node(node).outputs)
            if (output)
                old.emplace_back(output, state.values[output.index()].initial);
        std::vector<ValueId> mine;
        if (state.readSpecs(node, specsOf(annotations, node), mine) && state.active(node))
            repinned.push_back(node);
        for (const ValueId value : mine) {
            restarted.push_back(value);
            before.push_back(std::find_if(old.begin(), old.end(), [&](const auto& o) {
                                 return o.first == value;
                             })->second);
        }
    }
    Replay(state).run(restarted, before, repinned);
}

const PropagationOptions& Propagator::options() const {
    return m_impl->state.options();
}
const AxisSpace& Propagator::space() const {
    return m_impl->state.space();
}
std::size_t Propagator::evaluations() const {
    return m_impl->state.evaluations;
}

const AxisSharding* Propagator::of(ValueId value) const {
    const State& state = m_impl->state;
    if (!value || state.values[value.index()].initial < 0)
        return nullptr;
    return &state.sharding(state.values[value.index()].last());
}

const AxisSharding* Propagator::of(NodeSlot slot) const {
    const State& state = m_impl->state;
    const NodeInfo& node = state.graph().node(slot.node);
    const std::size_t count =
        slot.output ? node.outputs.size() : node.inputs.size() + node.captures.size();
    if (slot.slot < 0 || static_cast<std::size_t>(slot.slot) >= count)
        return nullptr;
    const auto index = static_cast<std::size_t>(slot.slot);
    const int pin = slot.output ? -1 : state.pin(slot.node, slot.slot);
    return pin >= 0 ? &state.sharding(pin)
                    : of(slot.output ? node.outputs[index] : state.placeAt(slot.node, index));
}

bool Propagator::isExplicit(NodeSlot slot) const {
    const State& state = m_impl->state;
    if (!slot.output)
        return state.pin(slot.node, slot.slot) >= 0;
    const NodeInfo& node = state.graph().node(slot.node);
    const ValueId value = node.outputs[static_cast<std::size_t>(slot.slot)];
    return value && state.values[value.index()].initial >= 0 &&
           state.values[value.index()].initial != state.initialOf(value);
}

std::vector<const AxisSharding*> Propagator::tensorsOf(NodeId node) const {
    const Rule& rule = m_impl->state.rule(node);
    std::vector<const AxisSharding*> result;
    for (std::size_t i = 0; i < rule.inputs.size(); ++i)
        result.push_back(of({node, false, static_cast<int>(i)}));
    for (std::size_t o = 0; o < rule.outputs.size(); ++o)
        result.push_back(of({node, true, static_cast<int>(o)}));
    return result;
}

std::string Propagator::historyOf(ValueId value) const {
    const State& state = m_impl->state;
    const State::Value& mine = state.values[value.index()];
    if (mine.initial < 0)
        return "unknown";
    const auto text = [&](int id) {
        std::string result = "[";
        for (const DimAxes& dim : state.sharding(id).dims) {
            for (const AxisPart& part : dim.parts)
                result += std::to_string(part.size) + "/" + state.space().text(part.axes) + " ";
            result += dim.open ? "?," : ",";
        }
        return result + "]";
    };
    std::string result = text(mine.initial);
    for (const AxisEvent& event : mine.events)
        result += " " + std::to_string(event.time) + "@" + std::to_string(event.node.value) +
                  text(event.sharding);
    return result;
}

}  // namespace shardwright
