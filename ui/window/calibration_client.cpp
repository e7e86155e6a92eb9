// SPDX-License-Identifier: Apache-2.0
#include "ui/window/calibration_client.h"

#include "ui/window/run_client.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <QStandardPaths>

namespace shardwright {
namespace {

constexpr int kPatienceMs = 1500;

QString unfinishedPath() {
    return CalibrationClient::profilePath() + QStringLiteral(".new");
}

}  // namespace

CalibrationClient::CalibrationClient(QObject* parent) : QObject(parent) {}

CalibrationClient::~CalibrationClient() {
    for (auto* process : findChildren<QProcess*>()) {
        process->disconnect();
        process->kill();
        process->waitForFinished(kPatienceMs);
    }
}

QString CalibrationClient::programPath() {
    const QString own = qEnvironmentVariable("SHARDWRIGHT_CLI");
    return own.isEmpty()
               ? QCoreApplication::applicationDirPath() + QStringLiteral("/shardwright-cli")
               : own;
}

QString CalibrationClient::profilePath() {
    return QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) +
           QStringLiteral("/this-machine.json");
}

void CalibrationClient::start() {
    if (m_process)
        return;
    QDir().mkpath(QFileInfo(profilePath()).absolutePath());
    m_process = new QProcess(this);
    connect(m_process, &QProcess::finished, this, &CalibrationClient::processEnded);
    connect(m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            end(tr("%1 could not be started: %2")
                    .arg(m_process->program(), m_process->errorString()));
    });
    m_process->start(programPath(),
                     {QStringLiteral("calibrate"), QStringLiteral("-o"), unfinishedPath()});
}

void CalibrationClient::cancel() {
    if (!m_process)
        return;
    QProcess* process = m_process;
    process->disconnect(this);
    connect(process, &QProcess::finished, process, &QObject::deleteLater);
    process->kill();
    m_process = nullptr;
    emit finished(RunClient::cancelledText());
}

void CalibrationClient::processEnded() {
    const QString words = QString::fromUtf8(m_process->readAllStandardError()).trimmed();
    if (m_process->exitStatus() == QProcess::CrashExit)
        end(tr("Measuring this machine crashed."));
    else if (m_process->exitCode() != 0)
        end(words.isEmpty() ? tr("This machine could not be measured (exit code %1).")
                                  .arg(m_process->exitCode())
                            : words);
    else if (QFile::remove(profilePath()); !QFile::rename(unfinishedPath(), profilePath()))
        end(tr("%1 could not be written").arg(profilePath()));
    else
        end({});
}

void CalibrationClient::end(const QString& failure) {
    if (m_process)
        m_process->deleteLater();
    m_process = nullptr;
    emit finished(failure);
}

}  // namespace shardwright
