// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDateTime>
#include <QFileSystemWatcher>
#include <QObject>
#include <QTimer>

namespace shardwright {

/// Tells when another program changes the open file.
class FileWatch : public QObject {
    Q_OBJECT

public:
    explicit FileWatch(QObject* parent = nullptr);
    /// The file as it is now is the one we know (opened or written by us). Empty: none.
    void watch(const QString& path);

signals:
    void changedOnDisk();

private:
    void check();

    QFileSystemWatcher m_watcher;
    QTimer m_settle;
    QString m_path;
    QDateTime m_time;
    qint64 m_size = -1;
};

}  // namespace shardwright
