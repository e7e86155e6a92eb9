// SPDX-License-Identifier: Apache-2.0
#include "rules/call_rule.h"

#include "rules/factor_union.h"
#include "rules/registry.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <map>
#include <set>

namespace shardwright {

namespace {

using List = FactorUnion::List;
using TensorLists = std::vector<List>;

std::vector<ValueId> slotsAndCaptures(const NodeInfo& node) {
    std::vector<ValueId> slots = node.inputs;
    slots.insert(slots.end(), node.captures.begin(), node.captures.end());
    return slots;
}

class CallMaker {
public:
    CallMaker(const NodeContext& context, const RuleOfNode& ruleOf)
        : m_context(context), m_graph(context.graph), m_shapes(context.shapes), m_ruleOf(ruleOf) {}

    CallRule run() {
        for (const GraphId id : graphsInside(m_context.node))
            findFree(m_graph.graph(id));
        double most = 0;
        for (const GraphId id : graphsInside(m_context.node)) {
            m_flops = 0;
            for (const NodeId node : m_graph.graph(id).order)
                addNode(m_graph.node(node));
            most = std::max(most, m_flops);  // One of the branches of an If is taken.
        }
        m_flops = most * iterations();
        linkCall();
        forbidRepeats();
        forbidInputsOnly();
        makeRule();
        describeInside();
        return std::move(m_call);
    }

private:
    using Parts = CallRule::Parts;

    // --- tensors
    bool known(ValueId id) const {
        return m_shapes.of(id).kind == TensorInfo::Kind::Tensor && m_shapes.of(id).concrete();
    }
    bool isFree(ValueId id) const { return m_call.free.count(id) > 0; }
    bool linked(ValueId id) const { return id && known(id) && !isFree(id); }

    const TensorLists& tensor(ValueId id) {
        const auto [at, added] = m_tensors.try_emplace(id);
        if (added)
            for (const std::int64_t size : m_shapes.of(id).dims) {
                List list;
                if (size != 1)
                    list.push_back(m_union.add(size));
                if (size == 0)
                    m_union.makeWhole(list.front(), "it has no elements");
                at->second.push_back(std::move(list));
            }
        return at->second;
    }

    void unify(const TensorLists& a, const TensorLists& b) {
        if (a.size() != b.size()) {
            for (const TensorLists* lists : {&a, &b})
                for (const List& list : *lists)
                    m_union.makeWhole(list, "its rank differs inside");
            return;
        }
        for (std::size_t d = 0; d < a.size(); ++d)
            m_union.unify(a[d], b[d]);
    }

    /// What the bodies compute from constants and shapes alone.
    void findFree(const GraphInfo& graph) {
        const auto add = [&](ValueId id) {
            if (!id || m_graph.value(id).graph != graph.id)
                return;
            const ConstantValue* constant = m_shapes.constant(id);
            // What a function is given may be a small weight, which its caller may split.
            const bool given = m_graph.value(id).kind == ValueKind::GraphInput;
            if (m_graph.value(id).kind == ValueKind::Initializer ||
                (constant != nullptr && (!given || constant->reals.empty())))
                m_call.free.insert(id);
        };
        for (const ValueId id : graph.outputs)
            add(id);
        for (const NodeId id : graph.order) {
            const NodeInfo& node = m_graph.node(id);
            for (const auto* values : {&node.inputs, &node.captures, &node.outputs})
                std::for_each(values->begin(), values->end(), add);
        }
        for (const NodeId id : graph.order) {
            const NodeInfo& node = m_graph.node(id);
            const Rule* rule = m_ruleOf(id);
            bool free = rule != nullptr && node.captures.empty();
            for (std::size_t slot = 0; free && slot < node.inputs.size(); ++slot)
                free = !node.inputs[slot] || isFree(node.inputs[slot]);
            if (free)
                m_call.free.insert(node.outputs.begin(), node.outputs.end());
        }
        m_call.free.erase(ValueId());
    }

    // --- nodes
    bool allOutputsFree(const NodeInfo& node) const {
        return std::all_of(node.outputs.begin(), node.outputs.end(),
                           [this](ValueId id) { return !id || isFree(id); });
    }

    std::string why(const NodeInfo& node, const Factor& factor) const {
        const std::string label = "`" + m_graph.label(node.id) + "` inside ";
        if (factor.kind == FactorKind::Reduction)
            return label + "sums over it";
        return label +
               (factor.kind == FactorKind::Neighbour ? "needs its neighbours: "
                                                     : "needs it whole: ") +
               factor.reason;
    }

    void addNode(const NodeInfo& node) {
        const Rule* rule = m_ruleOf(node.id);
        if (rule == nullptr || allOutputsFree(node))
            return;
        List& factors = m_nodeFactors[node.id];
        for (const Factor& factor : rule->factors) {
            factors.push_back(m_union.add(factor.size));
            if (factor.kind != FactorKind::Parallel || factor.size == 0)
                m_union.makeWhole(factors.back(), why(node, factor));
        }
        double points = 1;
        for (const Factor& factor : rule->factors)
            points *= static_cast<double>(factor.size);
        m_flops += rule->flopsPerPoint * points;
        const std::vector<ValueId> inputs = slotsAndCaptures(node);
        for (std::size_t slot = 0; slot < inputs.size() && slot < rule->inputs.size(); ++slot)
            bind(node, inputs[slot], rule->inputs[slot], factors, rule->known);
        for (std::size_t slot = 0; slot < node.outputs.size() && slot < rule->outputs.size();
             ++slot)
            bind(node, node.outputs[slot], rule->outputs[slot], factors, rule->known);
    }

    void bind(const NodeInfo& node, ValueId value, const TensorMap& map, const List& factors,
              bool hasRule) {
        if (!linked(value) || !map.present)
            return;
        const TensorLists& lists = tensor(value);
        if (map.shapeOnly) {
            if (!hasRule)
                wholeTensor(lists, "`" + m_graph.label(node.id) + "` inside reads its shape");
            return;
        }
        TensorLists own;
        for (const auto& dim : map.dims) {
            own.emplace_back();
            for (const int f : dim)
                own.back().push_back(factors[static_cast<std::size_t>(f)]);
        }
        unify(lists, own);
    }

    void wholeTensor(const TensorLists& lists, const std::string& reason) {
        for (const List& list : lists)
            m_union.makeWhole(list, reason);
    }

    // --- the call
    /// 1 where it is not known.
    double iterations() const {
        const NodeInfo& node = m_context.node;
        const std::string& op = node.proto->op_type();
        if (!node.function && op == "Loop") {
            const auto trips = m_context.constantInts(0);
            return trips && trips->size() == 1 && trips->front() > 0
                       ? static_cast<double>(trips->front())
                       : 1;
        }
        const std::int64_t scans = m_context.attribute("num_scan_inputs", 0);
        if (node.function || op != "Scan" || scans < 1)
            return 1;
        const auto axes = m_context.attributeInts("scan_input_axes");
        const std::size_t slot = node.inputs.size() - static_cast<std::size_t>(scans);
        const auto& dims = m_context.input(slot).dims;
        const auto rank = static_cast<std::int64_t>(dims.size());
        const std::int64_t axis = axes.empty() ? 0 : axes[0] < 0 ? axes[0] + rank : axes[0];
        return axis >= 0 && axis < rank ? static_cast<double>(dims[static_cast<std::size_t>(axis)])
                                        : 1;
    }

    void link(ValueId outer, ValueId inner) {
        if (!outer || !inner || !linked(outer))
            return;
        if (linked(inner))
            unify(tensor(outer), tensor(inner));
        else if (!isFree(inner))
            wholeTensor(tensor(outer),
                        "the shape of `" + m_graph.value(inner).name + "` inside is not known");
    }

    /// Inside lacks dimension `axis` of outside, which the iterations run along.
    void linkWithout(ValueId outer, ValueId inner, std::int64_t axis) {
        if (!outer || !linked(outer))
            return;
        TensorLists lists = tensor(outer);
        const auto rank = static_cast<std::int64_t>(lists.size());
        axis += axis < 0 ? rank : 0;
        if (axis < 0 || axis >= rank)
            return wholeTensor(lists, "its axis is out of range");
        m_union.makeWhole(lists[static_cast<std::size_t>(axis)], "the iterations run along it");
        lists.erase(lists.begin() + axis);
        m_wanted[outer] = lists;
        if (inner && linked(inner))
            unify(lists, tensor(inner));
        else if (!inner || !isFree(inner))
            wholeTensor(lists, "its shape inside is not known");
    }

    static ValueId at(const std::vector<ValueId>& values, std::size_t i) {
        return i < values.size() ? values[i] : ValueId();
    }

    void linkCall() {
        const NodeInfo& node = m_context.node;
        const std::string& op = node.proto->op_type();
        for (const GraphId id : graphsInside(node)) {
            const GraphInfo& graph = m_graph.graph(id);
            if (node.function || op == "If") {
                for (std::size_t i = 0; node.function && i < graph.inputs.size(); ++i)
                    link(at(node.inputs, i), graph.inputs[i]);
                for (std::size_t i = 0; i < graph.outputs.size(); ++i)
                    linkOutput(graph, i, at(node.outputs, i));
            } else if (op == "SequenceMap") {
                keepWhole();
            } else if (op == "Loop") {
                linkLoop(graph);
            } else {
                linkScan(graph);
            }
        }
    }

    /// The body runs on the elements of a sequence, which is no tensor; so nothing can be split.
    void keepWhole() {
        for (const ValueId id : slotsAndCaptures(m_context.node))
            if (id && linked(id))
                wholeTensor(tensor(id),
                            "the results are sequences, which stay whole on each device");
    }

    void linkOutput(const GraphInfo& graph, std::size_t i, ValueId outer) {
        link(outer, graph.outputs[i]);
        setWanted(graph, i, outer);
    }

    void setWanted(const GraphInfo& graph, std::size_t i, ValueId outer) {
        auto& wanted = m_wantedOutputs[graph.id];
        wanted.resize(graph.outputs.size());
        if (outer && linked(outer))
            wanted[i] = outer;
    }

    void linkLoop(const GraphInfo& body) {
        const NodeInfo& node = m_context.node;
        const std::size_t states = node.inputs.size() - 2;
        for (std::size_t i = 0; i < states; ++i)
            linkState(body, node.inputs[i + 2], at(body.inputs, i + 2), i + 1, at(node.outputs, i));
        for (std::size_t i = states; i + 1 < body.outputs.size(); ++i) {
            linkWithout(at(node.outputs, i), body.outputs[i + 1], 0);
            setWanted(body, i + 1, at(node.outputs, i));
        }
    }

    void linkScan(const GraphInfo& body) {
        const NodeInfo& node = m_context.node;
        const auto scans = static_cast<std::size_t>(m_context.attribute("num_scan_inputs", 0));
        const std::size_t states = node.inputs.size() - scans;
        const auto inAxes = m_context.attributeInts("scan_input_axes"),
                   outAxes = m_context.attributeInts("scan_output_axes");
        for (std::size_t i = 0; i < states; ++i)
            linkState(body, node.inputs[i], at(body.inputs, i), i, at(node.outputs, i));
        for (std::size_t i = states; i < node.inputs.size(); ++i)
            linkWithout(node.inputs[i], at(body.inputs, i),
                        i - states < inAxes.size() ? inAxes[i - states] : 0);
        for (std::size_t i = states; i < body.outputs.size(); ++i) {
            linkWithout(at(node.outputs, i), body.outputs[i],
                        i - states < outAxes.size() ? outAxes[i - states] : 0);
            setWanted(body, i, at(node.outputs, i));
        }
    }

    /// A state has one layout before, during and after the iterations.
    void linkState(const GraphInfo& body, ValueId initial, ValueId inner, std::size_t output,
                   ValueId result) {
        const ValueId after = at(body.outputs, output);
        link(initial, inner);
        if (inner && linked(inner))
            link(inner, after);
        link(result, after);
        // Where the body gives a constant, the state still is what the input is.
        if (result && linked(result) && inner && linked(inner))
            unify(tensor(result), tensor(inner));
        if (after)
            setWanted(body, output, inner && linked(inner) ? inner : result);
    }

    // --- what would be wrong to split
    void forbidRepeats() {
        for (const auto& [value, lists] : m_tensors) {
            std::set<int> seen;
            for (const List& list : lists)
                for (const int part : m_union.parts(list))
                    if (!seen.insert(part).second)
                        m_union.makeWhole(part, "it indexes `" + m_graph.value(value).name +
                                                    "` inside twice");
        }
        for (const auto& [node, factors] : m_nodeFactors) {
            std::set<int> seen;
            for (const int factor : factors)
                for (const int part : m_union.parts({factor}))
                    if (!seen.insert(part).second)
                        m_union.makeWhole(part,
                                          "`" + m_graph.label(node) + "` inside has it twice");
        }
    }

    void forbidInputsOnly() {
        std::set<int> results;
        for (const ValueId id : m_context.node.outputs)
            if (id)
                for (const List& list : tensor(id))
                    for (const int part : m_union.parts(list))
                        results.insert(part);
        for (const ValueId id : slotsAndCaptures(m_context.node))
            if (id)
                for (const List& list : tensor(id))
                    for (const int part : m_union.parts(list))
                        if (results.count(part) == 0)
                            m_union.makeWhole(part, "no result has this dimension");
    }

    // --- the rule
    TensorMap mapOf(ValueId id, const char* prefix, std::size_t slot) {
        TensorMap map;
        map.present = static_cast<bool>(id);
        if (!id)
            return map;
        std::set<int> own;
        const TensorLists& lists = tensor(id);
        for (std::size_t d = 0; d < lists.size(); ++d) {
            map.dims.emplace_back();
            for (const int part : m_union.parts(lists[d])) {
                if (m_union.size(part) == 1)
                    continue;
                const std::string name = prefix + std::to_string(slot) + "d" + std::to_string(d);
                map.dims.back().push_back(factorOf(part, name, !own.insert(part).second));
            }
        }
        return map;
    }

    /// A whole factor that indexes a tensor twice is two.
    int factorOf(int part, const std::string& name, bool again) {
        const auto known = m_factorOf.find(part);
        if (known != m_factorOf.end() && !again)
            return known->second;
        Factor factor;
        factor.name = name;
        for (int n = 2; !m_names.insert(factor.name).second; ++n)
            factor.name = name + "_" + std::to_string(n);
        factor.size = m_union.size(part);
        if (m_union.whole(part)) {
            factor.kind = FactorKind::Whole;
            factor.reason = m_union.reason(part);
        }
        const int number = static_cast<int>(m_call.rule.factors.size());
        m_call.rule.factors.push_back(std::move(factor));
        if (!again)
            m_factorOf.emplace(part, number);
        return number;
    }

    void makeRule() {
        const NodeInfo& node = m_context.node;
        const std::vector<ValueId> inputs = slotsAndCaptures(node);
        for (std::size_t slot = 0; slot < inputs.size(); ++slot)
            m_call.rule.inputs.push_back(mapOf(inputs[slot], "i", slot));
        for (std::size_t slot = 0; slot < node.outputs.size(); ++slot)
            m_call.rule.outputs.push_back(mapOf(node.outputs[slot], "o", slot));
        double points = 1;
        for (const Factor& factor : m_call.rule.factors)
            points *= static_cast<double>(factor.size);
        m_call.rule.flopsPerPoint = points > 0 ? m_flops / points : 0;
        m_call.rule.family = "data flow";
        m_call.rule.strict = false;
    }

    Parts partsOf(const List& list) const {
        Parts parts;
        for (const int part : m_union.parts(list)) {
            const auto found = m_factorOf.find(part);
            const bool split = found != m_factorOf.end() && !m_union.whole(part);
            parts.push_back({split ? found->second : -1, m_union.size(part)});
        }
        return parts;
    }

    std::vector<Parts> partsOf(const TensorLists& lists) const {
        std::vector<Parts> parts;
        for (const List& list : lists)
            parts.push_back(partsOf(list));
        return parts;
    }

    void describeInside() {
        for (const auto& [node, factors] : m_nodeFactors)
            for (const int factor : factors)
                m_call.factors[node].push_back(partsOf(List{factor}));
        for (const auto& [value, lists] : m_tensors)
            m_call.tensors.emplace(value, partsOf(lists));
        for (const auto& [graph, wanted] : m_wantedOutputs)
            for (const ValueId value : wanted) {
                const auto without = value ? m_wanted.find(value) : m_wanted.end();
                m_call.outputs[graph].push_back(without != m_wanted.end() ? partsOf(without->second)
                                                : value                   ? partsOf(tensor(value))
                                                                          : std::vector<Parts>{});
            }
    }

    const NodeContext& m_context;
    const GraphIndex& m_graph;
    const ShapeTable& m_shapes;
    const RuleOfNode& m_ruleOf;
    CallRule m_call;
    FactorUnion m_union;
    std::unordered_map<ValueId, TensorLists> m_tensors;
    std::map<NodeId, List> m_nodeFactors;
    std::unordered_map<ValueId, TensorLists> m_wanted;  ///< Without the iterated dimension.
    std::unordered_map<GraphId, std::vector<ValueId>> m_wantedOutputs;
    std::map<int, int> m_factorOf;
    std::set<std::string> m_names;
    double m_flops = 0;
};

}  // namespace

std::vector<GraphId> graphsInside(const NodeInfo& node) {
    return node.function ? std::vector<GraphId>{node.function} : node.bodies;
}

bool runsGraphs(const NodeContext& context) {
    if (context.node.function)
        return true;
    const std::string_view op = context.graph.opType(context.node.id);
    return !context.node.bodies.empty() && context.graph.domain(context.node.id).empty() &&
           (op == "If" || op == "Loop" || op == "Scan" || op == "SequenceMap");
}

std::string callObstacle(const NodeContext& context, const RuleOfNode& ruleOf) {
    const NodeInfo& node = context.node;
    const std::string_view op = context.graph.opType(node.id);
    for (const onnx::AttributeProto& attribute : node.proto->attribute())
        if (!attribute.ref_attr_name().empty())
            return "attribute `" + attribute.name() + "` is given by the caller of the function";
    const bool sequences = !node.function && op == "SequenceMap";
    for (const ValueId id : slotsAndCaptures(node))
        if (std::string problem = unknownShape(context, id, sequences); !problem.empty())
            return problem;
    for (const ValueId id : node.outputs)
        if (std::string problem = unknownShape(context, id, sequences); !problem.empty())
            return problem;
    const std::size_t inputs = node.inputs.size();
    if (!node.function && op == "Loop" && inputs < 2)
        return "a Loop has a trip count and a condition";
    const std::int64_t scans = context.attribute("num_scan_inputs", 0);
    if (!node.function && op == "Scan" &&
        (context.opset < 9 || scans < 0 || static_cast<std::size_t>(scans) > inputs))
        return context.opset < 9 ? "Scan before opset 9 has a batch dimension of its own"
                                 : "num_scan_inputs is more than there are inputs";
    for (const GraphId id : graphsInside(node)) {
        const GraphInfo& graph = context.graph.graph(id);
        if (!graph.cyclic.empty())
            return "the graph inside has a cycle";
        for (const NodeId inner : graph.nodes)
            if (ruleOf(inner) == nullptr)
                return "the function calls itself";
    }
    return {};
}

CallRule deriveCall(const NodeContext& context, const RuleOfNode& ruleOf) {
    return CallMaker(context, ruleOf).run();
}

}  // namespace shardwright
