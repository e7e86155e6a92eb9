// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"
#include "run/run_events.h"
#include "ui/panels/run_rows.h"

#include <QTabWidget>

#include <map>
#include <vector>

class QComboBox;
class QLabel;
class QLineEdit;

namespace shardwright {

class RowsView;
class RunTimeline;
class VerificationView;

/// What a run told: devices, operators, collectives, the timeline and the verification, each a tab.
class RunResults : public QTabWidget {
    Q_OBJECT

public:
    explicit RunResults(QWidget* parent = nullptr);
    void clear();
    void take(const RunMemory& memory);
    void take(const RunDeviceTiming& timing);
    void take(const RunSegmentTiming& segment);
    void take(const RunExchangeTiming& exchange);
    /// The report is the last to come.
    void show(const RunReport& report, const Analysis* analysis);
    /// The run is over, with or without a report.
    void setRunning(bool running);
    /// "devices", "operators", "collectives", "timeline" or "verification".
    void showTab(const QString& name);
    RowsView* devices() const { return m_devices; }
    RowsView* operators() const { return m_operators; }
    RowsView* collectives() const { return m_collectives; }
    VerificationView* verification() const { return m_verification; }
    RunTimeline* timeline() const { return m_timeline; }

signals:
    void nodeWanted(shardwright::NodeId node);

protected:
    void changeEvent(QEvent* event) override;

private:
    QWidget* buildDevices();
    QWidget* buildOperators();
    QWidget* buildCollectives();
    void showDevices();
    void showOperators();
    void showSummary();

    std::map<int, DeviceFacts> m_facts;
    RunReport m_report;
    NodesByPlace m_nodes{nullptr};

    RowsView *m_devices, *m_operators, *m_collectives;
    QComboBox* m_grouping;
    QLineEdit* m_filter;
    QWidget* m_operatorTools;
    QLabel* m_summary = nullptr;
    RunTimeline* m_timeline;
    VerificationView* m_verification;
};

}  // namespace shardwright
