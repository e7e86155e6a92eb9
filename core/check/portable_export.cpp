// SPDX-License-Identifier: Apache-2.0
//
// From the specs of nodes to rules. For each spec the widest pattern is taken that says nothing
// wrong: all numbers in the name as wildcards, else one of them, else the name as it is.
#include "check/portable_annotations.h"

#include "sharding/mesh.h"
#include "sharding/mesh_metadata.h"
#include "sharding/shard_text.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <unordered_map>

namespace shardwright {

namespace {

bool isDigit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// The name as a glob, with the runs of digits in `wild` (all where null) replaced by `*`.
std::string globOf(std::string_view name, const std::set<int>* wild) {
    std::string glob;
    int run = -1;
    for (std::size_t i = 0; i < name.size();) {
        if (isDigit(name[i])) {
            std::size_t end = i;
            while (end < name.size() && isDigit(name[end]))
                ++end;
            ++run;
            glob += wild == nullptr || wild->count(run) > 0 ? std::string("*")
                                                            : std::string(name.substr(i, end - i));
            i = end;
            continue;
        }
        if (std::string_view("*?\\@:#=!").find(name[i]) != std::string_view::npos)
            glob += '\\';
        glob += name[i++];
    }
    return glob;
}

int digitRuns(std::string_view name) {
    int runs = 0;
    for (std::size_t i = 0; i < name.size(); ++i)
        runs += isDigit(name[i]) && (i == 0 || !isDigit(name[i - 1]));
    return runs;
}

std::vector<std::string> globsOf(std::string_view name) {
    std::vector<std::string> globs;
    const int runs = digitRuns(name);
    if (runs > 0)
        globs.push_back(globOf(name, nullptr));
    for (int run = 0; run < runs && runs > 1 && runs <= 8; ++run) {
        const std::set<int> wild{run};
        globs.push_back(globOf(name, &wild));
    }
    const std::set<int> none;
    globs.push_back(globOf(name, &none));
    return globs;
}

class Exporter {
public:
    explicit Exporter(const Analysis& analysis) : m_analysis(analysis), m_graph(analysis.graph()) {}

    PortableAnnotations run() {
        const Configuration& configuration = m_analysis.configuration;
        m_result.configuration = configuration.name;
        m_result.mesh = configuration.mesh.text();
        if (configuration.mesh.axisIndex("pp") < 0)
            for (const auto& [stage, devices] : configuration.boundStages)
                m_result.stageDevices.push_back(std::to_string(stage) + "=" + devicesText(devices));
        for (const NodeInfo& node : m_graph.nodes)
            if (const NodeSpecs* specs = specsOf(node.id)) {
                if (specs->stage >= 0)
                    addStage(node, specs->stage);
                for (const DecodedSpec& spec : specs->specs)
                    if (spec.layout)
                        addSpec(node, *specs, spec);
            }
        return std::move(m_result);
    }

private:
    const NodeSpecs* specsOf(NodeId node) const {
        const auto& nodes = m_analysis.annotations.nodes;
        return node.index() < nodes.size() ? nodes[node.index()].get() : nullptr;
    }

    std::vector<std::string> nodePatterns(const NodeInfo& node) const {
        std::vector<std::string> patterns;
        for (const std::string& glob : globsOf(m_graph.label(node.id)))
            patterns.push_back(std::string(m_graph.opType(node.id)) + "!" + glob);
        return patterns;
    }

    const std::vector<NodeId>& matching(const std::string& pattern) {
        const auto [it, added] = m_matching.try_emplace(pattern);
        if (added)
            for (const NodeInfo& node : m_graph.nodes)
                if (nodeMatches(pattern, m_graph, node.id))
                    it->second.push_back(node.id);
        return it->second;
    }

    void addStage(const NodeInfo& node, int stage) {
        if (m_stagesDone.count(node.id) > 0)
            return;
        for (const std::string& pattern : nodePatterns(node)) {
            const auto& nodes = matching(pattern);
            const bool right = std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
                const NodeSpecs* specs = specsOf(id);
                return specs && specs->stage == stage;
            });
            if (!right && pattern != nodePatterns(node).back())
                continue;
            m_stagesDone.insert(nodes.begin(), nodes.end());
            m_result.stages.push_back(pattern + "=" + std::to_string(stage));
            return;
        }
    }

    /// "#in1", "#out0"
    static std::string slotOf(const onnx::NodeProto& proto, const std::string& tensor) {
        for (int slot = 0; slot < proto.input_size(); ++slot)
            if (proto.input(slot) == tensor)
                return "#in" + std::to_string(slot);
        for (int slot = 0; slot < proto.output_size(); ++slot)
            if (proto.output(slot) == tensor)
                return "#out" + std::to_string(slot);
        return {};
    }

    static const std::string* tensorIn(const onnx::NodeProto& proto, const std::string& slot) {
        const bool output = slot.starts_with("#out");
        const int number = std::stoi(slot.substr(output ? 4 : 3));
        const auto& names = output ? proto.output() : proto.input();
        return number < names.size() && !names[number].empty() ? &names[number] : nullptr;
    }

    /// "1=tp", "replicated"; empty: no mesh says it.
    std::string layoutText(const Layout& layout, int stage) const {
        const Mesh& mesh = m_analysis.configuration.mesh;
        const auto sharding = decode(mesh, layout);
        if (!sharding)
            return {};
        const DeviceGroup within =
            stage >= 0 ? m_analysis.configuration.stageDevices(stage) : DeviceGroup{};
        const auto again = encode(mesh, *sharding, layout.shape(), within);
        if (!again || !(*again == layout))
            return {};
        std::string text;
        for (std::size_t d = 0; d < sharding->dims.size(); ++d) {
            const auto& components = sharding->dims[d];
            if (std::all_of(components.begin(), components.end(),
                            [](const MeshComponent& c) { return c.axes.empty(); }))
                continue;
            text += (text.empty() ? "" : ",") + std::to_string(d) + "=";
            for (std::size_t i = 0; i < components.size(); ++i)
                text += (i == 0 ? "" : "*") + componentText(components[i], components.size() > 1);
        }
        return text.empty() ? "replicated" : text;
    }

    std::string componentText(const MeshComponent& component, bool several) const {
        std::string axes;
        for (const int axis : component.axes)
            axes += (axes.empty() ? "" : "+") +
                    m_analysis.configuration.mesh.axes[static_cast<std::size_t>(axis)].name;
        if (!several)
            return axes;
        return std::to_string(component.size) + (axes.empty() ? "" : "/" + axes);
    }

    void addSpec(const NodeInfo& node, const NodeSpecs& specs, const DecodedSpec& spec) {
        const std::string slot = slotOf(*node.proto, spec.tensor);
        if (slot.empty() || m_specsDone.count({node.id, slot}) > 0)
            return;
        const std::string text = layoutText(*spec.layout, specs.stage);
        const auto patterns = nodePatterns(node);
        for (const std::string& pattern : patterns) {
            const bool last = &pattern == &patterns.back();
            if (!last && !saysTheSame(pattern, slot, text, *spec.layout))
                continue;
            for (const NodeId id : matching(pattern))
                m_specsDone.insert({id, slot});
            if (text.empty())
                m_result.specs.push_back(
                    {slot, pattern, spec.layout->dims(), spec.layout->groups()});
            else
                m_result.shards.push_back(slot + "@" + pattern + ":" + text);
            return;
        }
    }

    bool saysTheSame(const std::string& pattern, const std::string& slot, const std::string& text,
                     const Layout& layout) {
        const auto& nodes = matching(pattern);
        return std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
            const std::string* tensor = tensorIn(*m_graph.node(id).proto, slot);
            if (!tensor)
                return true;
            const NodeSpecs* specs = specsOf(id);
            const DecodedSpec* spec = specs ? specs->find(*tensor) : nullptr;
            if (!spec || !spec->layout)
                return false;
            return text.empty() ? *spec->layout == layout
                                : layoutText(*spec->layout, specs->stage) == text;
        });
    }

    const Analysis& m_analysis;
    const GraphIndex& m_graph;
    std::unordered_map<std::string, std::vector<NodeId>> m_matching;
    std::set<NodeId> m_stagesDone;
    std::set<std::pair<NodeId, std::string>> m_specsDone;
    PortableAnnotations m_result;
};

}  // namespace

PortableAnnotations exportAnnotations(const Analysis& analysis) {
    return analysis.hasConfiguration ? Exporter(analysis).run() : PortableAnnotations{};
}

}  // namespace shardwright
