// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/ids.h"

#include <QAbstractTableModel>
#include <QString>
#include <QVariant>

#include <vector>

namespace shardwright {

struct RowCell {
    QString text;
    QVariant key{};  ///< What it is sorted by; invalid: the text.
    QString toolTip{};
    bool bad = false;  ///< Drawn as an error.
};

struct Row {
    std::vector<RowCell> cells;
    NodeId node{};     ///< What a click leads to.
    QVariant extra{};  ///< For a delegate.
};

struct RowColumn {
    enum class Kind {
        Short,
        Name,  ///< Elided on the left; shares the width that the others leave.
        Number,
    };
    QString title;
    QString toolTip{};
    Kind kind = Kind::Short;
};

/// A table whose rows are made elsewhere.
class RowsModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Role { SortRole = Qt::UserRole, ExtraRole };

    explicit RowsModel(std::vector<RowColumn> columns, QObject* parent = nullptr);
    void setRows(std::vector<Row> rows);
    const std::vector<Row>& rows() const { return m_rows; }
    const std::vector<RowColumn>& columns() const { return m_columns; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    std::vector<RowColumn> m_columns;
    std::vector<Row> m_rows;
};

}  // namespace shardwright
