// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/run_events.h"

#include <QElapsedTimer>
#include <QObject>
#include <QProcess>
#include <QTimer>

#include <memory>
#include <string>

namespace shardwright {

/// Starts shardwright-worker for one run at a time and hands on what it tells. Whatever happens to
/// the worker, the editor goes on.
class RunClient : public QObject {
    Q_OBJECT

public:
    explicit RunClient(QObject* parent = nullptr);
    ~RunClient() override;

    /// $SHARDWRIGHT_WORKER, else beside this program.
    static QString workerPath();
    /// When a worker is ended, whatever it does; 0: never.
    struct Limits {
        double silenceSeconds = 20;  ///< Without a sign of life, which it gives each second.
        double timeSeconds = 0;      ///< Since its start.
        double graceSeconds = 5;     ///< It watches its time itself, and may say where it was then.
    };
    /// `request` is encoded and delimited. A run in progress is ended.
    void start(std::string request, const Limits& limits);
    /// Asks the worker to end, and within a fifth of a second ends it if it does not.
    void cancel();
    bool isRunning() const { return m_process != nullptr; }
    /// Seconds since the worker told something; a sign of life tells nothing.
    int quietSeconds() const;
    /// What finished() tells after cancel().
    static QString cancelledText();

signals:
    void event(const shardwright::RunEvent& event);
    /// After the last event. `failure` is empty when there was a report.
    void finished(const QString& failure);

private:
    void readEvents();
    void readErrors();
    void processEnded();
    void end(const QString& failure);
    QString endText() const;
    QString crashText() const;
    void watch();
    void giveUp(const QString& failure);

    QProcess* m_process = nullptr;
    std::unique_ptr<EventParser> m_parser;
    QByteArray m_errors;
    QTimer m_killer, m_watch;
    QElapsedTimer m_lastEvent, m_lastLook;
    Limits m_limits;
    double m_silence = 0, m_time = 0;  ///< Seconds, in which this program was not stopped itself.
    bool m_cancelled = false;
    bool m_reported = false;
    QString m_failure;
};

}  // namespace shardwright
