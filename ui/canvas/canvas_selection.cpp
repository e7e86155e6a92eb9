// SPDX-License-Identifier: Apache-2.0
#include "check/analysis.h"
#include "ui/canvas/byte_text.h"
#include "ui/canvas/graph_canvas.h"
#include "ui/canvas/overlay.h"
#include "ui/canvas/scene_painter.h"

#include <algorithm>

namespace shardwright {

namespace {
constexpr qsizetype kHistory = 100;
constexpr int kToolTipLines = 8;
}  // namespace

void GraphCanvas::changeSelection(Selection next, bool remember) {
    const Selection before = selection();
    if (next == before)
        return;
    const bool something = !before.nodes.isEmpty() || before.scope || before.value;
    if (remember && something) {
        m_history.append(before);
        if (m_history.size() > kHistory)
            m_history.removeFirst();
    }
    applySelection(next);
}

void GraphCanvas::applySelection(const Selection& next) {
    const Selection before = selection();
    m_selected = next.nodes;
    m_selectedScope = next.scope;
    m_selectedValue = next.value;
    refreshMarks();
    if (before.nodes != next.nodes)
        emit selectionChanged(m_selected);
    if (before.value != next.value)
        emit valueSelected(m_selectedValue);
    if (before.scope != next.scope)
        emit scopeSelected(m_selectedScope);
}

void GraphCanvas::setSelection(const QList<NodeId>& nodes) {
    changeSelection({nodes, {}, {}});
}

void GraphCanvas::selectAll() {
    if (!m_model)
        return;
    QList<NodeId> nodes;
    nodes.reserve(static_cast<qsizetype>(m_model->graph().nodes.size()));
    for (const NodeInfo& node : m_model->graph().nodes)
        nodes.append(node.id);
    changeSelection({nodes, {}, {}});
}

void GraphCanvas::clearSelection() {
    changeSelection({});
}

void GraphCanvas::selectValue(ValueId value) {
    changeSelection({{}, {}, value});
}

void GraphCanvas::selectScope(ScopeId scope) {
    changeSelection({{}, scope, {}});
}

void GraphCanvas::selectPrevious() {
    if (m_history.isEmpty())
        return;
    const Selection previous = m_history.takeLast();
    applySelection(previous);
    if (const int box = currentBox(); box >= 0)
        ensureVisible(m_placed->boxes()[static_cast<std::size_t>(box)].rect);
}

void GraphCanvas::selectBox(int box) {
    const PlacedBox& b = m_placed->boxes()[static_cast<std::size_t>(box)];
    switch (b.kind) {
        case BoxKind::Node: setSelection({b.node}); break;
        case BoxKind::Scope: selectScope(b.scope); break;
        default: selectValue(b.value);
    }
}

/// The box that the keyboard is at.
int GraphCanvas::currentBox() const {
    if (!m_placed)
        return -1;
    if (currentNode())
        return m_placed->visibleBox(currentNode());
    if (m_selectedScope)
        return m_placed->boxOf(m_selectedScope);
    return m_selectedValue ? m_placed->producerBox(m_selectedValue) : -1;
}

void GraphCanvas::highlight(const QSet<NodeId>& nodes) {
    m_highlighted = nodes;
    refreshMarks();
}

void GraphCanvas::selectInRect(const QRectF& sceneRect, bool add) {
    QList<NodeId> nodes = add ? m_selected : QList<NodeId>();
    QSet<NodeId> known(nodes.begin(), nodes.end());
    std::vector<int> found;
    m_placed->boxesIn(sceneRect, found);
    for (const int i : found) {
        const PlacedBox& box = m_placed->boxes()[static_cast<std::size_t>(i)];
        if (box.kind == BoxKind::Node && !known.contains(box.node)) {
            known.insert(box.node);
            nodes.append(box.node);
        }
    }
    changeSelection({nodes, {}, {}});
}

namespace {

class ToolTipText {
public:
    ToolTipText(const GraphIndex& graph, const Overlay* overlay)
        : m_graph(graph), m_overlay(overlay) {}

    void title(const QString& text) {
        m_html += QStringLiteral("<b>") + text.toHtmlEscaped() + QStringLiteral("</b>");
        m_longest = std::max(m_longest, text.size());
    }
    void line(const QString& text) {
        m_html += QStringLiteral("<br>") + text.toHtmlEscaped();
        m_longest = std::max(m_longest, text.size());
    }

    void value(const QString& role, ValueId id, const SlotMeaning* slot) {
        if (!id || ++m_lines > kToolTipLines)
            return;
        QString text = role + QStringLiteral(": ") + cleanText(m_graph.value(id).name, 70);
        if (m_overlay) {
            if (const QString shape = m_overlay->shapeText(id); !shape.isEmpty())
                text += QStringLiteral("  ") + shape;
            const QString layout =
                slot ? m_overlay->layoutText(slot->layout) : m_overlay->layoutText(id);
            if (!layout.isEmpty())
                text += QStringLiteral("  ") + layout;
        }
        line(text);
    }

    void tensor(ValueId id) {
        title(cleanText(m_graph.value(id).name, 120));
        if (!m_overlay)
            return;
        const QString shape = m_overlay->shapeText(id), layout = m_overlay->layoutText(id);
        if (!shape.isEmpty())
            line(layout.isEmpty() ? shape : shape + QStringLiteral("  ") + layout);
        int shown = 0;
        for (const CommEntry& entry : m_overlay->analysis().communication.entries)
            if (entry.value == id && ++shown <= 3)
                line(QString::fromStdString(collectiveName(entry.kind)) + QStringLiteral(", ") +
                     byteText(entry.bytes * static_cast<std::int64_t>(entry.groups.size())) +
                     QStringLiteral(": ") + cleanText(entry.cause, 300));
    }

    void node(NodeId id) {
        const NodeInfo& info = m_graph.node(id);
        title(cleanText(m_graph.opType(id), 60));
        if (!m_graph.domain(id).empty())
            line(cleanText(m_graph.domain(id), 60));
        line(cleanText(m_graph.label(id), 120));
        const NodeMeaning* meaning = nullptr;
        if (m_overlay && id.index() < m_overlay->analysis().meaning.nodes.size())
            meaning = &m_overlay->analysis().meaning.nodes[id.index()];
        for (std::size_t i = 0; i < info.inputs.size(); ++i)
            value(GraphCanvas::tr("in %1").arg(i), info.inputs[i],
                  meaning && i < meaning->inputs.size() ? &meaning->inputs[i] : nullptr);
        for (std::size_t i = 0; i < info.outputs.size(); ++i)
            value(GraphCanvas::tr("out %1").arg(i), info.outputs[i],
                  meaning && i < meaning->outputs.size() ? &meaning->outputs[i] : nullptr);
        if (m_lines > kToolTipLines)
            line(GraphCanvas::tr("... and %1 more").arg(m_lines - kToolTipLines));
        diagnostics(id);
    }

    void diagnostics(NodeId id) {
        if (!m_overlay || (m_overlay->node(id).errors == 0 && m_overlay->node(id).warnings == 0))
            return;
        int shown = 0;
        for (const Diagnostic& d : m_overlay->analysis().diagnostics) {
            if (d.node == id && d.severity <= Severity::Unsupported && ++shown <= 3)
                line(QString::fromStdString(d.code) + QStringLiteral(": ") +
                     cleanText(d.message, 200));
        }
    }

    /// Lines are broken only where they are longer than anyone wants a tool tip to be wide.
    QString html() const {
        constexpr qsizetype kLongest = 110;
        return m_html.isEmpty() || m_longest > kLongest
                   ? m_html
                   : QStringLiteral("<div style=\"white-space: nowrap\">") + m_html +
                         QStringLiteral("</div>");
    }

private:
    const GraphIndex& m_graph;
    const Overlay* m_overlay;
    QString m_html;
    int m_lines = 0;
    qsizetype m_longest = 0;
};

}  // namespace

QString GraphCanvas::toolTipAt(QPointF scenePoint) const {
    if (!m_placed)
        return {};
    const GraphIndex& graph = m_placed->graph();
    ToolTipText text(graph, m_overlay.get());
    const int index = m_placed->boxAt(scenePoint);
    const PlacedBox* box =
        index < 0 ? nullptr : &m_placed->boxes()[static_cast<std::size_t>(index)];
    if (box && box->kind == BoxKind::Node) {
        text.node(box->node);
    } else if (box && box->kind == BoxKind::Scope &&
               (!box->open || onFrameTitle(*box, scenePoint))) {
        text.title(cleanText(graph.scope(box->scope).path, 160));
        text.line(tr("%1 nodes").arg(m_placed->structure()->container(box->scope).nodesInside));
    } else if (box && box->value) {
        text.tensor(box->value);
    } else if (const int edge = m_placed->edgeAt(scenePoint, 5 / m_zoom); edge >= 0) {
        text.tensor(m_placed->edges()[static_cast<std::size_t>(edge)].value);
    }
    return text.html();
}

}  // namespace shardwright
