// SPDX-License-Identifier: Apache-2.0
#include "ui/canvas/overlay.h"

#include "sharding/shard_text.h"
#include "ui/canvas/text_metrics.h"

#include <QLocale>
#include <QStringList>

#include <algorithm>
#include <optional>

namespace shardwright {

namespace {

void addAxis(std::vector<int>& axes, int axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end())
        axes.push_back(axis);
}

}  // namespace

bool isNamedSymbol(const std::string& symbol) {
    return !symbol.empty() && !isGeneratedSymbol(symbol) && !symbol.starts_with("unk__");
}

class OverlayBuilder {
public:
    OverlayBuilder(std::shared_ptr<const Analysis> analysis, const SceneStructure& structure,
                   const Overlay* before)
        : m_analysis(*analysis), m_structure(structure), m_out(std::make_shared<Overlay>()) {
        const Meaning& meaning = m_analysis.meaning;
        if (m_analysis.isPiece() && meaning.basis != 0 && before &&
            before->m_ground == meaning.basis) {
            *m_out = *before;
            m_nodes.emplace(m_out->m_nodes);
        } else {
            m_out->m_ground = m_analysis.isPiece() ? 0 : meaning.revision;
            m_nodes.emplace(m_analysis.graph().nodes.size());
        }
        m_out->m_analysis = std::move(analysis);
        m_out->m_scopes.assign(m_analysis.graph().scopes.size(), {});
    }

    std::shared_ptr<const Overlay> run(const CancelToken& cancel) {
        addNodes();
        if (cancel.cancelled())
            return nullptr;
        addCommunication();
        addDiagnostics();
        sumScopes();
        m_out->m_nodes = std::move(*m_nodes).finish();
        return m_out;
    }

private:
    void addNodes() {
        if (!m_analysis.isPiece()) {
            for (std::size_t v = 0; v < m_analysis.meaning.values.size(); ++v)
                learn(m_analysis.meaning.values[v].layout);
            for (std::size_t n = 0; n < m_analysis.graph().nodes.size(); ++n)
                addNode(NodeId(n));
            return;
        }
        for (const NodeId id : m_analysis.piece) {
            const NodeInfo& node = m_analysis.graph().node(id);
            for (const auto* values : {&node.inputs, &node.outputs})
                for (const ValueId value : *values)
                    if (value)
                        learn(m_analysis.meaning.values[value.index()].layout);
            m_nodes->edit(id.index()) = {};
            addNode(id);
        }
    }

    void learn(const LayoutRef& layout) {
        if (!layout || m_out->m_axes.contains(layout.get()))
            return;
        std::vector<int> axes;
        if (const auto sharding = decode(m_analysis.configuration.mesh, *layout)) {
            for (const auto& dimension : sharding->dims) {
                for (const MeshComponent& component : dimension) {
                    for (const int axis : component.axes)
                        addAxis(axes, axis);
                }
            }
        }
        m_out->m_axes.emplace(layout.get(), std::move(axes));
        m_out->m_texts.emplace(layout.get(), QString::fromStdString(shortText(
                                                 *layout, m_analysis.configuration.mesh)));
    }

    void addNode(NodeId id) {
        if (!m_analysis.hasConfiguration || id.index() >= m_analysis.meaning.nodes.size())
            return;
        const NodeMeaning& meaning = m_analysis.meaning.nodes[id.index()];
        NodeMarks& marks = m_nodes->edit(id.index());
        for (const auto* side : {&meaning.outputs, &meaning.inputs}) {
            for (const SlotMeaning& slot : *side) {
                learn(slot.layout);
                learn(slot.arrives);
                const bool isExplicit = slot.source == LayoutSource::Explicit;
                marks.explicitLayout |= isExplicit;
                if (!slot.layout)
                    continue;
                // Also those of inputs only: over them the node's work is split, and its
                // result joined.
                for (const int axis : m_out->m_axes.at(slot.layout.get())) {
                    addAxis(marks.axes, axis);
                    if (isExplicit)
                        addAxis(marks.explicitAxes, axis);
                }
            }
        }
        std::sort(marks.axes.begin(), marks.axes.end());
        const auto& specs = m_analysis.annotations.nodes;
        if (id.index() < specs.size() && specs[id.index()])
            marks.stage = specs[id.index()]->stage;
    }

    void addCommunication() {
        for (const CommEntry& entry : m_analysis.communication.entries) {
            if (!entry.node)
                continue;
            CommunicationMark mark;
            mark.kind = entry.kind;
            mark.phase = entry.phase;
            mark.value = entry.value;
            mark.operations = static_cast<int>(entry.groups.size());
            mark.bytes = entry.bytes * static_cast<std::int64_t>(entry.groups.size());
            add(entry.node, mark);
            if (entry.phase != CommPhase::Input)
                continue;
            mark.shared = true;
            for (const NodeId reader : entry.consumers) {
                if (reader != entry.node)
                    add(reader, mark);
            }
        }
    }

    void add(NodeId node, const CommunicationMark& mark) {
        // Entries of one reshard that differ only in the bytes of their groups are one symbol.
        std::vector<int>& marks = m_nodes->edit(node.index()).communication;
        for (const int known : marks) {
            CommunicationMark& other = m_out->m_communication[static_cast<std::size_t>(known)];
            if (other.kind == mark.kind && other.phase == mark.phase && other.value == mark.value) {
                other.bytes += mark.bytes;
                other.operations += mark.operations;
                return;
            }
        }
        marks.push_back(static_cast<int>(m_out->m_communication.size()));
        m_out->m_communication.push_back(mark);
    }

    void addDiagnostics() {
        for (const Diagnostic& diagnostic : m_analysis.diagnostics) {
            if (!diagnostic.node)
                continue;
            NodeMarks& marks = m_nodes->edit(diagnostic.node.index());
            marks.errors += diagnostic.severity == Severity::Error;
            marks.warnings += diagnostic.severity == Severity::Warning ||
                              diagnostic.severity == Severity::Unsupported;
        }
    }

    void sumScopes() {
        for (const NodeInfo& node : m_analysis.graph().nodes) {
            const NodeMarks& marks = (*m_nodes)[node.id.index()];
            ScopeMarks& scope = m_out->m_scopes[m_structure.place(node.id).scope.index()];
            scope.errors += marks.errors;
            scope.warnings += marks.warnings;
            scope.annotated += marks.explicitLayout || marks.stage >= 0;
            for (const int axis : marks.axes)
                addAxis(scope.axes, axis);
            addStage(scope, marks.stage, marks.stage);
            for (const int c : marks.communication) {
                const CommunicationMark& mark = m_out->m_communication[static_cast<std::size_t>(c)];
                scope.collectives += mark.shared ? 0 : mark.operations;
                scope.bytes += mark.shared ? 0 : mark.bytes;
            }
        }
        const auto& order = m_structure.scopesInnerLast();
        for (std::size_t i = order.size(); i-- > 1;) {
            ScopeMarks& inner = m_out->m_scopes[order[i].index()];
            std::sort(inner.axes.begin(), inner.axes.end());
            ScopeMarks& outer = m_out->m_scopes[m_structure.container(order[i]).parent.index()];
            outer.errors += inner.errors;
            outer.warnings += inner.warnings;
            outer.annotated += inner.annotated;
            outer.collectives += inner.collectives;
            outer.bytes += inner.bytes;
            for (const int axis : inner.axes)
                addAxis(outer.axes, axis);
            addStage(outer, inner.firstStage, inner.lastStage);
        }
    }

    static void addStage(ScopeMarks& scope, int first, int last) {
        if (first < 0)
            return;
        scope.firstStage = scope.firstStage < 0 ? first : std::min(scope.firstStage, first);
        scope.lastStage = std::max(scope.lastStage, last);
    }

    const Analysis& m_analysis;
    const SceneStructure& m_structure;
    std::shared_ptr<Overlay> m_out;
    std::optional<PersistentArray<NodeMarks>::Editor> m_nodes;
};

std::shared_ptr<const Overlay> Overlay::build(std::shared_ptr<const Analysis> analysis,
                                              const SceneStructure& structure,
                                              const CancelToken& cancel, const Overlay* before) {
    return OverlayBuilder(std::move(analysis), structure, before).run(cancel);
}

const std::vector<int>& Overlay::axesOf(ValueId value) const {
    static const std::vector<int> none;
    if (value.index() >= m_analysis->meaning.values.size())
        return none;
    const auto found = m_axes.find(m_analysis->meaning.values[value.index()].layout.get());
    return found == m_axes.end() ? none : found->second;
}

QString Overlay::axisName(int axis) const {
    const auto& axes = m_analysis->configuration.mesh.axes;
    const auto index = static_cast<std::size_t>(axis);
    return index < axes.size() ? cleanText(axes[index].name, 12) : QString();
}

QString Overlay::shapeText(ValueId value) const {
    if (!m_analysis->shapes)
        return {};
    const TensorInfo& info = m_analysis->shapes->of(value);
    if (info.kind != TensorInfo::Kind::Tensor || !info.hasRank)
        return {};
    QStringList sizes;
    const std::size_t rank = std::max(info.symbolic.size(), info.dims.size());
    for (std::size_t d = 0; d < rank; ++d) {
        if (d < info.symbolic.size() && info.symbolic[d].size < 0 &&
            isNamedSymbol(info.symbolic[d].symbol))
            sizes << cleanText(info.symbolic[d].symbol, 20);
        else if (d < info.dims.size() && info.dims[d] >= 0)
            sizes << QString::number(info.dims[d]);
        else
            sizes << (d < info.symbolic.size() && info.symbolic[d].size >= 0
                          ? QString::number(info.symbolic[d].size)
                          : QStringLiteral("?"));
    }
    return rank == 0 ? QStringLiteral("scalar") : sizes.join(QChar(0x00D7));
}

QString Overlay::layoutText(const LayoutRef& layout) const {
    const auto found = m_texts.find(layout.get());
    return found == m_texts.end() ? QString() : found->second;
}

QString Overlay::layoutText(ValueId value) const {
    if (value.index() >= m_analysis->meaning.values.size())
        return {};
    const ValueMeaning& meaning = m_analysis->meaning.values[value.index()];
    if (const NodeId producer = m_analysis->graph().value(value).producer;
        meaning.source == LayoutSource::Unknown && producer && !m_analysis->covers(producer))
        return {};  // Not looked at yet.
    return meaning.source == LayoutSource::Unknown && m_analysis->hasConfiguration
               ? QStringLiteral("?")
               : layoutText(meaning.layout);
}

bool Overlay::isExplicit(ValueId value) const {
    return value.index() < m_analysis->meaning.values.size() &&
           m_analysis->meaning.values[value.index()].source == LayoutSource::Explicit;
}

}  // namespace shardwright
