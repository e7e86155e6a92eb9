// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDialog>

class QLineEdit;
class QMenuBar;
class QTreeWidget;

namespace shardwright {

/// What every key does, and the mouse on the graph: the commands of the menus with their shortcuts,
/// and what has no menu.
class ShortcutsDialog : public QDialog {
    Q_OBJECT

public:
    explicit ShortcutsDialog(const QMenuBar* menus, QWidget* parent = nullptr);

private:
    void addMenu(const QString& title, const QList<QAction*>& actions);
    void addRows(const QString& title, const QList<std::pair<QString, QString>>& rows);
    void addGraph();
    void filter(const QString& words);

    QLineEdit* m_search;
    QTreeWidget* m_list;
};

}  // namespace shardwright
