// SPDX-License-Identifier: Apache-2.0
//
// A conflict is priced by trying: for each assignment of axes to factors, every input is planned
// from where it lies to what the node would read, and the node's result to where it is declared;
// the bytes are those of the plans, and the time what comm/cost.h says of them on a profile.

#include "check/conflicts.h"

#include "comm/cost.h"
#include "comm/moved_bits.h"
#include "comm/reshard.h"
#include "inference/axis_assignment.h"
#include "inference/solve.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace shardwright {

ProposalSource sourceOf(const Propagator& propagator, TensorSlot slot, ValueId value, int dim,
                        const AxisRef& axis) {
    ProposalSource source{dim, axis, {}, {}};
    const NodeSlot at{slot.node, slot.output, slot.slot};
    std::optional<AxisOrigin> origin;
    if (propagator.isExplicit(at))
        origin = AxisOrigin{at, value, {}, 0};
    else
        origin = propagator.originOf(at, axis);
    // A reshard at the node may want an axis that its value does not have: some other tensor there
    // has.
    if (!origin) {
        source.words = "axis " + propagator.space().text(axis) + " is what the node computes by";
        return source;
    }
    source.annotation = {origin->annotation.node, origin->annotation.output,
                         origin->annotation.slot};
    source.words = propagator.explain(*origin, axis);
    return source;
}

namespace {

constexpr std::size_t kPriced = 64;
constexpr std::size_t kFixes = 3;

struct Disagreement {
    std::string message;
    struct Side {
        std::size_t tensor = 0;
        AxisRef axis;
    };
    std::vector<Side> sides;
};

class Finder {
public:
    Finder(const Analysis& analysis, const Propagator& propagator, const HardwareProfile* profile)
        : m_analysis(analysis), m_propagator(propagator), m_graph(analysis.graph()),
          m_profile(profile) {}

    std::vector<PropagationConflict> run() {
        for (const NodeId node : m_graph.main().nodes) {
            const Rule& rule = *m_analysis.rules->of(node);
            if (!rule.known || rule.everywhereOutputs)
                continue;
            const auto tensors = m_propagator.tensorsOf(node);
            if (std::none_of(tensors.begin(), tensors.end(),
                             [](const auto* t) { return t && t->split(); }))
                continue;
            if (const auto found = disagreement(node, rule, tensors))
                add(node, rule, tensors, *found);
        }
        return std::move(m_conflicts);
    }

private:
    using Tensors = std::vector<const AxisSharding*>;

    TensorSlot slotOf(NodeId node, const Rule& rule, std::size_t t) const {
        const bool output = t >= rule.inputs.size();
        return {node, output, static_cast<int>(output ? t - rule.inputs.size() : t)};
    }

    static const TensorMap& mapOf(const Rule& rule, std::size_t t) {
        return t < rule.inputs.size() ? rule.inputs[t] : rule.outputs[t - rule.inputs.size()];
    }

    /// What bodies of the node read from outside stands behind its inputs.
    bool isCapture(NodeId node, const Rule& rule, std::size_t t) const {
        return t >= m_graph.node(node).inputs.size() && t < rule.inputs.size();
    }

    ValueId valueOf(NodeId node, const Rule& rule, std::size_t t) const {
        const NodeInfo& info = m_graph.node(node);
        if (!isCapture(node, rule, t))
            return valueAt(m_graph, slotOf(node, rule, t));
        const std::size_t capture = t - info.inputs.size();
        return capture < info.captures.size() ? info.captures[capture] : ValueId();
    }

    std::string nameOf(NodeId node, const Rule& rule, std::size_t t) const {
        const ValueId value = valueOf(node, rule, t);
        return value ? "`" + m_graph.value(value).name + "`" : "a tensor";
    }

    /// "dimension 1 of `x`"
    std::string placeOf(NodeId node, const Rule& rule, std::size_t t, std::size_t factor) const {
        const auto& dims = mapOf(rule, t).dims;
        for (std::size_t d = 0; d < dims.size(); ++d)
            if (std::find(dims[d].begin(), dims[d].end(), static_cast<int>(factor)) !=
                dims[d].end())
                return "dimension " + std::to_string(d) + " of " + nameOf(node, rule, t);
        return nameOf(node, rule, t);
    }

    std::optional<Disagreement> disagreement(NodeId node, const Rule& rule,
                                             const Tensors& tensors) const {
        std::vector<FactorRow> rows;
        for (std::size_t t = 0; t < tensors.size(); ++t) {
            rows.push_back(tensors[t] ? projectToFactors(rule, mapOf(rule, t), *tensors[t])
                                      : FactorRow{});
            rows.back().factors.resize(rule.factors.size());
        }
        const AxisSpace& space = m_propagator.space();
        for (std::size_t f = 0; f < rule.factors.size(); ++f)
            for (std::size_t t = 0; t < rows.size(); ++t)
                for (std::size_t u = t + 1; u < rows.size(); ++u) {
                    const AxisList &a = rows[t].factors[f].axes, &b = rows[u].factors[f].axes;
                    if (prefixOrder(a, b) != PrefixOrder::None ||
                        prefixOrder(b, a) != PrefixOrder::None)
                        continue;
                    return Disagreement{placeOf(node, rule, t, f) + " is split along " +
                                            space.text(a) + ", " + placeOf(node, rule, u, f) +
                                            " along " + space.text(b),
                                        {{t, a.back()}, {u, b.back()}}};
                }
        // One axis on two factors of the inputs: an output may lie elsewhere, which is a
        // collective.
        for (std::size_t t = 0; t < rule.inputs.size() && t < rows.size(); ++t)
            for (std::size_t u = 0; u < rule.inputs.size() && u < rows.size(); ++u)
                for (std::size_t f = 0; f < rule.factors.size(); ++f)
                    for (std::size_t g = 0; g < rule.factors.size(); ++g) {
                        if (f == g || t >= u)
                            continue;
                        for (const AxisRef& axis : rows[t].factors[f].axes)
                            if (overlaps(axis, rows[u].factors[g].axes))
                                return Disagreement{"axis " + space.text(axis) + " splits " +
                                                        placeOf(node, rule, t, f) + " and " +
                                                        placeOf(node, rule, u, g),
                                                    {{t, axis}, {u, axis}}};
                    }
        return std::nullopt;
    }

    void add(NodeId node, const Rule& rule, const Tensors& tensors, const Disagreement& found) {
        PropagationConflict conflict;
        conflict.node = node;
        conflict.message = found.message;
        for (const Disagreement::Side& side : found.sides) {
            const TensorSlot slot = slotOf(node, rule, side.tensor);
            int dim = -1;
            for (std::size_t d = 0; d < tensors[side.tensor]->dims.size(); ++d)
                if (overlaps(side.axis, tensors[side.tensor]->dims[d].all()))
                    dim = static_cast<int>(d);
            conflict.sources.push_back(
                sourceOf(m_propagator, slot, valueOf(node, rule, side.tensor), dim, side.axis));
        }
        if (m_conflicts.size() < kPriced)
            price(node, rule, tensors, conflict);
        m_conflicts.push_back(std::move(conflict));
    }

    // --- prices
    // --------------------------------------------------------------------------------------------

    DeviceGroup devicesOf(NodeId node) const {
        const auto& specs = m_analysis.annotations.nodes[node.index()];
        const DeviceGroup bound = specs && specs->stage >= 0
                                      ? m_analysis.configuration.stageDevices(specs->stage)
                                      : DeviceGroup{};
        return bound.empty() ? m_analysis.configuration.allDevices() : bound;
    }

    LayoutRef layoutOf(ValueId value, const AxisSharding& sharding, const DeviceGroup& within) {
        const TensorInfo& info = m_analysis.shapes->of(value);
        if (!info.concrete())
            return nullptr;
        auto layout = m_propagator.space().toLayout(sharding, info.dims, within);
        return layout ? m_pool.intern(std::move(*layout)) : nullptr;
    }

    /// What moves: bytes of all groups, and time where there is a profile.
    struct Price {
        std::int64_t bytes = 0;
        double seconds = 0;
    };

    void add(Price& price, const ReshardPlan& plan, ValueId value) const {
        for (const GroupOperation& group : plan.groups)
            price.bytes += group.bytes;
        if (m_profile)
            price.seconds +=
                shardwright::costOf(*m_profile, m_analysis.configuration.mesh, plan, bitsOf(value))
                    .seconds;
    }

    int bitsOf(ValueId value) const { return movedBits(m_analysis.shapes->of(value).elementType); }

    /// nullopt: the node cannot compute like that.
    std::optional<Price> priceOf(NodeId node, const RulePtr& rule, const Tensors& tensors,
                                 const FactorAssignment& assignment,
                                 std::vector<LayoutRef>& inputs) {
        const DeviceGroup devices = devicesOf(node);
        const Mesh& mesh = m_analysis.configuration.mesh;
        Price price;
        inputs.assign(rule->inputs.size(), nullptr);
        for (std::size_t i = 0; i < rule->inputs.size(); ++i) {
            const ValueId value = valueOf(node, *rule, i);
            if (!value || !tensors[i] || !rule->inputs[i].present || rule->inputs[i].shapeOnly)
                continue;
            const LayoutRef now = layoutOf(value, *tensors[i], devices);
            // No spec can say that a body reads it otherwise.
            inputs[i] = isCapture(node, *rule, i)
                            ? now
                            : layoutOf(value, inputOf(*rule, i, assignment), devices);
            if (!inputs[i] || !now)
                return std::nullopt;
            // What the file brings is everywhere.
            if (m_graph.value(value).producer && now != inputs[i])
                add(price,
                    planReshard(piecesOf(*now), ReduceKind::None, *inputs[i], mesh, bitsOf(value)),
                    value);
        }
        std::vector<const TensorInfo*> infos;
        static const TensorInfo none;
        for (const ValueId output : m_graph.node(node).outputs)
            infos.push_back(output ? &m_analysis.shapes->of(output) : &none);
        const NodeSolution solution = solveNode(rule, devices, inputs, infos, m_pool);
        if (!solution.cells)
            return std::nullopt;
        for (std::size_t o = 0; o < rule->outputs.size(); ++o) {
            const ValueId value = valueAt(m_graph, slotOf(node, *rule, rule->inputs.size() + o));
            const AxisSharding* wanted = tensors[rule->inputs.size() + o];
            if (!value || !wanted || o >= solution.natural.size() || !solution.natural[o])
                continue;
            LayoutRef target =
                wanted->split() ? layoutOf(value, *wanted, devices) : solution.natural[o];
            if (!target)
                return std::nullopt;
            const auto partial = solution.cells->partialFactors(o);
            const ReduceKind reduce =
                partial.empty()
                    ? ReduceKind::None
                    : solution.cells->rule->factors[static_cast<std::size_t>(partial.front())]
                          .reduce;
            if (reduce != ReduceKind::None || target != solution.natural[o])
                add(price,
                    planReshard(piecesOf(*solution.cells, o), reduce, *target, mesh, bitsOf(value)),
                    value);
        }
        return price;
    }

    std::string titleOf(NodeId node, const Rule& rule, const Tensors& tensors,
                        const FactorAssignment& assignment) const {
        std::string title;
        for (std::size_t i = 0; i < rule.inputs.size(); ++i) {
            if (!tensors[i] || isCapture(node, rule, i))
                continue;
            const AxisSharding wanted = inputOf(rule, i, assignment);
            std::string dims;
            for (std::size_t d = 0; d < wanted.dims.size(); ++d) {
                if (wanted.dims[d].all() == tensors[i]->dims[d].all())
                    continue;
                const std::string axes = m_propagator.space().text(wanted.dims[d].all());
                dims += (dims.empty() ? "" : ", ") + std::string("dimension ") + std::to_string(d) +
                        (axes.empty() ? " whole" : " along " + axes);
            }
            if (!dims.empty())
                title += (title.empty() ? "" : "; ") + nameOf(node, rule, i) + " " + dims;
        }
        return title.empty() ? "Leave the inputs as they are" : "Read " + title;
    }

    void price(NodeId node, const Rule&, const Tensors& tensors, PropagationConflict& conflict) {
        const RulePtr& rule = m_analysis.rules->of(node);
        struct Priced {
            Price price;
            FactorAssignment assignment;
            std::vector<LayoutRef> inputs;
        };
        std::vector<Priced> priced;
        for (FactorAssignment& assignment : enumerateAssignments(*rule, tensors)) {
            std::vector<LayoutRef> inputs;
            const auto price = priceOf(node, rule, tensors, assignment, inputs);
            // A way that splits nothing is always there; one that splits more for the same bytes is
            // better.
            const bool known = std::any_of(priced.begin(), priced.end(),
                                           [&](const Priced& p) { return p.inputs == inputs; });
            if (price && !known)
                priced.push_back({*price, std::move(assignment), std::move(inputs)});
        }
        std::stable_sort(priced.begin(), priced.end(), [](const Priced& a, const Priced& b) {
            const auto shards = [](const Priced& p) {
                std::int64_t n = 1;
                for (const AxisList& axes : p.assignment)
                    n *= shardsOf(axes);
                return n;
            };
            return std::tuple(a.price.seconds, a.price.bytes, -shards(a)) <
                   std::tuple(b.price.seconds, b.price.bytes, -shards(b));
        });
        std::vector<const FactorAssignment*> offered;
        for (const Priced& way : priced) {
            const auto splitsLess = [&](const FactorAssignment* other) {
                for (std::size_t f = 0; f < way.assignment.size(); ++f)
                    if (prefixOrder(way.assignment[f], (*other)[f]) == PrefixOrder::None)
                        return false;
                return true;
            };
            if (offered.size() == kFixes || std::any_of(offered.begin(), offered.end(), splitsLess))
                continue;
            offered.push_back(&way.assignment);
            conflict.fixes.push_back({titleOf(node, *rule, tensors, way.assignment),
                                      way.price.bytes, editOf(node, *rule, way.inputs)});
            if (m_profile)
                conflict.fixes.back().seconds = way.price.seconds;
        }
    }

    Edit editOf(NodeId node, const Rule& rule, const std::vector<LayoutRef>& inputs) const {
        Document work = m_analysis.document;
        bool any = false;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const ValueId value = valueAt(m_graph, slotOf(node, rule, i));
            if (!value || !inputs[i])
                continue;
            any = true;
            apply(work.annotations,
                  editSpec(work, node, m_analysis.configuration.name, m_graph.value(value).name,
                           inputs[i].get(), m_analysis.shapes->of(value)));
        }
        Edit edit{"Resolve the conflict at `" + m_graph.label(node) + "`", {}};
        if (any)
            edit.steps.push_back(SetNodeAnnotation{node, work.annotations.nodes[node.index()]});
        return edit;
    }

    const Analysis& m_analysis;
    const Propagator& m_propagator;
    const GraphIndex& m_graph;
    const HardwareProfile* m_profile;
    LayoutPool m_pool;
    std::vector<PropagationConflict> m_conflicts;
};

}  // namespace

std::vector<PropagationConflict> findConflicts(const Analysis& analysis,
                                               const Propagator& propagator,
                                               const HardwareProfile* profile) {
    return Finder(analysis, propagator, profile).run();
}

}  // namespace shardwright
