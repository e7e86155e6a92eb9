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
    /// From now on the list stays as it is: what a script opens is not what somebody worked on.
    void freeze() { m_frozen = true; }

signals:
    void changed();

private:
    void write(const QStringList& paths);

    bool m_frozen = false;
};

}  // namespace shardwright
