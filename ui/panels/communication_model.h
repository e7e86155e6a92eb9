// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

#include <QAbstractTableModel>

#include <memory>

namespace shardwright {

/// What is communicated, in order of execution.
class CommunicationModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { Kind, Axes, Bytes, Sent, Node, Tensor, Groups, Cause, ColumnCount };
    static constexpr int SortRole = Qt::UserRole;

    using QAbstractTableModel::QAbstractTableModel;
    void setAnalysis(std::shared_ptr<const Analysis> analysis);
    const CommEntry* entry(int row) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation,
                        int role = Qt::DisplayRole) const override;

private:
    QVariant text(const CommEntry& entry, int column) const;
    QString toolTip(const CommEntry& entry, int column) const;
    static QString headerToolTip(int section);
    QString axesText(const CommEntry& entry) const;

    std::shared_ptr<const Analysis> m_analysis;
};

}  // namespace shardwright
