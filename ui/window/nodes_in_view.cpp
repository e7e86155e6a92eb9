// SPDX-License-Identifier: Apache-2.0
#include "ui/window/nodes_in_view.h"

#include "ui/canvas/graph_canvas.h"
#include "ui/canvas/placed_scene.h"
#include "ui/panels/scope_facts.h"

namespace shardwright {

std::vector<NodeId> nodesInView(const GraphCanvas& canvas) {
    std::vector<NodeId> nodes = canvas.nodesInView();
    const auto scene = canvas.scene();
    if (!scene)
        return nodes;
    const QList<NodeId> selected = canvas.selectedNodes();
    nodes.insert(nodes.end(), selected.begin(), selected.end());
    std::vector<ScopeId> scopes = canvas.closedScopesInView();
    if (const ScopeId scope = canvas.selectedScope())
        scopes.push_back(scope);
    for (const ScopeId scope : scopes) {
        const auto inside = nodesIn(scene->graph(), scope);
        nodes.insert(nodes.end(), inside.begin(), inside.end());
    }
    return nodes;
}

}  // namespace shardwright
