// SPDX-License-Identifier: Apache-2.0
#include "check/meaning_diagnostics.h"

#include "check/node_words.h"
#include "check/split_words.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace shardwright {

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

/// What is said of one analysis: words of nodes are kept from one to the next.
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
        m_result.reserve(m_known.nodes.size() + m_analysis.communication.entries.size());
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

    NodeWords wordsOf(NodeId id) const {
        std::span<const MeaningProblem* const> problems;
        if (const auto own = m_problems.find(id); own != m_problems.end())
            problems = own->second;
        return diagnoseNode(m_analysis, id, problems, m_pool);
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
        for (const NodeId id : m_analysis.annotations.staged) {
            if (node(id).graph != m_analysis.graph().main().id)
                continue;
            const auto& specs = m_analysis.annotations.nodes[id.index()];
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
        const auto& nodes = m_analysis.annotations.inBodies;
        if (nodes.empty() || !m_analysis.covers(nodes.front()))
            return;
        const NodeId first = nodes.front();
        Diagnostic d;
        d.code = "SW311";
        d.severity = Severity::Warning;
        d.node = first;
        d.message =
            nodeTitle(m_analysis, first) +
            "its specs change nothing: it is inside of a body, which runs as the node that "
            "holds it is split" +
            (nodes.size() > 1 ? " (and " + std::to_string(nodes.size() - 1) + " more)" : "");
        m_result.push_back(std::move(d));
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
            d.message = nodeTitle(m_analysis, entry.node) + entry.cause;
            return d;
        }
        d.message.reserve(entry.cause.size() + 100);  // There are thousands of them.
        d.message += collectiveName(entry.kind);
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
