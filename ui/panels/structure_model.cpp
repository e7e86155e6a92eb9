// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/structure_model.h"

#include "ui/window/text.h"
#include "ui/window/theme.h"

namespace shardwright {
namespace {

// The internal id of an index: twice the scope's id, or twice the node's id and one.
quintptr scopeKey(ScopeId scope) {
    return scope.index() * 2;
}
quintptr nodeKey(NodeId node) {
    return node.index() * 2 + 1;
}

/// The node's label without the scope around it, which the tree shows already.
std::string localName(const GraphIndex& graph, NodeId node) {
    const std::string label = graph.label(node);
    const std::string& scope = graph.scope(graph.node(node).scope).path;
    const std::size_t begin = label.starts_with('/') ? 1 : 0;
    if (!scope.empty() && label.size() > begin + scope.size() + 1 &&
        label.compare(begin, scope.size(), scope) == 0 && label[begin + scope.size()] == '/')
        return label.substr(begin + scope.size() + 1);
    return label;
}

}  // namespace

void StructureModel::setModel(std::shared_ptr<const Model> model) {
    beginResetModel();
    m_model = std::move(model);
    m_scopeRows.clear();
    m_nodeRows.clear();
    if (m_model) {
        const GraphIndex& graph = m_model->graph();
        m_scopeRows.assign(graph.scopes.size(), 0);
        m_nodeRows.assign(graph.nodes.size(), 0);
        for (const ScopeInfo& scope : graph.scopes) {
            int row = 0;
            for (const ScopeId child : scope.children)
                m_scopeRows[child.index()] = row++;
            for (const NodeId node : scope.nodes)
                m_nodeRows[node.index()] = row++;
        }
    }
    endResetModel();
}

NodeId StructureModel::node(const QModelIndex& index) const {
    return index.isValid() && index.internalId() % 2 == 1
               ? NodeId(static_cast<std::size_t>(index.internalId() / 2))
               : NodeId();
}

ScopeId StructureModel::scope(const QModelIndex& index) const {
    return index.isValid() && index.internalId() % 2 == 0
               ? ScopeId(static_cast<std::size_t>(index.internalId() / 2))
               : ScopeId();
}

QModelIndex StructureModel::indexOf(NodeId node) const {
    return node ? createIndex(m_nodeRows[node.index()], 0, nodeKey(node)) : QModelIndex();
}

QModelIndex StructureModel::indexOf(ScopeId scope) const {
    return scope && scope.index() > 0 ? createIndex(m_scopeRows[scope.index()], 0, scopeKey(scope))
                                      : QModelIndex();
}

const ScopeInfo& StructureModel::scopeInfo(const QModelIndex& index) const {
    return m_model->graph().scope(index.isValid() ? scope(index) : ScopeId(0));
}

QModelIndex StructureModel::index(int row, int column, const QModelIndex& parent) const {
    if (!m_model || column != 0 || row < 0 || node(parent))
        return {};
    const ScopeInfo& scope = scopeInfo(parent);
    const auto position = static_cast<std::size_t>(row);
    if (position >= childCount(scope))
        return {};
    if (position < scope.children.size())
        return createIndex(row, column, scopeKey(scope.children[position]));
    return createIndex(row, column, nodeKey(scope.nodes[position - scope.children.size()]));
}

QModelIndex StructureModel::parent(const QModelIndex& index) const {
    if (!m_model || !index.isValid())
        return {};
    const GraphIndex& graph = m_model->graph();
    if (const NodeId id = node(index))
        return indexOf(graph.node(id).scope);
    return indexOf(graph.scope(scope(index)).parent);
}

int StructureModel::rowCount(const QModelIndex& parent) const {
    if (!m_model || node(parent) || parent.column() > 0)
        return 0;
    return static_cast<int>(childCount(scopeInfo(parent)));
}

int StructureModel::columnCount(const QModelIndex&) const {
    return 1;
}

QVariant StructureModel::data(const QModelIndex& index, int role) const {
    if (!m_model || !index.isValid())
        return {};
    const GraphIndex& graph = m_model->graph();
    if (const NodeId id = node(index)) {
        const QString op = oneLine(std::string(graph.opType(id)), 60);
        const QString label = oneLine(localName(graph, id), 200);
        if (role == Qt::DisplayRole)
            return label.startsWith(op) ? label : QStringLiteral("%1  %2").arg(op, label);
        return role == Qt::ToolTipRole
                   ? QVariant(toolTipText(op + u'\n' + toQt(graph.label(id)).left(1000)))
                   : QVariant();
    }
    const ScopeInfo& info = graph.scope(scope(index));
    switch (role) {
        case Qt::DisplayRole: return oneLine(info.name, 200);
        case Qt::ToolTipRole: return toolTipText(toQt(info.path).left(1000));
        case Qt::DecorationRole: return themedIcon(QStringLiteral("scope"));
        default: return {};
    }
}

QVariant StructureModel::headerData(int, Qt::Orientation, int role) const {
    return role == Qt::DisplayRole ? QVariant(tr("Structure")) : QVariant();
}

}  // namespace shardwright
