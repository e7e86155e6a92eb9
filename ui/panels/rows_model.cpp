// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/rows_model.h"

#include "ui/panels/diagnostics_model.h"
#include "ui/window/text.h"

#include <QApplication>

namespace shardwright {

RowsModel::RowsModel(std::vector<RowColumn> columns, QObject* parent)
    : QAbstractTableModel(parent), m_columns(std::move(columns)) {}

void RowsModel::setRows(std::vector<Row> rows) {
    // What is selected stays so where a row gets new numbers.
    if (rows.size() == m_rows.size() && !rows.empty()) {
        m_rows = std::move(rows);
        emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
        return;
    }
    beginResetModel();
    m_rows = std::move(rows);
    endResetModel();
}

int RowsModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int RowsModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_columns.size());
}

QVariant RowsModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid())
        return {};
    const Row& row = m_rows[static_cast<std::size_t>(index.row())];
    const auto column = static_cast<std::size_t>(index.column());
    if (role == ExtraRole)
        return row.extra;
    if (column >= row.cells.size())
        return {};
    const RowCell& cell = row.cells[column];
    switch (role) {
        case Qt::DisplayRole: return cell.text;
        case SortRole: return cell.key.isValid() ? cell.key : QVariant(cell.text);
        case Qt::ToolTipRole:
            return cell.toolTip.isEmpty() ? QVariant() : toolTipText(cell.toolTip);
        case Qt::TextAlignmentRole:
            return m_columns[column].kind == RowColumn::Kind::Number
                       ? QVariant(Qt::AlignRight | Qt::AlignVCenter)
                       : QVariant();
        case Qt::ForegroundRole:
            return cell.bad ? severityColour(Severity::Error, QApplication::palette()) : QVariant();
        default: return {};
    }
}

QVariant RowsModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount())
        return {};
    const RowColumn& column = m_columns[static_cast<std::size_t>(section)];
    switch (role) {
        case Qt::DisplayRole: return column.title;
        case Qt::ToolTipRole:
            return column.toolTip.isEmpty() ? QVariant() : toolTipText(column.toolTip);
        case Qt::TextAlignmentRole:
            return column.kind == RowColumn::Kind::Number
                       ? QVariant(Qt::AlignRight | Qt::AlignVCenter)
                       : QVariant(Qt::AlignLeft | Qt::AlignVCenter);
        default: return {};
    }
}

}  // namespace shardwright
