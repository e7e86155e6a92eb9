// SPDX-License-Identifier: Apache-2.0
//
// Where axes came from. The history of a value says at which node it got an axis and when; the
// tensor of that node that had the axis before is one step back, until an annotation is reached.

#include "inference/propagation.h"

#include "inference/propagation_state.h"

#include <algorithm>

namespace shardwright {

using State = PropagationState;

namespace {

bool hasAxis(const AxisSharding& sharding, const AxisRef& axis) {
    return overlaps(axis, sharding.all());
}

/// Whether `from` has the axis on a factor on which `to` has it.
bool sameFactor(const Rule& rule, const TensorMap& from, const AxisSharding& source,
                const TensorMap& to, const AxisSharding& target, const AxisRef& axis) {
    const FactorRow a = projectToFactors(rule, from, source),
                    b = projectToFactors(rule, to, target);
    for (std::size_t f = 0; a.taking && b.taking && f < rule.factors.size(); ++f)
        if (overlaps(axis, a.factors[f].axes) && overlaps(axis, b.factors[f].axes))
            return true;
    return false;
}

/// How (a part of) the axis came to the place: the first event that brought it, and the tensor of
/// that node that had it on the same factor before. nullopt: the place has no such axis.
std::optional<AxisStep> stepBack(const State& state, ValueId place, const AxisRef& axis) {
    const State::Value& mine = state.values[place.index()];
    if (mine.initial < 0)
        return std::nullopt;
    AxisStep step;
    if (hasAxis(state.sharding(mine.initial), axis)) {
        step.explicitHere = true;
        return step;
    }
    const auto event =
        std::find_if(mine.events.begin(), mine.events.end(),
                     [&](const AxisEvent& e) { return hasAxis(state.sharding(e.sharding), axis); });
    if (event == mine.events.end())
        return std::nullopt;
    step.node = event->node;
    const NodeInfo& node = state.graph().node(event->node);
    const Rule& rule = state.rule(event->node);
    const std::size_t inputs = rule.inputs.size(), count = inputs + rule.outputs.size();
    const auto mapOf = [&](std::size_t t) -> const TensorMap& {
        return t < inputs ? rule.inputs[t] : rule.outputs[t - inputs];
    };
    const auto placeOf = [&](std::size_t t) {
        if (t >= inputs)
            return t - inputs < node.outputs.size() ? node.outputs[t - inputs] : ValueId();
        return t < node.inputs.size() + node.captures.size() ? state.placeAt(event->node, t)
                                                             : ValueId();
    };
    const auto pinOf = [&](std::size_t t) {
        return t < inputs ? state.pin(event->node, static_cast<int>(t)) : -1;
    };
    for (std::size_t t = 0; t < count; ++t) {
        const ValueId other = placeOf(t);
        const int pin = pinOf(t);
        if (!other || (pin < 0 && (other == place || state.values[other.index()].initial < 0)))
            continue;
        const AxisSharding& theirs =
            state.sharding(pin >= 0 ? pin : state.values[other.index()].before(event->time));
        if (!hasAxis(theirs, axis))
            continue;
        bool carries = pin >= 0 && other == place;  // What a consumer is said to read.
        for (std::size_t u = 0; u < count && !carries; ++u)
            carries =
                placeOf(u) == place && pinOf(u) < 0 &&
                sameFactor(rule, mapOf(t), theirs, mapOf(u), state.sharding(event->sharding), axis);
        if (!carries)
            continue;
        step.pinned = pin >= 0;
        step.from = {event->node, t >= inputs, static_cast<int>(t < inputs ? t : t - inputs)};
        step.source = other;
        return step;
    }
    return std::nullopt;
}

}  // namespace

std::optional<AxisOrigin> Propagator::originOf(NodeSlot slot, const AxisRef& axis) const {
    const State& state = m_impl->state;
    const NodeInfo& start = state.graph().node(slot.node);
    const auto index = static_cast<std::size_t>(slot.slot);
    const ValueId place = slot.output ? start.outputs[index] : state.placeAt(slot.node, index);
    // Back to the annotation, or to where the way is known; then forward again, remembering it.
    auto& known = m_impl->origins;
    std::vector<std::pair<ValueId, AxisStep>> way;
    std::optional<AxisOrigin> origin;
    for (ValueId at = place; !origin;) {
        const auto it = at ? known.find({at, axis}) : known.end();
        if (it != known.end()) {
            origin = it->second;
            break;
        }
        const auto step = at ? stepBack(state, at, axis) : std::nullopt;
        if (!step)
            return std::nullopt;
        if (step->explicitHere) {
            const ValueInfo& info = state.graph().value(state.valueOf(at));
            origin = AxisOrigin{{info.producer, true, info.producerSlot}, info.id, {}, 0};
            known[{at, axis}] = *origin;
            break;
        }
        way.emplace_back(at, *step);
        if (step->pinned)
            origin = AxisOrigin{step->from, state.valueOf(step->source), {}, 0};
        at = step->source;
    }
    constexpr std::size_t kEnd = 3;
    for (auto it = way.rbegin(); it != way.rend(); ++it) {
        if (origin->hops.size() == 2 * kEnd)
            origin->hops.erase(origin->hops.begin() + kEnd);
        origin->hops.push_back({it->second.node, it->second.from, state.valueOf(it->first)});
        ++origin->length;
        known[{it->first, axis}] = *origin;
    }
    return origin;
}

std::string Propagator::explain(const AxisOrigin& origin, const AxisRef& axis) const {
    const State& state = m_impl->state;
    const GraphIndex& graph = state.graph();
    const auto quoted = [](const std::string& name) { return "`" + name + "`"; };
    const auto nodeText = [&](NodeId node) {
        return std::string(graph.opType(node)) + " " + quoted(graph.label(node));
    };
    std::string text = "axis " + state.space().text(axis) + " is set on " +
                       quoted(graph.value(origin.value).name) + " at " +
                       nodeText(origin.annotation.node);
    for (std::size_t i = 0; i < origin.hops.size(); ++i) {
        if (origin.length > origin.hops.size() && i == origin.hops.size() / 2)
            text +=
                "; through " + std::to_string(origin.length - origin.hops.size()) + " more nodes";
        const AxisOrigin::Hop& hop = origin.hops[i];
        const bool same = graph.value(hop.to).name == graph.value(origin.value).name &&
                          origin.hops.size() == 1 && !hop.from.output &&
                          hop.from == origin.annotation;
        if (same)
            continue;
        const bool toOutput = graph.value(hop.to).producer == hop.node;
        const std::string way = hop.from.output ? "reverse" : toOutput ? "forward" : "sideways";
        text += "; " + way + " through " + nodeText(hop.node) + " (" + state.rule(hop.node).text() +
                ") to " + quoted(graph.value(hop.to).name);
    }
    return text;
}

}  // namespace shardwright
