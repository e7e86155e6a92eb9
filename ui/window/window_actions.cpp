// SPDX-License-Identifier: Apache-2.0
#include "ui/window/window_actions.h"

#include "ui/window/text.h"

#include <QAction>
#include <QActionGroup>
#include <QMenu>
#include <QMenuBar>
#include <QUndoStack>

namespace shardwright {

WindowActions::WindowActions(QUndoStack* undoStack, QObject* parent) : QObject(parent) {
    createFileActions();
    createEditActions(undoStack);
    createViewActions();
    setDocumentOpen(false);
}

QAction* WindowActions::add(const QString& text, const QKeySequence& shortcut,
                            const QString& icon) {
    auto* action = new QAction(text, this);
    action->setShortcut(shortcut);
    if (!icon.isEmpty())
        action->setIcon(themedIcon(icon));
    return action;
}

void WindowActions::createFileActions() {
    newWindow = add(tr("&New Window"), QKeySequence::New);
    open = add(tr("&Open…"), QKeySequence::Open, QStringLiteral("open"));
    reload = add(tr("&Reload"), Qt::Key_F5);
    save = add(tr("&Save"), QKeySequence::Save, QStringLiteral("save"));
    saveAs = add(tr("Save &As…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S));
    close = add(tr("&Close"), QKeySequence(Qt::CTRL | Qt::Key_W));
    quit = add(tr("&Quit"), QKeySequence(Qt::CTRL | Qt::Key_Q));
    exportPng = add(tr("Export as P&NG…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_E));
    exportSvg = add(tr("Export as S&VG…"), QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_E));
    exportPdf = add(tr("Export as P&DF…"));
    recentMenu = new QMenu(tr("Open Re&cent"));
    m_needDocument << reload << save << saveAs << close << exportPng << exportSvg << exportPdf;
}

void WindowActions::createEditActions(QUndoStack* stack) {
    undo = add(tr("&Undo"), QKeySequence::Undo, QStringLiteral("undo"));
    redo = add(tr("&Redo"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z), QStringLiteral("redo"));
    redo->setShortcuts(
        {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z), QKeySequence(Qt::CTRL | Qt::Key_Y)});
    connect(undo, &QAction::triggered, stack, &QUndoStack::undo);
    connect(redo, &QAction::triggered, stack, &QUndoStack::redo);
    // Not QUndoStack's own actions, which take an "&" in a tensor's name for a shortcut.
    const auto follow = [this, stack] {
        undo->setEnabled(stack->canUndo());
        redo->setEnabled(stack->canRedo());
        undo->setText(stack->canUndo() ? tr("&Undo %1").arg(menuText(stack->undoText()))
                                       : tr("&Undo"));
        redo->setText(stack->canRedo() ? tr("&Redo %1").arg(menuText(stack->redoText()))
                                       : tr("&Redo"));
        undo->setToolTip(toolTipText(undo->text().remove(u'&')));
        redo->setToolTip(toolTipText(redo->text().remove(u'&')));
    };
    connect(stack, &QUndoStack::indexChanged, this, follow);
    connect(stack, &QUndoStack::canUndoChanged, this, follow);
    connect(stack, &QUndoStack::canRedoChanged, this, follow);
    follow();
    find = add(tr("&Find…"), QKeySequence::Find, QStringLiteral("find"));
    findNext = add(tr("Find &Next"), Qt::Key_F3);
    findPrevious = add(tr("Find &Previous"), QKeySequence(Qt::SHIFT | Qt::Key_F3));
    selectAll = add(tr("Select &All Nodes"));
    copyName = add(tr("&Copy Node Name"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C),
                   QStringLiteral("copy"));
    strip = add(tr("Remove All A&nnotations"));
    m_needDocument << find << findNext << findPrevious << selectAll << copyName << strip;
}

void WindowActions::createViewActions() {
    zoomIn = add(tr("Zoom &In"), QKeySequence(Qt::CTRL | Qt::Key_Plus), QStringLiteral("zoom-in"));
    zoomIn->setShortcuts(
        {QKeySequence(Qt::CTRL | Qt::Key_Plus), QKeySequence(Qt::CTRL | Qt::Key_Equal)});
    zoomOut =
        add(tr("Zoom &Out"), QKeySequence(Qt::CTRL | Qt::Key_Minus), QStringLiteral("zoom-out"));
    actualSize = add(tr("&Actual Size"), QKeySequence(Qt::CTRL | Qt::Key_0));
    fit = add(tr("&Fit Graph"), QKeySequence(Qt::CTRL | Qt::Key_1), QStringLiteral("fit"));
    fitSelection = add(tr("Fit &Selection"), QKeySequence(Qt::CTRL | Qt::Key_2));
    back = add(tr("&Back to the Selection Before"), QKeySequence(Qt::ALT | Qt::Key_Left),
               QStringLiteral("back"));
    back->setShortcuts({QKeySequence(Qt::ALT | Qt::Key_Left), QKeySequence(Qt::Key_Backspace)});
    expandAll = add(tr("&Expand All Scopes"), QKeySequence(Qt::CTRL | Qt::Key_BracketRight),
                    QStringLiteral("expand"));
    collapseAll = add(tr("&Collapse All Scopes"), QKeySequence(Qt::CTRL | Qt::Key_BracketLeft),
                      QStringLiteral("collapse"));
    nextEdgeText = add(tr("&Next Edge Label"), QKeySequence(Qt::CTRL | Qt::Key_U));
    m_needDocument << zoomIn << zoomOut << actualSize << fit << fitSelection << back << expandAll
                   << collapseAll;

    using EdgeText = GraphCanvas::EdgeText;
    edgeTexts = new QActionGroup(this);
    const std::pair<QString, EdgeText> texts[] = {{tr("No Labels"), EdgeText::None},
                                                  {tr("Tensor Names"), EdgeText::Name},
                                                  {tr("Shapes"), EdgeText::Shape},
                                                  {tr("Layouts"), EdgeText::Layout}};
    edgeMenu = new QMenu(tr("Edge &Labels"));
    for (const auto& [text, value] : texts) {
        QAction* action = add(text);
        action->setCheckable(true);
        action->setData(static_cast<int>(value));
        edgeMenu->addAction(edgeTexts->addAction(action));
    }
    edgeMenu->addSeparator();
    edgeMenu->addAction(nextEdgeText);
    createMarkActions();
    themes = new QActionGroup(this);
    const std::pair<QString, ThemeChoice> choices[] = {{tr("&System Theme"), ThemeChoice::System},
                                                       {tr("&Light Theme"), ThemeChoice::Light},
                                                       {tr("&Dark Theme"), ThemeChoice::Dark}};
    for (const auto& [text, value] : choices) {
        QAction* action = add(text);
        action->setCheckable(true);
        action->setData(themeName(value));
        themes->addAction(action);
    }
    panelsMenu = new QMenu(tr("&Panels"));
    strict = add(tr("&Strict Profile (Proposal 0007 Only)"));
    strict->setCheckable(true);
    run = add(tr("&Run…"), QKeySequence(Qt::CTRL | Qt::Key_R), QStringLiteral("run"));
    about = add(tr("&About Shardwright"));
    m_needDocument << run;
}

void WindowActions::createMarkActions() {
    const std::pair<QString, GraphCanvas::Mark> kinds[] = {
        {tr("&Axes"), GraphCanvas::AxisMarks},
        {tr("&Stages"), GraphCanvas::StageMarks},
        {tr("&Communication"), GraphCanvas::CommunicationMarks},
        {tr("&Diagnostics"), GraphCanvas::DiagnosticMarks}};
    marksMenu = new QMenu(tr("&Marks"));
    for (const auto& [text, mark] : kinds) {
        QAction* action = add(text);
        action->setCheckable(true);
        action->setChecked(true);
        action->setData(static_cast<int>(mark));
        marksMenu->addAction(action);
    }
}

void WindowActions::fillMenuBar(QMenuBar* bar) {
    QMenu* file = bar->addMenu(tr("&File"));
    file->addActions({newWindow, open});
    file->addMenu(recentMenu);
    file->addAction(reload);
    file->addSeparator();
    file->addActions({save, saveAs});
    file->addSeparator();
    file->addActions({exportPng, exportSvg, exportPdf});
    file->addSeparator();
    file->addActions({close, quit});
    QMenu* edit = bar->addMenu(tr("&Edit"));
    edit->addActions({undo, redo});
    edit->addSeparator();
    edit->addActions({find, findNext, findPrevious});
    edit->addSeparator();
    edit->addActions({selectAll, copyName});
    edit->addSeparator();
    edit->addAction(strip);
    QMenu* view = bar->addMenu(tr("&View"));
    view->addActions({zoomIn, zoomOut, actualSize, fit, fitSelection});
    view->addSeparator();
    view->addActions({back, expandAll, collapseAll});
    view->addSeparator();
    view->addMenu(edgeMenu);
    view->addMenu(marksMenu);
    view->addMenu(panelsMenu);
    view->addSeparator();
    view->addActions(themes->actions());
    QMenu* model = bar->addMenu(tr("&Model"));
    model->addActions({run, strict});
    bar->addMenu(tr("&Help"))->addAction(about);
}

void WindowActions::setDocumentOpen(bool isOpen) {
    for (QAction* action : m_needDocument)
        action->setEnabled(isOpen);
}

}  // namespace shardwright
