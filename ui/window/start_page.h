// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

class QVBoxLayout;

namespace shardwright {

class RecentFiles;

/// What an empty window shows: how to open a model, and those opened lately.
class StartPage : public QWidget {
    Q_OBJECT

public:
    explicit StartPage(RecentFiles* recent, QWidget* parent = nullptr);

signals:
    void openWanted();
    void fileWanted(const QString& path);

private:
    void refresh();

    RecentFiles* m_recent;
    QWidget* m_list;
    QVBoxLayout* m_rows;
};

}  // namespace shardwright
