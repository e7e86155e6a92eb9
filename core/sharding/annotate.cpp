// SPDX-License-Identifier: Apache-2.0
//
// `annotate` works on a copy of the document, step after step: the configuration and its mesh, the
// devices of stages, the stages of nodes, the layouts. What came out differently is the edit, so
// that a node named by many options is written once.

#include "sharding/annotation_reader.h"
#include "sharding/codes.h"
#include "sharding/glob.h"
#include "sharding/mesh_metadata.h"
#include "sharding/option_layout.h"
#include "sharding/option_targets.h"
#include "sharding/shard_text.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

namespace shardwright {

namespace {

std::optional<int> parseNumber(std::string_view text) {
    int number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

class Annotator {
public:
    Annotator(const Document& document, const ShapeTable& shapes, const AnnotateRequest& request,
              LayoutPool& pool)
        : m_before(document), m_document(document), m_shapes(shapes), m_request(request),
          m_pool(pool) {}

    Result<AnnotateOutcome> run() {
        for (const auto step : {&Annotator::configure, &Annotator::bindStages,
                                &Annotator::setStages, &Annotator::setLayouts}) {
            if (const Result<void> ok = (this->*step)(); !ok)
                return ok.error();
        }
        addWarnings();
        m_outcome.edit = difference();
        return std::move(m_outcome);
    }

private:
    const Document& m_before;
    Document m_document;
    const ShapeTable& m_shapes;
    const AnnotateRequest& m_request;
    LayoutPool& m_pool;
    std::string m_name;
    Configuration m_configuration;
    AnnotateOutcome m_outcome;
    std::set<NodeId> m_touched;

    const GraphIndex& graph() const { return m_document.graph(); }

    Result<void> configure() {
        const std::vector<std::string> names = configurationNames(m_document.annotations);
        m_name = !m_request.configuration.empty()         ? m_request.configuration
                 : names.size() == 1 && !names[0].empty() ? names[0]
                                                          : "default";
        const auto found = std::find(names.begin(), names.end(), m_name);
        if (m_request.mesh.empty()) {
            if (found != names.end())
                return refresh();
            auto missing = findConfiguration(m_document, m_shapes, m_name, m_pool);
            return Error{missing.error().message + "; give --mesh to declare it", {}};
        }
        const auto mesh = Mesh::parse(m_request.mesh);
        if (!mesh)
            return Error{mesh.error().message, "mesh " + quoteName(m_request.mesh)};
        if (found != names.end()) {
            const int declared =
                m_document.annotations
                    .configurations[static_cast<std::size_t>(found - names.begin())]
                    .num_devices();
            if (declared != mesh->deviceCount())
                return Error{
                    "configuration " + quoteName(m_name) + " has " + std::to_string(declared) +
                        " devices, the mesh has " + std::to_string(mesh->deviceCount()) +
                        "; change its mesh or strip the annotations first, or give the mesh "
                        "a configuration of another name",
                    "mesh " + quoteName(m_request.mesh)};
        }
        apply(m_document.annotations, editConfiguration(m_document, m_name, *mesh));
        return refresh();
    }

    Result<void> refresh() {
        auto configuration = findConfiguration(m_document, m_shapes, m_name, m_pool);
        if (!configuration)
            return configuration.error();
        m_configuration = std::move(*configuration);
        return {};
    }

    Result<void> bindStages() {
        std::map<int, const std::string*> given;
        for (const std::string& text : m_request.stageDevices) {
            const std::string place = "--stage-devices " + quoteName(text);
            const std::size_t equals = text.find('=');
            const auto stage = parseNumber(std::string_view(text).substr(0, equals));
            if (equals == std::string::npos || !stage || *stage < 0)
                return Error{"the form is N=DEVICES, such as 0=0-3", place};
            const auto devices = parseDevices(std::string_view(text).substr(equals + 1));
            if (!devices)
                return Error{devices.error().message, place};
            if (devices->back() >= m_configuration.deviceCount)
                return Error{"device " + std::to_string(devices->back()) + " is not one of the " +
                                 std::to_string(m_configuration.deviceCount) +
                                 " devices of configuration " + quoteName(m_name),
                             place};
            const auto [entry, added] = given.try_emplace(*stage, &text);
            if (!added)
                m_outcome.warnings.push_back(place + " replaces --stage-devices " +
                                             quoteName(*entry->second));
            entry->second = &text;
            apply(m_document.annotations, editStageDevices(m_document, m_name, *stage, *devices));
        }
        return given.empty() ? Result<void>() : refresh();
    }

    Result<void> setStages() {
        std::map<NodeId, std::pair<std::size_t, int>>
            stages;  // The option that set it, and the stage.
        for (std::size_t i = 0; i < m_request.stages.size(); ++i) {
            const std::string& text = m_request.stages[i];
            const std::string place = "--stage " + quoteName(text);
            const std::size_t equals = findLastUnescaped(text, '=');
            const auto stage = equals == std::string::npos
                                   ? std::nullopt
                                   : parseNumber(std::string_view(text).substr(equals + 1));
            if (!stage || *stage < 0 || equals == 0)
                return Error{"the form is NODE=N with a stage N of at least 0", place};
            const std::string pattern = text.substr(0, equals);
            std::map<std::size_t, std::vector<NodeId>> replaced;
            bool any = false;
            for (const NodeInfo& node : graph().nodes) {
                if (!nodeMatches(pattern, graph(), node.id))
                    continue;
                any = true;
                const auto [entry, added] = stages.try_emplace(node.id, i, *stage);
                if (!added && entry->second.second != *stage)
                    replaced[entry->second.first].push_back(node.id);
                entry->second = {i, *stage};
            }
            if (!any)
                return noNodeMatches(graph(), pattern, place);
            for (const auto& [earlier, nodes] : replaced)
                m_outcome.warnings.push_back(place + " replaces --stage " +
                                             quoteName(m_request.stages[earlier]) + " at " +
                                             countText(nodes));
        }
        for (const auto& [node, choice] : stages) {
            apply(m_document.annotations,
                  editStage(m_document, node, m_configuration, choice.second, m_shapes, m_pool));
            m_touched.insert(node);
        }
        return {};
    }

    /// "'mm1'", "'mm1' and 4 more"
    std::string countText(const std::vector<NodeId>& nodes) const {
        return quoteName(graph().label(nodes[0])) +
               (nodes.size() > 1 ? " and " + std::to_string(nodes.size() - 1) + " more" : "");
    }

    Result<void> setLayouts() {
        if (m_request.shards.empty())
            return {};
        const TensorIndex index(graph());
        std::vector<ShardOption> options;
        std::map<Target, std::size_t> winners;
        for (const std::string& text : m_request.shards) {
            auto option = ShardOption::parse(text);
            if (!option)
                return option.error();
            const std::vector<Target> targets = targetsOf(*option, graph(), index);
            if (targets.empty())
                return noTargetOf(*option, graph(), index);
            std::set<std::string_view> tensors;
            std::set<NodeId> nodes;
            for (const auto& [node, tensor] : targets) {
                nodes.insert(node);
                tensors.insert(tensor);
            }
            m_outcome.matches.push_back(
                {text, static_cast<int>(tensors.size()), static_cast<int>(nodes.size())});
            std::map<std::size_t, std::vector<Target>> replaced;
            for (const Target& target : targets) {
                const auto [entry, added] = winners.try_emplace(target, options.size());
                if (!added && entry->second != options.size())
                    replaced[entry->second].push_back(target);
                entry->second = options.size();
            }
            for (const auto& [earlier, list] : replaced)
                m_outcome.warnings.push_back(replacedText(text, m_request.shards[earlier], list));
            options.push_back(std::move(*option));
        }
        AnnotationReader reader(m_document, m_shapes, m_configuration, m_pool);
        for (const auto& [target, option] : winners) {
            if (const Result<void> ok = setLayout(options[option], target, reader); !ok)
                return ok;
        }
        return {};
    }

    std::string replacedText(const std::string& later, const std::string& earlier,
                             const std::vector<Target>& targets) const {
        return "--shard " + quoteName(later) + " replaces --shard " + quoteName(earlier) + " for " +
               quoteName(targets[0].second) + " at " + quoteName(graph().label(targets[0].first)) +
               (targets.size() > 1 ? " and " + std::to_string(targets.size() - 1) + " more" : "");
    }

    Result<void> setLayout(const ShardOption& option, const Target& target,
                           AnnotationReader& reader) {
        const NodeId node = target.first;
        const std::string& tensor = target.second;
        const ValueId value = tensorAt(graph(), node, tensor);
        const TensorInfo& info = m_shapes.of(value);
        const auto fail = [&](const std::string& message) {
            return Error{quoteName(tensor) + " at " + quoteName(graph().label(node)) + ": " +
                             message,
                         "--shard " + quoteName(option.text)};
        };
        if (info.kind == TensorInfo::Kind::Other)
            return fail("not a tensor");
        const auto specs = reader.read(node, nullptr);
        const int stage = specs ? specs->stage : -1;
        const DeviceGroup within = stage >= 0 ? m_configuration.stageDevices(stage) : DeviceGroup{};
        const Result<Layout> layout = layoutOfOption(option, m_configuration.mesh, info, within);
        if (!layout)
            return fail(layout.error().message);
        apply(m_document.annotations, editSpec(m_document, node, m_name, tensor, &*layout, info));
        m_touched.insert(node);
        ++m_outcome.specs;
        return {};
    }

    /// What the checker warns of at the nodes that were annotated, and stages that now decrease.
    void addWarnings() {
        constexpr std::size_t kMaxWarnings = 20;
        std::vector<Diagnostic> diagnostics;
        AnnotationReader reader(m_document, m_shapes, m_configuration, m_pool);
        for (const NodeId node : m_touched)
            reader.read(node, &diagnostics);
        if (!m_request.stages.empty()) {
            const DecodedAnnotations decoded =
                decodeAnnotations(m_document, m_shapes, m_configuration, m_pool);
            reader.checkStages(decoded.nodes, decoded.staged, diagnostics);
        }
        std::erase_if(diagnostics, [](const Diagnostic& d) {
            return d.severity != Severity::Warning && d.severity != Severity::Error;
        });
        for (std::size_t i = 0; i < diagnostics.size() && i < kMaxWarnings; ++i) {
            const Diagnostic& d = diagnostics[i];
            m_outcome.warnings.push_back(d.code +
                                         (d.node ? " at " + quoteName(graph().label(d.node)) : "") +
                                         ": " + d.message);
        }
        if (diagnostics.size() > kMaxWarnings)
            m_outcome.warnings.push_back(std::to_string(diagnostics.size() - kMaxWarnings) +
                                         " more warnings; `check` shows all");
    }

    Edit difference() const {
        const Annotations& before = m_before.annotations;
        const Annotations& after = m_document.annotations;
        Edit edit{"Annotate " + std::to_string(m_touched.size()) +
                      (m_touched.size() == 1 ? " node" : " nodes"),
                  {}};
        Annotations a, b;
        a.configurations = before.configurations;
        b.configurations = after.configurations;
        if (!a.sameAs(b))
            edit.steps.push_back(SetConfigurations{
                std::make_shared<const std::vector<onnx::DeviceConfigurationProto>>(
                    after.configurations)});
        for (const auto& [key, value] : after.metadata) {
            const auto old = before.metadata.find(key);
            if (old == before.metadata.end() || old->second != value)
                edit.steps.push_back(SetMetadata{key, value});
        }
        for (const NodeId node : m_touched) {
            const auto old =
                node.index() < before.nodes.size() ? before.nodes[node.index()] : nullptr;
            if (!sameAnnotation(old, after.nodes[node.index()]))
                edit.steps.push_back(SetNodeAnnotation{node, after.nodes[node.index()]});
        }
        return edit;
    }
};

}  // namespace

Result<AnnotateOutcome> annotate(const Document& document, const ShapeTable& shapes,
                                 const AnnotateRequest& request, LayoutPool& pool) {
    return Annotator(document, shapes, request, pool).run();
}

}  // namespace shardwright
