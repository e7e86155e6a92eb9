// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/assign.h"
#include "run/run_events.h"

#include <QWidget>

#include <map>
#include <memory>
#include <optional>
#include <vector>

class QAction;
class QLabel;
class QProgressBar;
class QPushButton;
class QTemporaryDir;
class QTimer;
class QToolButton;

namespace shardwright {

class CalibrationClient;
class EditorSession;
class ObservedTensors;
class RunClient;
class RunSettings;
class RunResults;
class ShardView;

/// Runs the present document in a worker and shows what came of it.
class RunPanel : public QWidget {
    Q_OBJECT

public:
    explicit RunPanel(EditorSession* session, QWidget* parent = nullptr);
    ~RunPanel() override;

    void setAnalysis(std::shared_ptr<const Analysis> analysis);
    /// The tensor whose shards are shown; observed by the next run.
    void selectValue(ValueId value, TensorSlot slot = {});
    void start();
    /// Runs the model again, with the same inputs, and saves the pieces of outputs and observed
    /// tensors into the folder.
    void saveShards(const QString& folder);
    /// Of the last run, for Perfetto. False: it was said why not.
    bool saveTrace(const QString& path);
    /// Ends a run, its preparation, or the measuring of the machine.
    void cancel();
    bool isRunning() const;
    RunClient* client() const { return m_client; }
    RunSettings* settings() const { return m_settings; }
    RunResults* results() const { return m_results; }
    /// "devices", "operators", "collectives", "timeline", "verification" or "shards".
    void showTab(const QString& name);
    QString statusText() const;
    /// How long a worker may tell nothing until that is said.
    void setQuietLimit(int seconds) { m_quietLimit = seconds; }
    ShardView* shards() const { return m_shards; }

signals:
    void nodeWanted(shardwright::NodeId node);
    void finished();
    void runningChanged(bool running);

protected:
    void changeEvent(QEvent* event) override;

private:
    QWidget* buildControls();
    QWidget* buildStatus();
    QWidget* buildShards();
    /// What was run, to tell whether a result is still that of the document.
    struct Ran {
        Annotations annotations;
        AnalysisOptions options;
        std::string configuration;
    };
    /// What one run is asked for beyond the options.
    struct Wish {
        QString shardsFolder{};
        bool ignoreMemory = false;
    };
    void startWith(const Wish& wish);
    void cancelRun();
    bool isStale() const;
    void updateStatus();
    void updateShardNote();
    Result<RunRequest> request(const Wish& wish) const;
    QString tracePath() const;
    void take(const RunEvent& event);
    void takeReport(const RunReport& report);
    void ended(const QString& failure);
    void setStatus(const QString& text, bool problem);
    void sayQuiet();
    void setRunning(bool running);
    void clearResults();
    void measureMachine();
    void measured(const QString& failure);
    void askTrace();
    void askShards();

    EditorSession* m_session;
    RunClient* m_client;
    CalibrationClient* m_calibration;
    std::shared_ptr<const Analysis> m_analysis;
    ValueId m_value;
    TensorSlot m_slot;
    bool m_preparing = false;
    std::optional<Ran> m_ran;
    Wish m_wish;
    QString m_result;            ///< Words of the report; empty without one.
    bool m_resultIsBad = false;  ///< The verification failed.
    bool m_statusIsBad = false;
    QString m_stage;  ///< What the worker does.
    std::map<std::string, std::vector<RunShard>> m_values;
    std::unique_ptr<QTemporaryDir> m_traces;

    QPushButton *m_run, *m_runAllTheSame;
    RunSettings* m_settings;
    QToolButton* m_save;
    QAction *m_saveTrace, *m_saveShards;
    QProgressBar* m_progress;
    QLabel* m_status = nullptr;
    QTimer* m_quiet;
    int m_quietLimit = 5;
    RunResults* m_results;
    ObservedTensors* m_observed;
    ShardView* m_shards;
};

}  // namespace shardwright
