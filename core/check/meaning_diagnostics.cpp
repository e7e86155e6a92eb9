// SPDX-License-Identifier: Apache-2.0
#include "check/meaning_diagnostics.h"

#include "check/fixes.h"
#include "sharding/shard_text.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace shardwright {

namespace {

std::string listDevices(const DeviceGroup& devices) {
    constexpr std::size_t kShown = 16;
    std::string text = devices.size() == 1 ? "device " : "devices ";
    const std::size_t shown = devices.size() > kShown + 1 ? kShown : devices.size();
    for (std::size_t i = 0; i < shown; ++i)
        text += (i ? ", " : "") + std::to_string(devices[i]);
    if (shown < devices.size())
        text += " and " + std::to_string(devices.size() - shown) + " more";
    return text;
}

DeviceGroup common(const DeviceGroup& a, const DeviceGroup& b) {
    DeviceGroup both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both;
}

DeviceGroup without(const DeviceGroup& all, const DeviceGroup& some) {
    DeviceGroup rest;
    std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(rest));
    return rest;
}

}  // namespace

/// What is said of one node.
struct NodeWords {
    std::vector<Diagnostic> diagnostics;
    bool extended = false;  ///< It is split in a way that only profile extended knows.
};

struct MeaningDiagnosticsCache::Impl {
    std::uint64_t revision = 0;  ///< Of the meaning that the rest is of.
    Profile profile = Profile::Extended;
    std::map<int, std::vector<Diagnostic>>
        nodes;                   ///< By place in the topological order; without silent ones.
    std::vector<bool> extended;  ///< By NodeId: split in a way that only profile extended knows.
    std::map<std::string, int, std::less<>> extendedByOperator;  ///< How many.
    std::uint64_t earlyRevision = 0;  ///< Of the meaning that `early` is of.
    std::map<int, NodeWords> early;   ///< Of nodes that somebody wanted before the whole.
};

MeaningDiagnosticsCache::MeaningDiagnosticsCache() : m_impl(std::make_unique<Impl>()) {}
MeaningDiagnosticsCache::~MeaningDiagnosticsCache() = default;

/// Words for the problems of one analysis.
class MeaningWords {
public:
    MeaningWords(const Analysis& analysis, LayoutPool& pool, MeaningDiagnosticsCache& cache)
        : m_analysis(analysis), m_pool(pool), m_known(*cache.m_impl) {
        for (const MeaningProblem& problem : analysis.meaning.problems)
            m_problems[problem.node].push_back(&problem);
    }

    std::vector<Diagnostic> run() {
        const Meaning& meaning = m_analysis.meaning;
        const bool goesOn = this->goesOn();
        auto early = std::move(m_known.early);
        if (m_known.earlyRevision != meaning.revision)
            early.clear();
        if (!goesOn) {
            m_known = {};
            m_known.profile = profile();
            m_known.extended.resize(m_analysis.graph().nodes.size());
        }
        m_known.early.clear();
        m_known.revision = meaning.revision;
        const std::vector<NodeId>& nodes =
            goesOn ? meaning.redone : m_analysis.graph().main().order;
        for (const NodeId id : nodes) {
            const int place = placeOf(id);
            const auto known = early.find(place);
            NodeWords words = known == early.end() ? wordsOf(id) : std::move(known->second);
            countExtended(id, words.extended);
            m_known.nodes.erase(place);
            if (!words.diagnostics.empty())
                m_known.nodes.emplace(place, std::move(words.diagnostics));
        }
        for (const auto& [place, diagnostics] : m_known.nodes)
            tell(diagnostics);
        tellOfExtended();
        tellOfUnboundStages();
        tellOfSpecsInBodies();
        for (const CommEntry& entry : m_analysis.communication.entries)
            m_result.push_back(word(entry));
        return std::move(m_result);
    }

    std::vector<Diagnostic> runOn(std::span<const NodeId> nodes) {
        const Meaning& meaning = m_analysis.meaning;
        const bool goesOn = this->goesOn();
        if (std::exchange(m_known.earlyRevision, meaning.revision) != meaning.revision)
            m_known.early.clear();
        const std::unordered_set<NodeId> redone(meaning.redone.begin(), meaning.redone.end());
        std::map<int, NodeId> places;
        for (const NodeId id : nodes)
            places.emplace(placeOf(id), id);
        places.erase(-1);
        for (const auto& [place, id] : places) {
            const std::vector<Diagnostic>* said = nullptr;
            if (goesOn && !redone.contains(id)) {
                const auto known = m_known.nodes.find(place);
                said = known == m_known.nodes.end() ? nullptr : &known->second;
            } else {
                const auto [it, isNew] = m_known.early.try_emplace(place);
                if (isNew)
                    it->second = wordsOf(id);
                said = &it->second.diagnostics;
            }
            if (said)
                tell(*said);
        }
        tellOfSpecsInBodies();
        for (const CommEntry& entry : m_analysis.communication.entries)
            m_result.push_back(word(entry));
        return std::move(m_result);
    }

private:
    const NodeInfo& node(NodeId id) const { return m_analysis.graph().node(id); }
    const Mesh& mesh() const { return m_analysis.configuration.mesh; }
    int placeOf(NodeId id) const { return (*m_analysis.meaning.positions)[id.index()]; }
    Profile profile() const { return m_analysis.options.profile; }
    bool goesOn() const {
        return m_analysis.meaning.basis != 0 && m_analysis.meaning.basis == m_known.revision &&
               profile() == m_known.profile;
    }
    /// What is kept of a node depends on nothing but its meaning; what else there is to say of
    /// other nodes is added here.
    void tell(const std::vector<Diagnostic>& diagnostics) {
        for (const Diagnostic& diagnostic : diagnostics) {
            m_result.push_back(diagnostic);
            if (diagnostic.code == "SW301")
                m_result.back().message += missingStage(diagnostic.node);
        }
    }
    void say(Diagnostic d) { m_words.diagnostics.push_back(std::move(d)); }

    NodeWords wordsOf(NodeId id) {
        m_words = {};
        if (const auto it = m_problems.find(id); it != m_problems.end())
            for (const MeaningProblem* problem : it->second)
                say(word(*problem));
        checkRule(id);
        checkIdle(id);
        if (profile() == Profile::Strict)
            checkStrictSpecs(id);
        return std::move(m_words);
    }

    std::string title(NodeId id) const {
        const GraphIndex& graph = m_analysis.graph();
        return std::string(graph.opType(id)) + " `" + graph.label(id) + "`: ";
    }

    std::string tensorOf(NodeId id, int slot) const {
        const NodeInfo& n = node(id);
        const auto index = static_cast<std::size_t>(slot);
        if (slot < 0)
            return {};
        const ValueId value = index < n.inputs.size() ? n.inputs[index]
                              : index - n.inputs.size() < n.captures.size()
                                  ? n.captures[index - n.inputs.size()]
                                  : ValueId{};
        return value ? m_analysis.graph().value(value).name : std::string();
    }

    LayoutRef layoutOf(NodeId id, int slot) const {
        const auto& inputs = m_analysis.meaning.nodes[id.index()].inputs;
        return slot >= 0 && static_cast<std::size_t>(slot) < inputs.size()
                   ? inputs[static_cast<std::size_t>(slot)].layout
                   : nullptr;
    }

    std::string shardText(const Layout& layout, std::size_t dim) const {
        if (const auto sharding = decode(mesh(), layout)) {
            std::string axes;
            if (dim < sharding->dims.size())
                for (const MeshComponent& c : sharding->dims[dim])
                    for (const int axis : c.axes)
                        axes += (axes.empty() ? "" : "+") +
                                mesh().axes[static_cast<std::size_t>(axis)].name;
            if (!axes.empty())
                return " over " + axes;
        }
        std::int64_t shards = 1;
        for (const Component& c : layout.dims()[dim])
            shards *= c.shards;
        return " into " + std::to_string(shards);
    }

    /// "`a` [8, 16, 256] is split on dimension 2 (size 256) over tp on devices 0, 1"
    std::string describeSplit(NodeId id, int slot) const {
        const LayoutRef layout = layoutOf(id, slot);
        std::string text = "`" + tensorOf(id, slot) + "`";
        if (!layout)
            return text + " is whole on every device";
        std::string where;
        for (std::size_t d = 0; d < layout->dims().size(); ++d)
            if (layout->isSplit(d))
                where += (where.empty() ? " is split on dimension " : " and dimension ") +
                         std::to_string(d) + " (size " + std::to_string(layout->shape()[d]) + ")" +
                         shardText(*layout, d);
        return text + (where.empty() ? " is whole" : where) + " on " +
               listDevices(layout->devices());
    }

    int firstSplitDim(NodeId id, int slot) const {
        const LayoutRef layout = layoutOf(id, slot);
        for (std::size_t d = 0; layout && d < layout->dims().size(); ++d)
            if (layout->isSplit(d))
                return static_cast<int>(d);
        return -1;
    }

    /// Sizes of the factors of the problem's dimension, outermost first; empty: fewer than two.
    static std::vector<std::int64_t> partsOf(const Rule& rule, const MeaningProblem& problem) {
        const auto slot = static_cast<std::size_t>(problem.slot);
        const auto dim = static_cast<std::size_t>(problem.dim);
        if (problem.slot < 0 || problem.dim < 0 || slot >= rule.inputs.size() ||
            dim >= rule.inputs[slot].dims.size() || rule.inputs[slot].dims[dim].size() < 2)
            return {};
        std::vector<std::int64_t> sizes;
        for (const int f : rule.inputs[slot].dims[dim])
            sizes.push_back(rule.factors[static_cast<std::size_t>(f)].size);
        return sizes;
    }
    static std::string productText(const std::vector<std::int64_t>& sizes) {
        std::string text;
        for (const std::int64_t size : sizes)
            text += (text.empty() ? "" : " x ") + std::to_string(size);
        return text;
    }

    /// "; dimension 2 is taken apart into 3 x 12 x 64: split one of these parts, as in
    /// 2=3*12/tp*64, or into a number of shards that divides the first"
    std::string howToSplit(const Rule& rule, const MeaningProblem& problem) const {
        const auto parts = partsOf(rule, problem);
        if (parts.empty())
            return {};
        const std::string notation = splitOfPart(problem, parts);
        return "; dimension " + std::to_string(problem.dim) + " is taken apart into " +
               productText(parts) + ": split one of these parts" +
               (notation.empty() ? "" : ", as in " + notation) +
               ", or into a number of shards that divides the first";
    }

    /// "2=8/tp*8": the first part that the axes of the dimension divide, as `--shard` has it.
    /// Empty: none, or no axes explain the layout.
    std::string splitOfPart(const MeaningProblem& problem,
                            const std::vector<std::int64_t>& parts) const {
        const LayoutRef layout = layoutOf(problem.node, problem.slot);
        const auto sharding = layout ? decode(mesh(), *layout) : std::nullopt;
        const auto dim = static_cast<std::size_t>(problem.dim);
        if (!sharding || dim >= sharding->dims.size())
            return {};
        std::int64_t shards = 1;
        std::string axes;
        for (const MeshComponent& component : sharding->dims[dim])
            for (const int axis : component.axes) {
                const MeshAxis& own = mesh().axes[static_cast<std::size_t>(axis)];
                shards *= own.size;
                axes += (axes.empty() ? "" : "+") + own.name;
            }
        const auto split = std::ranges::find_if(
            parts, [&](std::int64_t size) { return size > 0 && size % shards == 0; });
        if (axes.empty() || split == parts.end())
            return {};
        std::string text = std::to_string(problem.dim) + "=";
        for (auto part = parts.begin(); part != parts.end(); ++part)
            text += (part == parts.begin() ? "" : "*") + std::to_string(*part) +
                    (part == split ? "/" + axes : "");
        return text;
    }

    int stageOf(NodeId id) const {
        const auto& specs = m_analysis.annotations.nodes[id.index()];
        return specs ? specs->stage : -1;
    }

    /// Between two stages a node needs one of its own: ". The node has no stage; before it are
    /// `a` of stage 0 and `b` of stage 1". Empty: its inputs do not come from several stages.
    std::string missingStage(NodeId id) const {
        constexpr std::size_t kMost = 1000;
        if (stageOf(id) >= 0)
            return {};
        const GraphIndex& graph = m_analysis.graph();
        std::map<int, NodeId> stages;  // What is before it, through nodes without a stage.
        std::vector<NodeId> open{id};
        std::unordered_set<NodeId> seen{id};
        for (std::size_t i = 0; i < open.size() && i < kMost; ++i)
            for (const ValueId value : node(open[i]).inputs) {
                const NodeId producer = value ? graph.value(value).producer : NodeId();
                if (!producer || !seen.insert(producer).second)
                    continue;
                if (const int stage = stageOf(producer); stage >= 0)
                    stages.emplace(stage, producer);
                else
                    open.push_back(producer);
            }
        if (stages.size() < 2)
            return {};
        std::string text;
        std::size_t shown = 0;
        for (const auto& [stage, producer] : stages)
            if (++shown <= 4)
                text += (text.empty() ? "" : ", ") + ("`" + graph.label(producer)) + "` of stage " +
                        std::to_string(stage);
        return ". The node has no stage; before it are " + text +
               ": give it the stage where it is to run";
    }

    /// "dimension 2 must be whole: ", or which part of it, where others may be split.
    static std::string whatIsWhole(const Rule& rule, const MeaningProblem& problem) {
        const std::string dimension = "dimension " + std::to_string(problem.dim);
        const auto parts = partsOf(rule, problem);
        if (parts.empty())
            return dimension + " must be whole: ";
        return "of " + dimension + ", which is " + productText(parts) + " here, the part of " +
               std::to_string(rule.factors[static_cast<std::size_t>(problem.factor)].size) +
               " must be whole: ";
    }

    Diagnostic word(const MeaningProblem& problem) {
        Diagnostic d;
        d.node = problem.node;
        d.tensor = tensorOf(problem.node, problem.slot);
        d.dimension = problem.dim >= 0 ? problem.dim : firstSplitDim(problem.node, problem.slot);
        const RulePtr& rule = m_analysis.rules->of(problem.node);
        const Factor* factor = problem.factor >= 0
                                   ? &rule->factors[static_cast<std::size_t>(problem.factor)]
                                   : nullptr;
        const std::string split = describeSplit(problem.node, problem.slot);
        switch (problem.kind) {
            case MeaningProblem::Kind::NoDevice:
                d.code = "SW301";
                d.message = (problem.cells == 1
                                 ? std::string("no device has all inputs: ")
                                 : std::to_string(problem.cellsWithoutDevice) + " of the " +
                                       std::to_string(problem.cells) + " cells have no device: ") +
                            (problem.otherSlot >= 0
                                 ? describeSplit(problem.node, problem.otherSlot) + ", and "
                                 : "") +
                            split +
                            (problem.cells == 1
                                 ? ""
                                 : ", so that no device holds what such a cell needs of both");
                break;
            case MeaningProblem::Kind::SplitWhole:
                d.code = rule->known ? "SW302" : "SW305";
                d.message = split + ", but " + whatIsWhole(*rule, problem) + factor->reason;
                break;
            case MeaningProblem::Kind::SplitNeighbour:
                d.code = "SW303";
                d.message = split + ", but dimension " + std::to_string(problem.dim) +
                            " needs elements of its neighbours: " + factor->reason;
                break;
            case MeaningProblem::Kind::ViewEdge:
                d.code = "SW304";
                d.message = split +
                            ", and its shard edges do not fall on the edges of the "
                            "dimensions that this view makes of it" +
                            howToSplit(*rule, problem);
                break;
            case MeaningProblem::Kind::MoveCount:
                d.code = "SW410";
                d.message = split + " and cannot be moved to the devices of this node, whose "
                                    "number differs; give the input a spec here";
                break;
            case MeaningProblem::Kind::TooFine:
                d.code = "SW310";
                d.message =
                    split + (problem.cells > 1 << 20
                                 ? ": the node has more cells than are worked with (" +
                                       std::to_string(problem.cells) + " of at most 1048576)"
                                 : ": each part has millions of separate pieces");
                break;
            case MeaningProblem::Kind::OutsideStage:
                d.code = "SW411";
                d.message = split + ", outside the devices of the stage of this node";
                break;
        }
        d.message = title(problem.node) + d.message;
        d.fixes = findFixes(m_analysis, problem, m_pool);
        return d;
    }

    /// A node takes part in the annotations when it is not whole on every device.
    void checkRule(NodeId id) {
        const NodeMeaning& meaning = m_analysis.meaning.nodes[id.index()];
        const bool takesPart = !meaning.everywhere && m_analysis.hasConfiguration;
        const RulePtr& rule = m_analysis.rules->of(id);
        const bool strict = m_analysis.options.profile == Profile::Strict;
        const bool beyondProposal = takesPart && rule->known && !rule->strict && splits(meaning);
        m_words.extended = beyondProposal;
        if (takesPart && !rule->known) {
            Diagnostic d;
            d.code = "SW306";
            d.severity = strict ? Severity::Unsupported : Severity::Warning;
            d.node = id;
            d.message = title(id) + "it runs whole" +
                        (rule->factors.empty() || rule->factors[0].reason.empty()
                             ? ""
                             : ": " + rule->factors[0].reason);
            say(std::move(d));
        } else if (beyondProposal && strict) {
            Diagnostic d;
            d.code = "SW307";
            d.severity = Severity::Unsupported;
            d.node = id;
            d.message = title(id) + rule->strictReason;
            say(std::move(d));
        }
    }

    /// Blocks of inputs that are split over different axes meet on some of their devices only; and
    /// what a slice takes may be on some only.
    void checkIdle(NodeId id) {
        const NodeMeaning& meaning = m_analysis.meaning.nodes[id.index()];
        const auto computed =
            std::find_if(meaning.outputs.begin(), meaning.outputs.end(),
                         [](const SlotMeaning& output) { return output.layout != nullptr; });
        if (computed == meaning.outputs.end())
            return;
        DeviceGroup idle;  // All inputs are there, in part.
        bool first = true;
        for (const SlotMeaning& input : meaning.inputs) {
            if (!input.layout)
                continue;
            const DeviceGroup& devices = input.layout->devices();
            if (devices == computed->layout->devices())
                return;
            idle = std::exchange(first, false) ? devices : common(idle, devices);
        }
        idle = without(idle, computed->layout->devices());
        if (idle.empty())
            return;
        Diagnostic d;
        d.code = "SW312";
        d.severity = Severity::Warning;
        d.node = id;
        d.message = title(id) + "what a part of the result needs is together on " +
                    listDevices(computed->layout->devices()) + " only; " + listDevices(idle) +
                    (idle.size() == 1 ? " computes" : " compute") + " nothing here";
        say(std::move(d));
    }

    void countExtended(NodeId id, bool is) {
        if (m_known.extended[id.index()] == is)
            return;
        m_known.extended[id.index()] = is;
        m_known.extendedByOperator[std::string(m_analysis.graph().opType(id))] += is ? 1 : -1;
    }

    /// One line for the whole model: most real models need it at most of their nodes.
    void tellOfExtended() {
        if (m_analysis.options.profile == Profile::Strict)
            return;  // Each of them has a message of its own.
        Diagnostic d;
        d.code = "SW308";
        d.severity = Severity::Info;
        int nodes = 0;
        std::string operators;
        for (const auto& [op, count] : m_known.extendedByOperator) {
            if (count == 0)
                continue;
            nodes += count;
            operators += (operators.empty() ? "" : ", ") + op + " " + std::to_string(count);
        }
        if (nodes == 0)
            return;
        d.message = "needs profile extended: " + std::to_string(nodes) +
                    (nodes == 1 ? " node is" : " nodes are") +
                    " split in ways that proposal 0007 does not describe (" + operators + ")";
        m_result.push_back(std::move(d));
    }

    /// A stage without devices changes nothing: its nodes run where their inputs are.
    void tellOfUnboundStages() {
        std::map<int, std::pair<int, bool>> stages;  // Nodes, and whether a spec gives it devices.
        for (const NodeId id : m_analysis.graph().main().nodes) {
            const auto& specs = m_analysis.annotations.nodes[id.index()];
            if (!specs || specs->stage < 0)
                continue;
            auto& [nodes, bound] = stages[specs->stage];
            ++nodes;
            bound = bound || std::any_of(specs->specs.begin(), specs->specs.end(),
                                         [](const DecodedSpec& s) { return s.layout != nullptr; });
        }
        for (const auto& [stage, use] : stages) {
            if (use.second || !m_analysis.configuration.stageDevices(stage).empty())
                continue;
            Diagnostic d;
            d.code = "SW412";
            d.severity = Severity::Info;
            d.message = "stage " + std::to_string(stage) + " (" + std::to_string(use.first) +
                        (use.first == 1 ? " node" : " nodes") +
                        ") has no devices, so it changes nothing: give it some "
                        "(--stage-devices, or an axis `pp` in the mesh)";
            m_result.push_back(std::move(d));
        }
    }

    /// One line for the whole model: bodies run as the nodes that hold them are split.
    void tellOfSpecsInBodies() {
        const GraphIndex& graph = m_analysis.graph();
        NodeId first;
        int nodes = 0;
        for (const NodeInfo& node : graph.nodes) {
            const auto& specs = m_analysis.annotations.nodes[node.id.index()];
            if (node.graph == graph.main().id || !specs || specs->specs.empty())
                continue;
            if (nodes++ == 0)
                first = node.id;
        }
        if (nodes == 0 || !m_analysis.covers(first))
            return;
        Diagnostic d;
        d.code = "SW311";
        d.severity = Severity::Warning;
        d.node = first;
        d.message = title(first) +
                    "its specs change nothing: it is inside of a body, which runs as the node that "
                    "holds it is split" +
                    (nodes > 1 ? " (and " + std::to_string(nodes - 1) + " more)" : "");
        m_result.push_back(std::move(d));
    }

    static bool splits(const NodeMeaning& meaning) {
        const auto split = [](const SlotMeaning& s) { return s.layout && !s.layout->isWhole(); };
        return std::any_of(meaning.inputs.begin(), meaning.inputs.end(), split) ||
               std::any_of(meaning.outputs.begin(), meaning.outputs.end(), split);
    }

    /// Strict: explicit specs of two inputs that differ on an axis where neither broadcasts.
    /// Tensors that are whole on the devices are exempt.
    void checkStrictSpecs(NodeId id) {
        const NodeMeaning& meaning = m_analysis.meaning.nodes[id.index()];
        if (meaning.solution && meaning.solution->cells)
            checkStrictSpecs(id, meaning, *meaning.solution->cells);
    }

    void checkStrictSpecs(NodeId id, const NodeMeaning& meaning, const CellGrid& cells) {
        for (std::size_t a = 0; a < meaning.inputs.size(); ++a)
            for (std::size_t b = a + 1; b < meaning.inputs.size(); ++b) {
                const SlotMeaning &x = meaning.inputs[a], &y = meaning.inputs[b];
                if (x.source != LayoutSource::Explicit || y.source != LayoutSource::Explicit ||
                    !x.layout || !y.layout || x.layout->isWhole() || y.layout->isWhole())
                    continue;
                const int factor = differingFactor(*cells.rule, a, *x.layout, b, *y.layout);
                if (factor < 0)
                    continue;
                Diagnostic d;
                d.code = "SW309";
                d.node = id;
                d.tensor = tensorOf(id, static_cast<int>(b));
                d.message = title(id) + "the specs of " + describeSplit(id, static_cast<int>(a)) +
                            " and " + describeSplit(id, static_cast<int>(b)) +
                            " differ on a common axis (" +
                            cells.rule->factors[static_cast<std::size_t>(factor)].name +
                            "), which profile strict does not allow";
                say(std::move(d));
            }
    }

    static int differingFactor(const Rule& rule, std::size_t a, const Layout& x, std::size_t b,
                               const Layout& y) {
        for (std::size_t i = 0; i < rule.inputs[a].dims.size(); ++i)
            for (std::size_t j = 0; j < rule.inputs[b].dims.size(); ++j) {
                const auto &f = rule.inputs[a].dims[i], &g = rule.inputs[b].dims[j];
                if (!f.empty() && f == g && x.dims()[i] != y.dims()[j])
                    return f[0];
            }
        return -1;
    }

    Diagnostic word(const CommEntry& entry) const {
        Diagnostic d;
        d.code = "SW501";
        d.severity = Severity::Communication;
        d.node = entry.node;
        d.tensor = m_analysis.graph().value(entry.value).name;
        if (entry.plan->tooLarge) {
            d.code = "SW310";
            d.severity = Severity::Error;
            d.message = title(entry.node) + entry.cause;
            return d;
        }
        d.message = collectiveName(entry.kind);
        for (std::size_t i = 0; i < entry.axes.size(); ++i)
            d.message +=
                (i ? "+" : " over ") + mesh().axes[static_cast<std::size_t>(entry.axes[i])].name;
        d.message += " of " + std::to_string(entry.bytes) + " bytes in " +
                     std::to_string(entry.groups.size()) +
                     (entry.groups.size() == 1 ? " group: " : " groups: ") + entry.cause;
        return d;
    }

    const Analysis& m_analysis;
    LayoutPool& m_pool;
    MeaningDiagnosticsCache::Impl& m_known;
    std::unordered_map<NodeId, std::vector<const MeaningProblem*>> m_problems;
    NodeWords m_words;  ///< Of the node that is looked at.
    std::vector<Diagnostic> m_result;
};

std::vector<Diagnostic> diagnoseMeaning(const Analysis& analysis, LayoutPool& pool,
                                        MeaningDiagnosticsCache& cache) {
    return MeaningWords(analysis, pool, cache).run();
}

std::vector<Diagnostic> diagnoseMeaning(const Analysis& soFar, LayoutPool& pool,
                                        MeaningDiagnosticsCache& cache,
                                        std::span<const NodeId> nodes) {
    return MeaningWords(soFar, pool, cache).runOn(nodes);
}

}  // namespace shardwright
