// SPDX-License-Identifier: Apache-2.0
#include "model/annotation_writer.h"

#include "model/graph_walk.h"

#include <algorithm>

namespace shardwright {

namespace {

/// The first version of the IR with device configurations.
constexpr std::int64_t kFirstAnnotatedIr = 11;

bool writeConfigurations(const Annotations& before, const Annotations& after,
                         onnx::ModelProto& proto) {
    Annotations a;
    Annotations b;
    a.configurations = before.configurations;
    b.configurations = after.configurations;
    if (a.sameAs(b))
        return false;
    proto.mutable_configuration()->Clear();
    proto.mutable_configuration()->Add(after.configurations.begin(), after.configurations.end());
    return true;
}

bool writeMetadata(const Annotations& before, const Annotations& after, onnx::ModelProto& proto) {
    if (before.metadata == after.metadata)
        return false;
    std::map<std::string, std::string> rest = after.metadata;
    auto* entries = proto.mutable_metadata_props();
    for (int i = 0; i < entries->size();) {
        auto* entry = entries->Mutable(i);
        const std::string& key = entry->key();
        const auto old = before.metadata.find(key);
        const auto now = after.metadata.find(key);
        const bool ours = old != before.metadata.end();
        const bool differs = ours && (now == after.metadata.end() || now->second != old->second);
        const auto unwritten = rest.find(key);
        if (differs && unwritten == rest.end()) {
            entries->DeleteSubrange(i, 1);  // Removed, or a second entry of a key that was changed.
            continue;
        }
        if (differs)
            entry->set_value(unwritten->second);
        if (unwritten != rest.end())
            rest.erase(unwritten);
        ++i;
    }
    for (const auto& [key, value] : rest) {
        auto* entry = entries->Add();
        entry->set_key(key);
        entry->set_value(value);
    }
    return true;
}

bool isAnnotated(const Annotations& annotations) {
    return !annotations.configurations.empty() ||
           std::any_of(annotations.nodes.begin(), annotations.nodes.end(),
                       [](const auto& node) { return node && !node->empty(); });
}

}  // namespace

std::vector<NodeId> changedNodes(const Annotations& before, const Annotations& after) {
    std::vector<NodeId> changed;
    for (std::size_t i = 0; i < before.nodes.size(); ++i) {
        if (!sameAnnotation(before.nodes[i], i < after.nodes.size() ? after.nodes[i] : nullptr))
            changed.push_back(NodeId(i));
    }
    return changed;
}

void writeModelFields(const Annotations& before, const Annotations& after,
                      onnx::ModelProto& proto) {
    bool changed = writeConfigurations(before, after, proto);
    changed = writeMetadata(before, after, proto) || changed;
    if (after.irVersion > before.irVersion)
        proto.set_ir_version(after.irVersion);
    if ((changed || !changedNodes(before, after).empty()) && isAnnotated(after))
        proto.set_ir_version(std::max<std::int64_t>(proto.ir_version(), kFirstAnnotatedIr));
}

void writeAnnotations(const Model& model, const Annotations& annotations, onnx::ModelProto& proto) {
    const Annotations before = model.annotations();
    writeModelFields(before, annotations, proto);
    const std::vector<NodeId> changed = changedNodes(before, annotations);
    if (changed.empty())
        return;
    const auto graphs = listGraphs(proto);
    auto graph = graphs.begin();
    for (const NodeId id : changed) {
        while (id.value >= graph->firstNode.value + graph->nodes->size())
            ++graph;
        auto* list = graph->nodes->Mutable(id.value - graph->firstNode.value)
                         ->mutable_device_configurations();
        list->Clear();
        if (id.index() < annotations.nodes.size() && annotations.nodes[id.index()])
            list->Add(annotations.nodes[id.index()]->begin(), annotations.nodes[id.index()]->end());
    }
}

}  // namespace shardwright
