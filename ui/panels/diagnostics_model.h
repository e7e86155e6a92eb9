// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

#include <QAbstractTableModel>
#include <QColor>
#include <QPalette>
#include <QSet>
#include <QSortFilterProxyModel>

#include <memory>

namespace shardwright {

QColor severityColour(Severity severity, const QPalette& palette);
QIcon severityIcon(Severity severity, const QPalette& palette);

/// The diagnostics of an analysis in its order: errors first, then by node.
class DiagnosticsModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { Code, Node, Message, ColumnCount };
    static constexpr int SeverityRole = Qt::UserRole;
    static constexpr int SortRole = Qt::UserRole + 1;

    using QAbstractTableModel::QAbstractTableModel;
    void setAnalysis(std::shared_ptr<const Analysis> analysis);
    const Diagnostic* diagnostic(int row) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation,
                        int role = Qt::DisplayRole) const override;

private:
    QString nodeText(const Diagnostic& diagnostic) const;

    std::shared_ptr<const Analysis> m_analysis;
};

/// Hides diagnostics of some severities.
class DiagnosticsFilter : public QSortFilterProxyModel {
    Q_OBJECT

public:
    using QSortFilterProxyModel::QSortFilterProxyModel;
    void setShown(Severity severity, bool shown);

protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

private:
    QSet<int> m_hidden;
};

}  // namespace shardwright
