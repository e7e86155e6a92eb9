// SPDX-License-Identifier: Apache-2.0
#include "ui/window/run_client.h"

#include "ui/window/text.h"

#include <QCoreApplication>
#include <QFileInfo>

#include <algorithm>
#include <cmath>

namespace shardwright {
namespace {

constexpr int kPatienceMs = 1500;
constexpr int kKillSignal = 9;
constexpr int kCancelMs = 150;  ///< A worker ends within 100 ms.
constexpr int kWatchMs = 200;
constexpr qsizetype kErrorLimit = 4000;

QString failureText(const RunFailure& failure) {
    if (failure.kind == RunFailure::Kind::Memory)
        return RunClient::tr("It needs about %1 of memory, and %2 are available. Nothing was "
                             "started.")
            .arg(byteText(failure.neededBytes), byteText(failure.availableBytes));
    return failure.place.empty()
               ? toQt(failure.message)
               : toQt(failure.place) + QStringLiteral(": ") + toQt(failure.message);
}

}  // namespace

RunClient::RunClient(QObject* parent) : QObject(parent) {
    m_killer.setSingleShot(true);
    m_killer.setInterval(kCancelMs);
    connect(&m_killer, &QTimer::timeout, this, [this] { giveUp(cancelledText()); });
    m_watch.setInterval(kWatchMs);
    connect(&m_watch, &QTimer::timeout, this, &RunClient::watch);
}

RunClient::~RunClient() {
    // Also those that were given up.
    for (auto* process : findChildren<QProcess*>()) {
        process->disconnect();
        process->kill();
        process->waitForFinished(kPatienceMs);
    }
}

QString RunClient::workerPath() {
    const QString own = qEnvironmentVariable("SHARDWRIGHT_WORKER");
    if (!own.isEmpty())
        return own;
#ifdef Q_OS_WIN
    return QCoreApplication::applicationDirPath() + QStringLiteral("/shardwright-worker.exe");
#else
    return QCoreApplication::applicationDirPath() + QStringLiteral("/shardwright-worker");
#endif
}

void RunClient::start(std::string request, const Limits& limits) {
    if (m_process) {
        m_process->disconnect(this);
        m_process->kill();
        m_process->deleteLater();
    }
    m_process = new QProcess(this);
    m_parser = std::make_unique<EventParser>();
    m_errors.clear();
    m_failure.clear();
    m_cancelled = m_reported = false;
    m_lastEvent.start();
    m_lastLook.start();
    m_limits = limits;
    m_silence = m_time = 0;
    m_watch.start();
    connect(m_process, &QProcess::readyReadStandardOutput, this, &RunClient::readEvents);
    connect(m_process, &QProcess::readyReadStandardError, this, &RunClient::readErrors);
    connect(m_process, &QProcess::finished, this, &RunClient::processEnded);
    connect(m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            end(tr("The worker %1 could not be started: %2")
                    .arg(m_process->program(), m_process->errorString()));
    });
    // The request is written once the worker is there: nothing waits for it. The end of its
    // standard input would cancel the run, so that a worker does not outlive an editor that is
    // gone.
    connect(m_process, &QProcess::started, this,
            [process = m_process, request = std::move(request)] {
                process->write(request.data(), static_cast<qint64>(request.size()));
            });
    m_process->start(workerPath(), QStringList());
}

void RunClient::cancel() {
    if (!m_process)
        return;
    m_cancelled = true;
    m_process->terminate();
    m_killer.start();
}

/// The process may take its time to be gone, with all the memory that it has; nobody waits for it.
void RunClient::giveUp(const QString& failure) {
    if (!m_process)
        return;
    QProcess* process = m_process;
    process->disconnect(this);
    connect(process, &QProcess::finished, process, &QObject::deleteLater);
    process->kill();
    m_process = nullptr;
    end(failure);
}

void RunClient::watch() {
    // Whoever was stopped himself has heard nothing meanwhile.
    const double seconds = std::min(1.0, static_cast<double>(m_lastLook.restart()) / 1000);
    m_silence += seconds;
    m_time += seconds;
    if (m_limits.silenceSeconds > 0 && m_silence > m_limits.silenceSeconds)
        giveUp(
            tr("The worker hangs: it has given no sign of life for %1 s. The model is as it was.")
                .arg(std::lround(m_limits.silenceSeconds)));
    else if (m_limits.timeSeconds > 0 && m_time > m_limits.timeSeconds + m_limits.graceSeconds)
        giveUp(tr("The worker did not end within its time limit of %1 s. The model is as it was.")
                   .arg(std::lround(m_limits.timeSeconds)));
}

int RunClient::quietSeconds() const {
    return m_process ? static_cast<int>(m_lastEvent.elapsed() / 1000) : 0;
}

void RunClient::readErrors() {
    m_errors += m_process->readAllStandardError();
    m_errors = m_errors.right(kErrorLimit);
}

void RunClient::readEvents() {
    const QByteArray bytes = m_process->readAllStandardOutput();
    m_silence = 0;
    auto events =
        m_parser->feed(std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())));
    if (!events) {
        m_failure = toQt(events.error().message);
        m_process->kill();
        return;
    }
    if (!events->empty())
        m_lastEvent.start();
    for (const RunEvent& each : *events) {
        if (const auto* failure = std::get_if<RunFailure>(&each)) {
            m_cancelled = m_cancelled || failure->kind == RunFailure::Kind::Cancelled;
            m_failure = failureText(*failure);
        }
        m_reported = m_reported || std::holds_alternative<RunReport>(each);
        // Who has cancelled may have gone on to another model.
        if (!m_cancelled)
            emit event(each);
    }
}

QString RunClient::cancelledText() {
    return tr("Cancelled");
}

QString RunClient::crashText() const {
    // Of a process that crashed, QProcess has the signal as its exit code.
    return m_process->exitCode() == kKillSignal
               ? tr("The worker was killed, probably for lack of memory. The model is as it was.")
               : tr("The worker crashed (signal %1). The model is as it was.")
                     .arg(m_process->exitCode());
}

QString RunClient::endText() const {
    if (m_cancelled)
        return cancelledText();
    if (!m_failure.isEmpty())
        return m_failure;
    if (m_reported)
        return {};
    const QString text =
        m_process->exitStatus() == QProcess::CrashExit
            ? crashText()
            : tr("The worker ended without a result (exit code %1).").arg(m_process->exitCode());
    const QString errors = QString::fromUtf8(m_errors).trimmed();
    return errors.isEmpty() ? text : text + u'\n' + errors;
}

void RunClient::processEnded() {
    readErrors();
    if (m_process->bytesAvailable() > 0)
        readEvents();
    end(endText());
}

void RunClient::end(const QString& failure) {
    m_killer.stop();
    m_watch.stop();
    if (m_process)
        m_process->deleteLater();
    m_process = nullptr;
    emit finished(failure);
}

}  // namespace shardwright
