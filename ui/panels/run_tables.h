// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"
#include "run/run_events.h"

#include <QTreeWidget>
#include <QWidget>

#include <memory>

class QLabel;
class QPushButton;

namespace shardwright {

/// Collectives by kind: what was predicted and what was counted while running.
class CollectivesTable : public QTreeWidget {
    Q_OBJECT

public:
    explicit CollectivesTable(QWidget* parent = nullptr);
    void show(const RunReport& report);
    /// Before a run.
    void showNothing();
};

/// Whether the sharded run agrees with one device, tensor by tensor.
class VerificationView : public QWidget {
    Q_OBJECT

public:
    explicit VerificationView(QWidget* parent = nullptr);
    void clear();
    void show(const RunReport& report, const Analysis* analysis);
    QString verdict() const;

signals:
    void nodeWanted(shardwright::NodeId node);

private:
    void addCheck(const RunTensorCheck& check);

    QLabel* m_verdict;
    QPushButton* m_goTo;
    QTreeWidget* m_checks;
    NodeId m_divergent;
};

}  // namespace shardwright
