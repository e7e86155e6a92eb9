// SPDX-License-Identifier: Apache-2.0
#include "sharding/annotation_reader.h"
#include "sharding/codes.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

namespace shardwright {

namespace {

int stageOf(const NodeSpecsArray& nodes, NodeId node) {
    return node && node.index() < nodes.size() && nodes[node.index()] ? nodes[node.index()]->stage
                                                                      : -1;
}

}  // namespace

void AnnotationReader::checkStages(const NodeSpecsArray& nodes, const std::vector<NodeId>& staged,
                                   std::vector<Diagnostic>& diagnostics) {
    bool later = false, first = false;
    std::vector<NodeId> without;
    for (const NodeId node : staged) {
        const int stage = stageOf(nodes, node);
        first = first || stage == 0;
        later = later || stage > 0;
        checkEdges(node, nodes, diagnostics);
    }
    if (first || !later)
        return;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i] && nodes[i]->stage < 0 && lacksStage(NodeId(i)))
            without.push_back(NodeId(i));
    }
    if (without.empty())
        return;
    const std::string count =
        std::to_string(without.size()) + (without.size() == 1 ? " node" : " nodes");
    Diagnostic diagnostic =
        makeDiagnostic("SW403", NodeId(), {},
                       "no node is in stage 0, and " + count +
                           " with an annotation have no stage: a stage of 0 may have been lost");
    std::vector<Edit> edits;
    for (const NodeId node : without)
        edits.push_back(editStage(m_document, node, m_configuration, 0, m_shapes, m_pool));
    Fix fix{"stage-0", "Put " + count + " into stage 0", {}, 0};
    fix.edit = joinEdits(fix.title, std::move(edits));
    diagnostic.fixes.push_back(std::move(fix));
    diagnostics.push_back(std::move(diagnostic));
}

/// Whether the stage is absent, not merely negative.
bool AnnotationReader::lacksStage(NodeId node) const {
    const NodeAnnotation& annotation = *m_document.annotations.nodes[node.index()];
    return std::none_of(annotation.begin(), annotation.end(), [&](const auto& entry) {
        return entry.configuration_id() == m_configuration.name && entry.has_pipeline_stage();
    });
}

void AnnotationReader::checkEdges(NodeId node, const NodeSpecsArray& nodes,
                                  std::vector<Diagnostic>& diagnostics) const {
    const GraphIndex& graph = m_document.graph();
    const NodeInfo& info = graph.node(node);
    const int stage = stageOf(nodes, node);
    std::vector<ValueId> seen;
    const auto check = [&](ValueId value) {
        if (!value || std::find(seen.begin(), seen.end(), value) != seen.end())
            return;
        const ValueInfo& read = graph.value(value);
        const int before = stageOf(nodes, read.producer);
        if (before <= stage)
            return;
        seen.push_back(value);
        Diagnostic diagnostic = makeDiagnostic("SW402", node, read.name,
                                               "the node is in stage " + std::to_string(stage) +
                                                   " but reads " + quoteName(read.name) + " of " +
                                                   quoteName(graph.label(read.producer)) +
                                                   " in stage " + std::to_string(before));
        const std::string title =
            "Move " + quoteName(graph.label(node)) + " to stage " + std::to_string(before);
        Fix fix{"later-stage", title,
                editStage(m_document, node, m_configuration, before, m_shapes, m_pool), 0};
        fix.edit.title = title;
        diagnostic.fixes.push_back(std::move(fix));
        diagnostics.push_back(std::move(diagnostic));
    };
    std::for_each(info.inputs.begin(), info.inputs.end(), check);
    std::for_each(info.captures.begin(), info.captures.end(), check);
}

}  // namespace shardwright
