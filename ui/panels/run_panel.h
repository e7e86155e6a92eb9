// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/assign.h"
#include "run/run_events.h"

#include <QList>
#include <QWidget>

#include <map>
#include <memory>
#include <optional>
#include <vector>

class QComboBox;
class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QTabWidget;

namespace shardwright {

class CollectivesTable;
class EditorSession;
class RunClient;
class ShardView;
class TimingChart;
class VerificationView;

/// Runs the present document in a worker and shows what came of it.
class RunPanel : public QWidget {
    Q_OBJECT

public:
    explicit RunPanel(EditorSession* session, QWidget* parent = nullptr);

    void setAnalysis(std::shared_ptr<const Analysis> analysis);
    /// The tensor whose shards are shown; observed by the next run.
    void selectValue(ValueId value, TensorSlot slot = {});
    void start();
    void cancel();
    bool isRunning() const;
    RunClient* client() const { return m_client; }
    /// "devices", "collectives", "verification" or "shards".
    void showTab(const QString& name);
    QString statusText() const;
    ShardView* shards() const { return m_shards; }
    TimingChart* chart() const { return m_chart; }

signals:
    void nodeWanted(shardwright::NodeId node);
    void finished();
    void runningChanged(bool running);

private:
    QWidget* buildControls();
    QWidget* buildShards();
    /// What was run, to tell whether a result is still that of the document.
    struct Ran {
        Annotations annotations;
        AnalysisOptions options;
        std::string configuration;
    };
    bool isStale() const;
    void updateStatus();
    void updateShardNote();
    RunRequest request() const;
    void take(const RunEvent& event);
    void takeReport(const RunReport& report);
    void ended(const QString& failure);
    void setStatus(const QString& text, bool problem);
    void setRunning(bool running);
    void clearResults();
    void chooseInputs();

    EditorSession* m_session;
    RunClient* m_client;
    std::shared_ptr<const Analysis> m_analysis;
    ValueId m_value;
    TensorSlot m_slot;
    bool m_preparing = false;
    std::optional<Ran> m_ran;
    QString m_result;            ///< Words of the report; empty without one.
    bool m_resultIsBad = false;  ///< The verification failed.
    std::map<std::string, std::vector<RunShard>> m_values;
    std::vector<RunDeviceTiming> m_timings;

    QPushButton* m_run;
    QComboBox* m_verify;
    QSpinBox *m_repeats, *m_seed;
    QLineEdit* m_inputs;
    QProgressBar* m_progress;
    QLabel *m_status, *m_chartHint, *m_shardNote;
    QPushButton* m_runAgain;
    QTabWidget* m_tabs;
    TimingChart* m_chart;
    CollectivesTable* m_collectives;
    VerificationView* m_verification;
    ShardView* m_shards;
};

}  // namespace shardwright
