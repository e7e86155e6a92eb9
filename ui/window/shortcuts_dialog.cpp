// SPDX-License-Identifier: Apache-2.0
#include "ui/window/shortcuts_dialog.h"

#include "ui/window/theme.h"

#include <QAction>
#include <QBoxLayout>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QTreeWidget>

namespace shardwright {
namespace {

QString plain(const QAction* action) {
    QString text = action->text();
    return text.replace(QStringLiteral("&&"), QStringLiteral("\a"))
        .remove(u'&')
        .replace(u'\a', u'&');
}

}  // namespace

ShortcutsDialog::ShortcutsDialog(const QMenuBar* menus, QWidget* parent) : QDialog(parent) {
    setObjectName(QStringLiteral("shortcutsDialog"));
    setWindowTitle(tr("Keyboard and Mouse"));
    m_search = new QLineEdit(this);
    m_search->setPlaceholderText(tr("Find a command or a key"));
    m_search->setAccessibleName(tr("Find a command or a key"));
    m_search->setClearButtonEnabled(true);
    m_search->addAction(themedIcon(QStringLiteral("find")), QLineEdit::LeadingPosition);
    connect(m_search, &QLineEdit::textChanged, this, &ShortcutsDialog::filter);
    m_list = new QTreeWidget(this);
    m_list->setObjectName(QStringLiteral("shortcuts"));
    m_list->setAccessibleName(tr("Commands and their keys"));
    m_list->setHeaderLabels({tr("Command"), tr("Keys")});
    m_list->setUniformRowHeights(true);
    m_list->setStyleSheet(QStringLiteral("QTreeView::item { padding: 2px 0; }"));
    m_list->setAllColumnsShowFocus(true);
    m_list->header()->setStretchLastSection(false);
    m_list->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    m_list->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* column = new QVBoxLayout(this);
    column->addWidget(m_search);
    column->addWidget(m_list, 1);
    column->addWidget(buttons);
    for (const QAction* menu : menus->actions())
        if (menu->menu())
            addMenu(plain(menu), menu->menu()->actions());
    addGraph();
    m_list->expandAll();
    resize(560, 620);
}

void ShortcutsDialog::addRows(const QString& title,
                              const QList<std::pair<QString, QString>>& rows) {
    if (rows.isEmpty())
        return;
    auto* section = new QTreeWidgetItem(m_list, {title});
    QFont bold = font();
    bold.setBold(true);
    section->setFont(0, bold);
    for (const auto& [what, keys] : rows)
        new QTreeWidgetItem(section, {what, keys});
}

void ShortcutsDialog::addMenu(const QString& title, const QList<QAction*>& actions) {
    QList<std::pair<QString, QString>> rows;
    QList<const QAction*> inner;
    for (const QAction* action : actions) {
        if (action->menu())
            inner << action;
        else if (!action->isSeparator() && !action->shortcut().isEmpty())
            rows.append({plain(action), QKeySequence::listToString(action->shortcuts(),
                                                                   QKeySequence::NativeText)});
    }
    addRows(title, rows);
    for (const QAction* menu : inner)
        addMenu(title + QStringLiteral(" \u203A ") + plain(menu), menu->menu()->actions());
}

void ShortcutsDialog::addGraph() {
    addRows(tr("In the graph"),
            {{tr("Walk to what makes, or reads, a tensor"), tr("Up, Down")},
             {tr("Walk to the left and right"), tr("Left, Right")},
             {tr("Open or close a scope"), tr("Enter, or double-click")},
             {tr("Select one more node, or take it away"), tr("Ctrl+click, Shift+click")},
             {tr("Select the nodes in a rectangle"), tr("Shift+drag")},
             {tr("Add the nodes in a rectangle"), tr("Ctrl+Shift+drag")},
             {tr("Select nothing"), tr("Esc")},
             {tr("The selection before"), tr("Backspace")},
             {tr("Move the view"), tr("Drag, or the middle button")},
             {tr("Scroll up and down, sideways"), tr("Wheel, Shift+wheel")},
             {tr("Zoom"), tr("Ctrl+wheel, + and -, Shift+Up and Shift+Down")},
             {tr("Actual size, the whole graph"), tr("0, F")},
             {tr("To the inputs"), tr("Home")},
             {tr("What can be done here"), tr("Right button, or the menu key")}});
    addRows(tr("In lists"), {{tr("Go to the node"), tr("Enter, or double-click")},
                             {tr("Next and previous match of a search"), tr("Enter, Shift+Enter")},
                             {tr("End the search"), tr("Esc")}});
}

void ShortcutsDialog::filter(const QString& words) {
    for (int i = 0; i < m_list->topLevelItemCount(); ++i) {
        QTreeWidgetItem* section = m_list->topLevelItem(i);
        bool any = false;
        for (int k = 0; k < section->childCount(); ++k) {
            QTreeWidgetItem* row = section->child(k);
            const bool match = row->text(0).contains(words.trimmed(), Qt::CaseInsensitive) ||
                               row->text(1).contains(words.trimmed(), Qt::CaseInsensitive);
            row->setHidden(!match);
            any = any || match;
        }
        section->setHidden(!any);
    }
}

}  // namespace shardwright
