// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"
#include "model/persistent_array.h"
#include "ui/canvas/scene_structure.h"

#include <QHash>
#include <QString>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace shardwright {

/// Whether a dimension's symbol says something to people: not one that this program or libonnx
/// (`unk__12`) made up for a size that it did not know.
bool isNamedSymbol(const std::string& symbol);

/// One collective to draw beside a line.
struct CommunicationMark {
    CollectiveKind kind = CollectiveKind::Region;
    CommPhase phase = CommPhase::Output;
    ValueId value;
    std::int64_t bytes = 0;  ///< All groups.
    int operations = 0;
    bool shared = false;  ///< At a further reader of a reshard that is counted elsewhere.
};

/// What is drawn over one node.
struct NodeMarks {
    int stage = -1;
    bool explicitLayout = false;     ///< Some spec of this node is in the file.
    std::vector<int> axes;           ///< Mesh axes that split what it reads or makes, in order.
    std::vector<int> explicitAxes;   ///< Those of them that its own specs name, in order.
    std::vector<int> communication;  ///< Into Overlay::communication().
    int errors = 0, warnings = 0;
};

/// What is drawn on a closed scope.
struct ScopeMarks {
    int collectives = 0;
    std::int64_t bytes = 0;
    int errors = 0, warnings = 0;
    int annotated = 0;
    int firstStage = -1, lastStage = -1;
    std::vector<int> axes;
};

/// What an Analysis says, by what is drawn. Immutable; built in a worker.
class Overlay {
public:
    /// `before`: what was drawn last. A piece of an analysis is put over it where it is of the
    /// completion that the piece goes on from; else nothing is known but the piece.
    static std::shared_ptr<const Overlay> build(std::shared_ptr<const Analysis> analysis,
                                                const SceneStructure& structure,
                                                const CancelToken& = {},
                                                const Overlay* before = nullptr);

    const Analysis& analysis() const { return *m_analysis; }
    const NodeMarks& node(NodeId id) const { return m_nodes[id.index()]; }
    const ScopeMarks& scope(ScopeId id) const { return m_scopes[id.index()]; }
    const std::vector<CommunicationMark>& communication() const { return m_communication; }
    /// Mesh axes that split the value where it is produced.
    const std::vector<int>& axesOf(ValueId value) const;
    QString axisName(int axis) const;
    QString shapeText(ValueId value) const;
    QString layoutText(ValueId value) const;  ///< Empty where the value lies whole on every device.
    QString layoutText(const LayoutRef& layout) const;
    bool isExplicit(ValueId value) const;

private:
    friend class OverlayBuilder;
    std::shared_ptr<const Analysis> m_analysis;
    std::uint64_t m_ground = 0;  ///< Revision of the last whole meaning in it; 0: none.
    PersistentArray<NodeMarks> m_nodes;
    std::vector<ScopeMarks> m_scopes;
    std::vector<CommunicationMark> m_communication;
    std::unordered_map<const Layout*, std::vector<int>> m_axes;
    std::unordered_map<const Layout*, QString> m_texts;
};

}  // namespace shardwright
