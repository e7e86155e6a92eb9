// SPDX-License-Identifier: Apache-2.0
//
// What one node says in one configuration. No cascade: an annotation of an unknown configuration is
// one error, a spec whose tensor is not there is one error, and nothing inside of them is looked
// at.

#include "sharding/annotation_reader.h"

#include "sharding/codes.h"
#include "sharding/mesh_metadata.h"
#include "sharding/spec_fixes.h"
#include "sharding/spec_reader.h"

#include <algorithm>

namespace shardwright {

Diagnostic makeDiagnostic(const char* code, NodeId node, std::string tensor, std::string message) {
    Diagnostic diagnostic;
    diagnostic.code = code;
    const CodeInfo* info = findShardingCode(code);
    assert(info);
    diagnostic.severity = info ? info->severity : Severity::Error;
    diagnostic.node = node;
    diagnostic.tensor = std::move(tensor);
    diagnostic.message = std::move(message);
    return diagnostic;
}

ValueId tensorAt(const GraphIndex& graph, NodeId node, std::string_view name) {
    if (name.empty())
        return {};
    const NodeInfo& info = graph.node(node);
    const auto find = [&](const auto& names, const std::vector<ValueId>& values) {
        const auto found = std::find(names.begin(), names.end(), name);
        return found == names.end() ? ValueId()
                                    : values[static_cast<std::size_t>(found - names.begin())];
    };
    const ValueId input = find(info.proto->input(), info.inputs);
    return input ? input : find(info.proto->output(), info.outputs);
}

class NodeReader {
public:
    NodeReader(AnnotationReader& shared, NodeId node, std::vector<Diagnostic>* diagnostics)
        : m_shared(shared), m_node(node), m_diagnostics(diagnostics),
          m_annotation(*shared.m_document.annotations.nodes[node.index()]) {}

    std::shared_ptr<const NodeSpecs> run() {
        std::vector<int> entries;
        for (std::size_t i = 0; i < m_annotation.size(); ++i) {
            const std::string& name = m_annotation[i].configuration_id();
            if (name.empty())
                tellMissing(static_cast<int>(i));
            else if (!m_shared.m_declared.contains(name))
                tellUnknown(name);
            else if (name == m_shared.m_configuration.name)
                entries.push_back(static_cast<int>(i));
        }
        if (entries.empty())
            return nullptr;
        if (entries.size() > 1)
            tellSeveral(entries);
        m_specs = std::make_shared<NodeSpecs>();
        for (const int entry : entries)
            readStage(entry);
        for (const int entry : entries) {
            for (int spec = 0; spec < proto(entry).sharding_spec_size(); ++spec)
                readOne(entry, spec);
        }
        return m_specs;
    }

private:
    AnnotationReader& m_shared;
    NodeId m_node;
    std::vector<Diagnostic>* m_diagnostics;
    const NodeAnnotation& m_annotation;
    std::shared_ptr<NodeSpecs> m_specs;
    std::vector<const onnx::ShardingSpecProto*> m_read;  ///< Of each entry of m_specs->specs.

    const Document& document() const { return m_shared.m_document; }
    const Configuration& configuration() const { return m_shared.m_configuration; }
    const onnx::NodeDeviceConfigurationProto& proto(int entry) const {
        return m_annotation[static_cast<std::size_t>(entry)];
    }

    Diagnostic* tell(const char* code, const std::string& tensor, std::string message) {
        if (!m_diagnostics)
            return nullptr;
        m_diagnostics->push_back(makeDiagnostic(code, m_node, tensor, std::move(message)));
        return &m_diagnostics->back();
    }

    void tellMissing(int entry) {
        Diagnostic* diagnostic =
            tell("SW111", {}, "the annotation does not name its device configuration");
        if (!diagnostic || m_shared.m_declared.size() != 1)
            return;
        const std::string& name = *m_shared.m_declared.begin();
        diagnostic->fixes.push_back(
            nodeFix(document(), m_node, "use-configuration", "Use configuration " + quoteName(name),
                    [&](NodeAnnotation& annotation) {
                        annotation[static_cast<std::size_t>(entry)].set_configuration_id(name);
                    }));
    }

    void tellUnknown(const std::string& name) {
        Diagnostic* diagnostic =
            tell("SW110", {}, "the model has no device configuration " + quoteName(name));
        if (!diagnostic)
            return;
        diagnostic->fixes = m_shared.unknownFixes(name);
        if (m_shared.m_declared.size() != 1)
            return;
        const std::string& declared = *m_shared.m_declared.begin();
        diagnostic->fixes.push_back(
            nodeFix(document(), m_node, "use-configuration",
                    "Use configuration " + quoteName(declared) + " at this node",
                    [&](NodeAnnotation& annotation) {
                        for (auto& entry : annotation) {
                            if (entry.configuration_id() == name)
                                entry.set_configuration_id(declared);
                        }
                    }));
    }

    void tellSeveral(const std::vector<int>& entries) {
        Diagnostic* diagnostic = tell(
            "SW112", {},
            "the node has " + std::to_string(entries.size()) + " annotations of configuration " +
                quoteName(configuration().name) + "; they count together");
        if (!diagnostic)
            return;
        diagnostic->fixes.push_back(
            nodeFix(document(), m_node, "merge", "Merge them", [&](NodeAnnotation& annotation) {
                auto& first = annotation[static_cast<std::size_t>(entries[0])];
                for (std::size_t i = 1; i < entries.size(); ++i) {
                    auto& other = annotation[static_cast<std::size_t>(entries[i])];
                    if (first.has_pipeline_stage())
                        other
                            .clear_pipeline_stage();  // The first stage counts, here as in reading.
                    first.MergeFrom(other);
                }
                for (std::size_t i = entries.size(); i-- > 1;)
                    annotation.erase(annotation.begin() + entries[i]);
            }));
    }

    void readStage(int entry) {
        if (!proto(entry).has_pipeline_stage() || m_specs->stage >= 0)
            return;
        const int stage = proto(entry).pipeline_stage();
        if (stage >= 0) {
            m_specs->stage = stage;
            return;
        }
        Diagnostic* diagnostic = tell("SW401", {},
                                      "pipeline stage " + std::to_string(stage) +
                                          " is negative and is taken as no stage");
        if (diagnostic)
            diagnostic->fixes.push_back(
                nodeFix(document(), m_node, "remove-stage", "Remove the stage",
                        [&](NodeAnnotation& annotation) {
                            annotation[static_cast<std::size_t>(entry)].clear_pipeline_stage();
                        }));
    }

    void readOne(int entry, int index) {
        const onnx::ShardingSpecProto& spec = proto(entry).sharding_spec(index);
        const std::string& name = spec.tensor_name();
        if (name.empty()) {
            tellNoTensor("SW113", "a spec does not name its tensor", entry, index);
            return;
        }
        const ValueId value = tensorAt(document().graph(), m_node, name);
        if (!value) {
            tellNoTensor("SW114",
                         quoteName(name) + " is neither an input nor an output of the node", entry,
                         index);
            return;
        }
        const TensorInfo& info = m_shared.m_shapes.of(value);
        SpecReading reading =
            readSpec(spec, name, info, configuration().deviceCount, m_shared.m_shapes.bindings());
        LayoutRef layout = reading.layout ? m_shared.m_pool.intern(*reading.layout) : nullptr;
        if (const DecodedSpec* earlier = m_specs->find(name)) {
            tellTwice(*earlier, layout, entry, index);
            return;
        }
        tellFindings(reading, entry, index);
        if (layout)
            checkStageDevices(*layout, info, entry, index);
        m_specs->specs.push_back({name, std::move(layout)});
        m_read.push_back(&spec);
    }

    void tellNoTensor(const char* code, std::string message, int entry, int index) {
        const onnx::ShardingSpecProto& spec = proto(entry).sharding_spec(index);
        Diagnostic* diagnostic = tell(code, spec.tensor_name(), std::move(message));
        if (!diagnostic)
            return;
        const auto meant =
            meantTensor(document().graph(), m_shared.m_shapes, m_node, proto(entry), spec);
        if (meant) {
            diagnostic->message += "; perhaps " + quoteName(*meant) + " is meant";
            diagnostic->fixes.push_back(nodeFix(document(), m_node, "rename-tensor",
                                                "Take " + quoteName(*meant),
                                                [&](NodeAnnotation& annotation) {
                                                    annotation[static_cast<std::size_t>(entry)]
                                                        .mutable_sharding_spec(index)
                                                        ->set_tensor_name(*meant);
                                                }));
        }
        diagnostic->fixes.push_back(removeSpecFix(document(), m_node, entry, index));
    }

    void tellTwice(const DecodedSpec& earlier, const LayoutRef& layout, int entry, int index) {
        const onnx::ShardingSpecProto& spec = proto(entry).sharding_spec(index);
        const onnx::ShardingSpecProto& first =
            *m_read[static_cast<std::size_t>(&earlier - m_specs->specs.data())];
        const bool equal =
            layout ? earlier.layout == layout
                   : !earlier.layout && first.SerializeAsString() == spec.SerializeAsString();
        if (equal)
            return;
        Diagnostic* diagnostic =
            tell("SW115", earlier.tensor,
                 quoteName(earlier.tensor) + " has two specs that mean different layouts; the "
                                             "first one is used");
        if (!diagnostic)
            return;
        diagnostic->fixes.push_back(removeSpecFix(document(), m_node, entry, index));
        diagnostic->fixes.back().title = "Remove the second spec of " + quoteName(earlier.tensor);
        diagnostic->fixes.back().edit.title = diagnostic->fixes.back().title;
    }

    void tellFindings(const SpecReading& reading, int entry, int index) {
        if (!m_diagnostics)
            return;
        for (const SpecFinding& finding : reading.findings) {
            Diagnostic* diagnostic = tell(
                finding.code, proto(entry).sharding_spec(index).tensor_name(), finding.message);
            diagnostic->dimension = finding.dimension;
            diagnostic->fixes = fixesOfFinding(document(), m_node, entry, index, finding, reading,
                                               configuration().deviceCount);
        }
    }

    void checkStageDevices(const Layout& layout, const TensorInfo& info, int entry, int index) {
        if (!m_diagnostics || m_specs->stage < 0)
            return;
        const DeviceGroup bound = configuration().stageDevices(m_specs->stage);
        if (bound.empty() || std::includes(bound.begin(), bound.end(), layout.devices().begin(),
                                           layout.devices().end()))
            return;
        DeviceGroup outside;
        std::set_difference(layout.devices().begin(), layout.devices().end(), bound.begin(),
                            bound.end(), std::back_inserter(outside));
        const std::string& name = proto(entry).sharding_spec(index).tensor_name();
        Diagnostic* diagnostic = tell("SW404", name,
                                      quoteName(name) + " lies on device " + devicesText(outside) +
                                          ", but stage " + std::to_string(m_specs->stage) +
                                          " of the node is bound to devices " + devicesText(bound));
        const auto sharding = decode(configuration().mesh, layout);
        if (!sharding)
            return;
        const Result<Layout> moved = encode(configuration().mesh, *sharding, layout.shape(), bound);
        if (!moved)
            return;
        Fix fix{"move-to-stage",
                "Move the layout to the devices of stage " + std::to_string(m_specs->stage),
                {},
                0};
        fix.edit = editSpec(document(), m_node, configuration().name, name, &*moved, info);
        fix.edit.title = fix.title;
        diagnostic->fixes.push_back(std::move(fix));
    }
};

AnnotationReader::AnnotationReader(const Document& document, const ShapeTable& shapes,
                                   const Configuration& configuration, LayoutPool& pool)
    : m_document(document), m_shapes(shapes), m_configuration(configuration), m_pool(pool) {
    for (const auto& declared : document.annotations.configurations) {
        if (!declared.name().empty())
            m_declared.insert(declared.name());
    }
}

std::shared_ptr<const NodeSpecs> AnnotationReader::read(NodeId node,
                                                        std::vector<Diagnostic>* diagnostics) {
    const auto& nodes = m_document.annotations.nodes;
    if (node.index() >= nodes.size() || node.index() >= m_document.graph().nodes.size() ||
        !nodes[node.index()])
        return nullptr;
    return NodeReader(*this, node, diagnostics).run();
}

const std::vector<Fix>& AnnotationReader::unknownFixes(const std::string& name) {
    const auto [found, added] = m_unknownFixes.try_emplace(name);
    if (added)
        found->second.push_back(declareFix(m_document, name));
    return found->second;
}

}  // namespace shardwright
