// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QString>
#include <QStringList>

namespace shardwright::test {

/// What one call of shardwright-cli printed.
struct CliResult {
    int exitCode = -1;
    QByteArray out;
    QString err;

    QJsonObject json() const { return QJsonDocument::fromJson(out).object(); }
};

/// Runs the built shardwright-cli. A crash or a hang gives exit code -1.
inline CliResult runCli(const QStringList& arguments, int timeoutMs = 100000) {
    QProcess process;
    process.start(qEnvironmentVariable("SHARDWRIGHT_BIN") + "/shardwright-cli", arguments);
    CliResult result;
    if (!process.waitForFinished(timeoutMs)) {
        process.kill();
        process.waitForFinished();
        return result;
    }
    result.exitCode = process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1;
    result.out = process.readAllStandardOutput();
    result.err = QString::fromUtf8(process.readAllStandardError());
    return result;
}

}  // namespace shardwright::test
