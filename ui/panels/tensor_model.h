// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/assign.h"

#include <QAbstractTableModel>

#include <memory>
#include <vector>

namespace shardwright {

/// Inputs and outputs of one node with what the analysis says of each.
class TensorModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { Tensor, Shape, Layout, ColumnCount };

    using QAbstractTableModel::QAbstractTableModel;

    /// Rows are inputs, then outputs; omitted slots have none. With the node of before, rows only
    /// change.
    void show(std::shared_ptr<const Analysis> analysis, NodeId node);
    TensorSlot slot(int row) const { return m_rows[static_cast<std::size_t>(row)]; }
    int rowOf(TensorSlot slot) const;
    ValueId value(int row) const;
    /// As the node sees it; null where the analysis has nothing of it.
    const SlotMeaning* meaning(int row) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation,
                        int role = Qt::DisplayRole) const override;

private:
    QVariant text(int row, int column) const;
    QString toolTip(int row, int column) const;

    std::shared_ptr<const Analysis> m_analysis;
    NodeId m_node;
    std::vector<TensorSlot> m_rows;
};

/// "float32 8×16×64"; symbols that are bound show their size.
QString shapeText(const TensorInfo& info);
/// The symbol of a dimension, or nothing.
QString dimensionSymbol(const TensorInfo& info, std::size_t dim);
/// "explicit", "inferred", "everywhere", "unknown", for people.
QString sourceText(LayoutSource source);

}  // namespace shardwright
