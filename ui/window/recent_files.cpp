// SPDX-License-Identifier: Apache-2.0
#include "ui/window/recent_files.h"

#include <QFileInfo>
#include <QSettings>

namespace shardwright {
namespace {

const QString kKey = QStringLiteral("recentFiles");

}  // namespace

QStringList RecentFiles::paths() const {
    return QSettings().value(kKey).toStringList().mid(0, kMost);
}

void RecentFiles::write(const QStringList& paths) {
    if (m_frozen)
        return;
    QSettings().setValue(kKey, paths.mid(0, kMost));
    emit changed();
}

void RecentFiles::add(const QString& path) {
    const QString absolute = QFileInfo(path).absoluteFilePath();
    QStringList list = paths();
    list.removeAll(absolute);
    list.prepend(absolute);
    write(list);
}

void RecentFiles::remove(const QString& path) {
    QStringList list = paths();
    if (list.removeAll(QFileInfo(path).absoluteFilePath()) > 0)
        write(list);
}

void RecentFiles::clear() {
    write({});
}

}  // namespace shardwright
