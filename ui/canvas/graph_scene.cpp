// SPDX-License-Identifier: Apache-2.0
#include "ui/canvas/graph_scene.h"

#include <algorithm>

namespace shardwright {

namespace {
/// A drawing of about this many boxes is taken in at one look.
constexpr int kComfortable = 48;
constexpr int kSmallModel = 60;
}  // namespace

GraphScene::GraphScene(std::shared_ptr<const SceneStructure> structure)
    : m_structure(std::move(structure)), m_open(m_structure->scopeCount()),
      m_layouts(std::make_shared<LayoutStore>()), m_arrangements(m_structure->scopeCount()) {
    openSmallScopes();
}

GraphScene::GraphScene(std::shared_ptr<const SceneStructure> structure, std::vector<bool> open)
    : m_structure(std::move(structure)), m_open(std::move(open)),
      m_layouts(std::make_shared<LayoutStore>()), m_arrangements(m_structure->scopeCount()) {
    m_open.resize(m_structure->scopeCount());
    m_open[0] = true;
}

/// A model opens with what can be taken in at one look: small ones whole, others with the outer
/// scopes open.
void GraphScene::openSmallScopes() {
    m_open[0] = true;
    const auto& order = m_structure->scopesInnerLast();
    int boxes = static_cast<int>(m_structure->container(ScopeId(0)).items.size());
    const int total = m_structure->container(ScopeId(0)).nodesInside;
    const bool whole = total <= kSmallModel;
    for (std::size_t i = 1; i < order.size(); ++i) {
        const SceneContainer& inside = m_structure->container(order[i]);
        const int more = static_cast<int>(inside.items.size());
        const bool alone = more == 1 || boxes <= 8;
        // The one scope that holds nearly everything says nothing while it is closed.
        const bool dominant = inside.nodesInside * 5 >= total * 4 && more <= 3 * kComfortable;
        const bool fits = whole || alone || dominant || boxes + more <= kComfortable;
        if (!inside.drawn || !m_open[inside.parent.index()] || !fits || more > 200)
            continue;
        m_open[order[i].index()] = true;
        boxes += more;
    }
}

bool GraphScene::setExpanded(ScopeId scope, bool expanded) {
    if (!scope || scope.index() == 0 || scope.index() >= m_open.size() ||
        m_open[scope.index()] == expanded || !m_structure->container(scope).drawn)
        return false;
    m_open[scope.index()] = expanded;
    return true;
}

void GraphScene::expandAll() {
    m_open.assign(m_open.size(), true);
}

void GraphScene::collapseAll() {
    m_open.assign(m_open.size(), false);
    m_open[0] = true;
}

bool GraphScene::reveal(ScopeId scope) {
    bool changed = false;
    for (scope = m_structure->container(scope).parent; scope && scope.index() != 0;
         scope = m_structure->container(scope).parent)
        changed |= setExpanded(scope, true);
    return changed;
}

bool GraphScene::reveal(NodeId node) {
    const ScopeId scope = m_structure->place(node).scope;
    const bool outer = reveal(scope);
    return setExpanded(scope, true) || outer;
}

SceneRequest GraphScene::request() const {
    return {m_structure, m_open, m_layouts, m_arrangements, m_useGraphviz};
}

void GraphScene::accept(const SceneResult& result) {
    m_layouts = result.layouts;
    m_arrangements = result.arrangements;
    m_scopesLaidOut += result.scopesLaidOut;
}

std::shared_ptr<const PlacedScene> GraphScene::place(const CancelToken& cancel) {
    const SceneResult result = placeScene(request(), cancel);
    if (result.scene)
        accept(result);
    return result.scene;
}

}  // namespace shardwright
