// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/canvas/arrangement.h"
#include "ui/canvas/placed_scene.h"
#include "ui/canvas/scene_structure.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace shardwright {

/// Layouts by content: scopes of equal structure share one. Immutable; a job gives back a grown
/// copy.
using LayoutStore =
    std::unordered_multimap<std::uint64_t, std::pair<std::shared_ptr<const LayoutInput>,
                                                     std::shared_ptr<const RankedLayout>>>;

/// What a placing job needs, by value: safe to hand to another thread.
struct SceneRequest {
    std::shared_ptr<const SceneStructure> structure;
    std::vector<bool> open;  ///< By scope; the root is always open.
    std::shared_ptr<const LayoutStore> layouts;
    std::vector<std::shared_ptr<const Arrangement>>
        arrangements;  ///< By scope; what is known from before.
    bool useGraphviz = true;
};

struct SceneResult {
    std::shared_ptr<const PlacedScene> scene;  ///< Null: cancelled.
    std::shared_ptr<const LayoutStore> layouts;
    std::vector<std::shared_ptr<const Arrangement>> arrangements;
    int scopesLaidOut = 0;   ///< Layouts made for this result, not taken from the store.
    int scopesArranged = 0;  ///< Scopes whose sizes changed because something inside did.
};

/// Lays out what is open and places everything. Depends on nothing but its argument.
SceneResult placeScene(const SceneRequest& request, const CancelToken& = {});

/// The drawing of one model with its open and closed scopes.
class GraphScene {
public:
    explicit GraphScene(std::shared_ptr<const SceneStructure> structure);
    /// With the scopes open that are open in another drawing of the same model.
    GraphScene(std::shared_ptr<const SceneStructure> structure, std::vector<bool> open);

    const SceneStructure& structure() const { return *m_structure; }
    bool isExpanded(ScopeId scope) const { return m_open[scope.index()]; }
    const std::vector<bool>& openScopes() const { return m_open; }
    /// True when that changed anything.
    bool setExpanded(ScopeId scope, bool expanded);
    void expandAll();
    void collapseAll();
    /// Opens every scope around the node (around the scope). True when that changed anything.
    bool reveal(NodeId node);
    bool reveal(ScopeId scope);
    void setUseGraphviz(bool use) { m_useGraphviz = use; }

    SceneRequest request() const;
    void accept(const SceneResult& result);  ///< Keeps the layouts for the next request.
    /// Places here and now.
    std::shared_ptr<const PlacedScene> place(const CancelToken& = {});
    int scopesLaidOut() const { return m_scopesLaidOut; }  ///< Since the beginning.

private:
    void openSmallScopes();

    std::shared_ptr<const SceneStructure> m_structure;
    std::vector<bool> m_open;
    std::shared_ptr<const LayoutStore> m_layouts;
    std::vector<std::shared_ptr<const Arrangement>> m_arrangements;
    bool m_useGraphviz = true;
    int m_scopesLaidOut = 0;
};

}  // namespace shardwright
