// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/run_events.h"
#include "ui/panels/run_rows.h"

#include <QWidget>

class QLabel;
class QPushButton;

namespace shardwright {

class RowsView;

/// Whether the sharded run agrees with one device, tensor by tensor.
class VerificationView : public QWidget {
    Q_OBJECT

public:
    explicit VerificationView(QWidget* parent = nullptr);
    void clear();
    void show(const RunReport& report, const NodesByPlace& nodes);
    QString verdict() const;
    RowsView* checks() const { return m_checks; }

signals:
    void nodeWanted(shardwright::NodeId node);

private:
    QLabel* m_verdict;
    QPushButton* m_goTo;
    RowsView* m_checks;
    NodeId m_divergent;
};

}  // namespace shardwright
