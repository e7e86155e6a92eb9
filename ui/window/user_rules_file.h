// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/window/editor_session.h"

#include <QObject>
#include <QString>
#include <QStringList>

namespace shardwright {

class FileWatch;

/// The file of rules of the person's own operators that the settings name. It is read at the start
/// and whenever it changes, and given to the session.
class UserRulesFile : public QObject {
    Q_OBJECT

public:
    explicit UserRulesFile(EditorSession* session, QObject* parent = nullptr);

    QString path() const { return m_path; }
    /// Empty: no rules but the standard ones. Goes into the settings, and to the other windows.
    void setPath(const QString& path);
    void reload();
    bool isReading() const;
    /// Why the file is of no use, with line and column; empty: it is in force. What was read of
    /// the same file before stays in force meanwhile.
    QString error() const { return m_error; }
    /// "com.example::Scale", in the order of the file; those in force.
    QStringList operators() const { return m_operators; }

signals:
    /// Another file was chosen, it was read, or could not be.
    void changed();

private:
    struct Read;
    void adopt(const QString& path);
    void take(Read read);

    EditorSession* m_session;
    FileWatch* m_watch;
    QString m_path, m_error;
    QStringList m_operators;
};

}  // namespace shardwright
