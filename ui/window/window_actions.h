// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/canvas/graph_canvas.h"
#include "ui/window/theme.h"

#include <QList>
#include <QObject>

class QAction;
class QActionGroup;
class QMenu;
class QMenuBar;
class QUndoStack;

namespace shardwright {

/// Everything that menus, the tool bar and shortcuts can do.
class WindowActions : public QObject {
    Q_OBJECT

public:
    explicit WindowActions(QUndoStack* undo, QObject* parent);

    QAction *newWindow, *open, *reload, *save, *saveAs, *close, *quit;
    QAction *importAnnotations, *exportAnnotations;
    QAction *exportPng, *exportSvg, *exportPdf, *exportSelection;
    QAction *undo, *redo, *find, *findNext, *findPrevious, *selectAll, *copyName, *copyLayout,
        *strip, *preferences;
    QAction *zoomIn, *zoomOut, *actualSize, *fit, *fitSelection, *back, *expandAll, *collapseAll,
        *nextEdgeText;
    QAction *goToGraph, *boxNames, *boxWeights, *boxAttributes;
    QAction *strict, *run, *cancelRun, *propose, *shortcuts, *about;
    QActionGroup *edgeTexts, *themes;
    QMenu *recentMenu, *edgeMenu, *boxMenu, *marksMenu, *goMenu, *panelsMenu;

    void fillMenuBar(QMenuBar* bar);
    /// A command to go to a panel, and one to show or hide it (`toggle`).
    QAction* addPanel(const QString& title, QAction* toggle);
    /// Those that need an open model.
    void setDocumentOpen(bool open);

private:
    QAction* add(const QString& text, const QKeySequence& shortcut = {}, const QString& icon = {});
    void createFileActions();
    void createEditActions(QUndoStack* stack);
    void createViewActions();
    void createMarkActions();
    void createDrawingActions();
    void createModelActions();
    void setShortcut(QAction* action, const QList<QKeySequence>& shortcuts);

    QList<QAction*> m_needDocument;
};

}  // namespace shardwright
