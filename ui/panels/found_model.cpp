// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/found_model.h"

#include "ui/window/text.h"

namespace shardwright {

void FoundModel::show(std::shared_ptr<const Model> model, std::vector<NodeId> nodes) {
    if (model == m_model && nodes == m_nodes)
        return;
    beginResetModel();
    m_model = std::move(model);
    m_nodes = std::move(nodes);
    endResetModel();
}

int FoundModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_nodes.size());
}

QVariant FoundModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || !m_model)
        return {};
    const GraphIndex& graph = m_model->graph();
    const NodeId node = m_nodes[static_cast<std::size_t>(index.row())];
    const QString op = oneLine(std::string(graph.opType(node)), 60);
    const QString label = oneLine(graph.label(node), 200);
    // Exporters end a name with the operator; it is not said twice.
    if (role == Qt::DisplayRole)
        return label.section(u'/', -1).startsWith(op) ? label
                                                      : QStringLiteral("%1  %2").arg(op, label);
    if (role == Qt::ToolTipRole)
        return toolTipText(
            toQt(graph.scope(graph.node(node).scope).path + "/" + graph.label(node)).left(1000));
    return {};
}

}  // namespace shardwright
