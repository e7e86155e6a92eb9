// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/panels/rows_model.h"

#include <QWidget>

class QAbstractItemDelegate;
class QLabel;
class QSortFilterProxyModel;
class QStackedLayout;
class QTreeView;

namespace shardwright {

/// A sortable table of a run. A click on a row leads to its node; without rows there is a hint.
class RowsView : public QWidget {
    Q_OBJECT

public:
    RowsView(const QString& name, std::vector<RowColumn> columns, QWidget* parent = nullptr);
    /// Sorted by this column until somebody sorts otherwise.
    void sortBy(int column, Qt::SortOrder order);
    void setRows(std::vector<Row> rows);
    void setHint(const QString& hint);
    /// Rows with this in any column.
    void setFilter(const QString& text);
    void setColumnShown(int column, bool shown);
    void setDelegate(int column, QAbstractItemDelegate* delegate, int width);
    int rowCount() const;
    /// As it is shown: sorted and filtered.
    QString text(int row, int column) const;
    QTreeView* view() const { return m_view; }

signals:
    void nodeWanted(shardwright::NodeId node);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void fitColumns();
    void shareWidth();
    void showHint();
    void go(const QModelIndex& index);

    RowsModel* m_model;
    QSortFilterProxyModel* m_sorted;
    QTreeView* m_view;
    QLabel* m_hint;
    QStackedLayout* m_stack;
    QString m_empty;
    std::vector<int> m_fixed;  ///< Width of columns with a delegate of their own; 0: none.
};

}  // namespace shardwright
