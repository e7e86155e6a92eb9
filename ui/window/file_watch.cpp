// SPDX-License-Identifier: Apache-2.0
#include "ui/window/file_watch.h"

#include <QFileInfo>

namespace shardwright {
namespace {

// Long enough for a writer to finish, short enough to be of use.
constexpr int kSettleMs = 300;

}  // namespace

FileWatch::FileWatch(QObject* parent) : QObject(parent) {
    m_settle.setSingleShot(true);
    m_settle.setInterval(kSettleMs);
    connect(&m_settle, &QTimer::timeout, this, &FileWatch::check);
    connect(&m_watcher, &QFileSystemWatcher::fileChanged, &m_settle, qOverload<>(&QTimer::start));
    connect(&m_watcher, &QFileSystemWatcher::directoryChanged, &m_settle,
            qOverload<>(&QTimer::start));
}

void FileWatch::watch(const QString& path) {
    if (!m_watcher.files().isEmpty())
        m_watcher.removePaths(m_watcher.files());
    if (!m_watcher.directories().isEmpty())
        m_watcher.removePaths(m_watcher.directories());
    m_settle.stop();
    m_path = path;
    if (path.isEmpty())
        return;
    const QFileInfo info(path);
    m_time = info.lastModified();
    m_size = info.size();
    m_watcher.addPath(path);
    // A file that is replaced by renaming drops out of the watcher; its folder does not.
    m_watcher.addPath(info.absolutePath());
}

void FileWatch::check() {
    const QFileInfo info(m_path);
    if (!info.exists())
        return;
    if (!m_watcher.files().contains(m_path))
        m_watcher.addPath(m_path);
    if (info.lastModified() == m_time && info.size() == m_size)
        return;
    m_time = info.lastModified();
    m_size = info.size();
    emit changedOnDisk();
}

}  // namespace shardwright
