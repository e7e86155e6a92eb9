// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inference/factor_propagation.h"
#include "inference/propagation.h"

#include <map>
#include <span>
#include <unordered_map>
#include <vector>

namespace shardwright {

/// Addition to a value. `time` orders them: phase, then round.
struct AxisEvent {
    std::int64_t time = 0;
    int sharding = 0;
    NodeId node;
    bool operator==(const AxisEvent&) const = default;
};

/// One step back on the way of an axis: how it came to a place.
struct AxisStep {
    bool explicitHere = false;  ///< Said of the value itself, by its producer.
    bool pinned = false;        ///< Said of the input of `node`.
    NodeId node;
    NodeSlot from;   ///< The tensor of the node that had it.
    ValueId source;  ///< Its place, where it is not pinned.
};

/// What one node wants to add to a value.
struct AxisProposal {
    ValueId value;
    int sharding = 0;
    NodeId node;
};

/// What the full run and the incremental one share: interned shardings, explicit specs, the
/// history of every value, and what a node adds in a given state (remembered).
class PropagationState {
public:
    PropagationState(const MeaningInput& input, PropagationOptions options);

    static constexpr std::int64_t kPhase = std::int64_t{1} << 40;
    int phases() const { return m_steps * static_cast<int>(m_priorities.size()); }

    const GraphIndex& graph() const { return m_in.model->graph(); }
    const Rule& rule(NodeId node) const { return *m_in.rules->of(node); }
    const ShapeTable& shapes() const { return *m_in.shapes; }
    const AxisSharding& sharding(int id) const { return m_shardings.of(id); }
    bool split(int id) const { return m_split[static_cast<std::size_t>(id)]; }
    const AxisSpace& space() const { return m_space; }
    const PropagationOptions& options() const { return m_options; }

    /// Whether propagation looks at the node at all, and in a phase.
    bool active(NodeId node) const { return m_active[node.index()]; }
    StepMode modeIn(NodeId node, int phase) const;
    /// Whether the node may do in the phase what it could not in the one before.
    bool beginsIn(NodeId node, int phase) const {
        return active(node) &&
               (phase % m_steps == 0 || modeIn(node, phase) != modeIn(node, phase - 1));
    }

    struct Value {
        int initial = -1;  ///< -1: unknown rank or not of the main graph.
        std::vector<AxisEvent> events;
        int last() const { return events.empty() ? initial : events.back().sharding; }
        int before(std::int64_t time) const;  ///< At the start of the round.
    };
    /// By place: a ValueId, or beyond those one use of a shared constant (placeAt).
    std::vector<Value> values;
    /// Where the state of a tensor at a node is kept: with its value; a vector or scalar of the
    /// file that several nodes read (exporters share equal biases) has a state a use, since it lies
    /// everywhere and nothing links the nodes.
    /// Inputs, and behind them what the bodies of the node read from outside.
    ValueId placeAt(NodeId node, std::size_t input) const;
    ValueId valueOf(ValueId place) const;

    /// Explicit input specs of a node: slot and sharding.
    using Pins = std::vector<std::pair<int, int>>;
    const Pins& pins(NodeId node) const { return m_pins[node.index()]; }
    int pin(NodeId node, int slot) const;  ///< -1: none.
    /// Reads the specs of a node: pins, and what its outputs start with. Gives whether the pins
    /// changed, and adds outputs with another start to `restarted`.
    bool readSpecs(NodeId node, const NodeSpecs* specs, std::vector<ValueId>& restarted);
    int initialOf(ValueId value) const;

    /// The nodes that read or produce a value, each once, and the values of a node.
    std::vector<NodeId> nodesAt(ValueId value) const;
    std::vector<ValueId> valuesAt(NodeId node) const;

    /// What the node adds in this phase when a value is in state `stateOf(value)`.
    template <class StateOf>
    void propose(NodeId node, int phase, const StateOf& stateOf, std::vector<AxisProposal>& into);
    /// The sharding with what `more` has beyond it, where nothing contradicts. Remembered.
    int join(int sharding, int more);
    std::size_t evaluations = 0;

private:
    struct Key {
        const Rule* rule = nullptr;
        StepMode mode = StepMode::None;
        int priority = 0;
        std::vector<int> ids;
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& key) const;
    };

    int intern(AxisSharding sharding);
    int ofLayout(const LayoutRef& layout);
    int openOfRank(std::size_t rank);
    void splitShared();
    /// What a node reads: input slots, then captures of its bodies. Invalid: omitted.
    ValueId inputAt(const NodeInfo& node, std::size_t slot) const {
        return slot < node.inputs.size() ? node.inputs[slot]
                                         : node.captures[slot - node.inputs.size()];
    }
    static std::size_t inputCount(const NodeInfo& node) {
        return node.inputs.size() + node.captures.size();
    }
    std::size_t readers(ValueId value) const;
    void listSlots();
    bool sharedConstant(const ValueInfo& value) const;
    void classify();
    const std::vector<int>& step(const Key& key);

    MeaningInput m_in;
    PropagationOptions m_options;
    AxisSpace m_space;
    AxisShardings m_shardings;
    std::vector<bool> m_split;  ///< By sharding.
    std::vector<int> m_priorities;
    int m_steps = 1;
    std::vector<bool> m_active;  ///< By node.
    std::vector<std::uint8_t> m_class;
    std::vector<Pins> m_pins;
    std::vector<bool> m_hasPins;  ///< By node.
    Pins m_noPins;
    /// The places of a node's slots, inputs first, as many as its rule has; invalid where there is
    /// no tensor of known rank. One array for all nodes: a run walks it in order.
    std::span<const ValueId> slotsOf(NodeId node) const {
        return std::span(m_slots).subspan(m_firstSlot[node.index()], m_firstSlot[node.index() + 1] -
                                                                         m_firstSlot[node.index()]);
    }
    std::unordered_map<ValueId, std::vector<NodeId>> m_capturers;  ///< Nodes whose bodies read it.
    std::vector<ValueId> m_slots;
    std::vector<std::size_t> m_firstSlot;
    struct Use {
        NodeId node;
        ValueId value;
    };
    std::vector<Use> m_uses;  ///< By place, from the number of values on.
    std::vector<std::vector<std::pair<std::size_t, ValueId>>> m_useAt;  ///< By node: slot, place.
    std::vector<int> m_open;                                            ///< By rank.
    std::unordered_map<const Layout*, std::pair<LayoutRef, int>> m_ofLayout;
    std::unordered_map<Key, std::vector<int>, KeyHash> m_stepped;  ///< By slot; -1: nothing new.
    std::unordered_map<std::int64_t, int> m_joined;
    Key m_key;  ///< Scratch.
};

template <class StateOf>
void PropagationState::propose(NodeId node, int phase, const StateOf& stateOf,
                               std::vector<AxisProposal>& into) {
    const StepMode mode = modeIn(node, phase);
    if (mode == StepMode::None || !active(node))
        return;
    ++evaluations;
    const std::span<const ValueId> places = slotsOf(node);
    m_key.ids.clear();
    bool any = false;
    for (const ValueId place : places) {
        const int id = place ? stateOf(place) : -1;
        any = any || (id >= 0 && split(id));
        m_key.ids.push_back(id);
    }
    const Pins& pinned = m_hasPins[node.index()] ? m_pins[node.index()] : m_noPins;
    for (const auto& [slot, id] : pinned)
        if (static_cast<std::size_t>(slot) < m_key.ids.size()) {
            m_key.ids[static_cast<std::size_t>(slot)] = id;
            any = any || split(id);
        }
    if (!any)
        return;
    m_key.rule = &rule(node);
    m_key.mode = mode;
    m_key.priority = m_priorities[static_cast<std::size_t>(phase / m_steps)];
    // What a consumer is said to read tells what the value is to be.
    if (m_options.direction != PropagationDirection::Forward && !m_options.policy.forwardOnly)
        for (const auto& [slot, id] : pinned) {
            const ValueId place = placeAt(node, static_cast<std::size_t>(slot));
            if (!split(id) || values[place.index()].initial < 0)
                continue;
            const int joined = join(stateOf(place), id);
            if (joined != stateOf(place))
                into.push_back({place, joined, node});
        }
    const std::vector<int>& next = step(m_key);
    for (std::size_t t = 0; t < next.size(); ++t)
        if (next[t] >= 0)
            into.push_back({places[t], next[t], node});
}

struct Propagator::Impl {
    PropagationState state;
    std::map<std::pair<ValueId, AxisRef>, AxisOrigin>
        origins;  ///< Those asked for since the last run.
    Impl(const MeaningInput& input, PropagationOptions options)
        : state(input, std::move(options)) {}
};

}  // namespace shardwright
