// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/model_builder.h"
#include "ui/window/editor_session.h"

#include <QCoreApplication>
#include <QFile>
#include <QSettings>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

#include <memory>

namespace shardwright::test {

/// The example of the issue: x[8,16,64] -> mm1 (w1) -> act -> mm2 (w2) -> y.
inline ModelBuilder mlp() {
    return ModelBuilder{}
        .input("x", {8, 16, 64})
        .weight("w1", {64, 256})
        .weight("w2", {256, 64})
        .op("MatMul", {"x", "w1"}, {"h"}, "mm1")
        .op("Gelu", {"h"}, {"a"}, "act")
        .op("MatMul", {"a", "w2"}, {"y"}, "mm2")
        .output("y", {8, 16, 64});
}

/// Settings, data folder and files of a test, apart from those of the person who runs it.
class Sandbox {
public:
    Sandbox() {
        QStandardPaths::setTestModeEnabled(true);
        QCoreApplication::setOrganizationName(QStringLiteral("shardwright-test"));
        QCoreApplication::setApplicationName(
            QStringLiteral("test-%1").arg(QCoreApplication::applicationPid()));
        QSettings::setDefaultFormat(QSettings::IniFormat);
        QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, m_folder.path());
    }
    ~Sandbox() {
        QDir(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation)).removeRecursively();
    }

    QString path(const QString& name) const { return m_folder.filePath(name); }
    QString write(const QString& name, const std::string& bytes) const {
        QFile file(path(name));
        if (!file.open(QIODevice::WriteOnly) ||
            file.write(bytes.data(), static_cast<qint64>(bytes.size())) !=
                static_cast<qint64>(bytes.size()))
            qFatal("cannot write %s", qPrintable(file.fileName()));
        return file.fileName();
    }
    static QByteArray read(const QString& path) {
        QFile file(path);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }

private:
    QTemporaryDir m_folder;
};

/// Opens a file and waits for its first analysis.
inline bool openAndAnalyse(EditorSession& session, const QString& path) {
    session.open(path);
    return QTest::qWaitFor([&] { return session.hasDocument() && session.isAnalysisCurrent(); },
                           20000);
}

inline bool waitForAnalysis(EditorSession& session) {
    return QTest::qWaitFor([&] { return session.isAnalysisCurrent(); }, 20000);
}

/// One configuration "c" with mesh tp=2 (or another).
inline void addMesh(EditorSession& session, const Mesh& mesh = {{{"tp", 2}}}) {
    session.push(editConfiguration(session.document(), "c", mesh));
    if (!waitForAnalysis(session))
        qFatal("no analysis");
}

}  // namespace shardwright::test
