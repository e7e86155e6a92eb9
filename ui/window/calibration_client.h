// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>

class QProcess;

namespace shardwright {

/// Measures this machine with `shardwright-cli calibrate`, outside of the editor's process.
class CalibrationClient : public QObject {
    Q_OBJECT

public:
    explicit CalibrationClient(QObject* parent = nullptr);
    ~CalibrationClient() override;

    /// $SHARDWRIGHT_CLI, else beside this program.
    static QString programPath();
    /// Where what was measured is kept.
    static QString profilePath();
    void start();
    void cancel();
    bool isRunning() const { return m_process != nullptr; }

signals:
    /// `failure` is empty when profilePath() has what was measured.
    void finished(const QString& failure);

private:
    void end(const QString& failure);
    void processEnded();

    QProcess* m_process = nullptr;
};

}  // namespace shardwright
