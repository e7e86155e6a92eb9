// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QStringList>

namespace shardwright {

/// Files opened lately, the latest first; kept in the settings, which other windows change, too.
class RecentFiles : public QObject {
    Q_OBJECT

public:
    static constexpr int kMost = 12;
    using QObject::QObject;
    QStringList paths() const;
    void add(const QString& path);
    void remove(const QString& path);
    void clear();

signals:
    void changed();

private:
    void write(const QStringList& paths);
};

}  // namespace shardwright
