// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

#include <QWidget>

#include <memory>

class QLabel;
class QSortFilterProxyModel;
class QTreeView;

namespace shardwright {

class CommunicationModel;

/// The collectives that the annotations cause, and their total.
class CommunicationPanel : public QWidget {
    Q_OBJECT

public:
    explicit CommunicationPanel(QWidget* parent = nullptr);
    void setAnalysis(std::shared_ptr<const Analysis> analysis);

signals:
    void nodeWanted(shardwright::NodeId node);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    /// Names and the cause share what the short columns leave; where that is too little to tell
    /// nodes apart, the table scrolls.
    void shareWidth();
    void showCause();
    QString totalText(const Analysis& analysis) const;

    CommunicationModel* m_model;
    QSortFilterProxyModel* m_sorted;
    QTreeView* m_view;
    QLabel *m_empty, *m_total, *m_cause;
};

}  // namespace shardwright
