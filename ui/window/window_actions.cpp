// SPDX-License-Identifier: Apache-2.0
#include "ui/window/window_actions.h"

#include "ui/window/text.h"

#include <QAction>
#include <QActionGroup>
#include <QMenu>
#include <QMenuBar>
#include <QUndoStack>

#include <tuple>

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
    if (!shortcut.isEmpty())
        setShortcut(action, {shortcut});
    if (!icon.isEmpty())
        action->setIcon(themedIcon(icon));
    return action;
}

void WindowActions::setShortcut(QAction* action, const QList<QKeySequence>& shortcuts) {
    action->setShortcuts(shortcuts);
    // Tool bars do not say it by themselves.
    QString words = action->text().remove(u'&');
    if (words.endsWith(u'…'))
        words.chop(1);
    action->setToolTip(toolTipText(
        tr("%1 (%2)").arg(words, shortcuts.front().toString(QKeySequence::NativeText))));
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
    exportPdf = add(tr("Export as P&DF…"), QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_P));
    exportSelection =
        add(tr("Export Se&lection…"), QKeySequence(Qt::CTRL | Qt::ALT | Qt::SHIFT | Qt::Key_E));
    importAnnotations =
        add(tr("&Import Annotations…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_I));
    exportAnnotations =
        add(tr("E&xport Annotations…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_X));
    recentMenu = new QMenu(tr("Open Re&cent"));
    m_needDocument << importAnnotations << exportAnnotations << reload << save << saveAs << close
                   << exportPng << exportSvg << exportPdf << exportSelection;
}

void WindowActions::createEditActions(QUndoStack* stack) {
    undo = add(tr("&Undo"), QKeySequence::Undo, QStringLiteral("undo"));
    redo = add(tr("&Redo"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z), QStringLiteral("redo"));
    setShortcut(
        redo, {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z), QKeySequence(Qt::CTRL | Qt::Key_Y)});
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
        setShortcut(undo, undo->shortcuts());
        setShortcut(redo, redo->shortcuts());
    };
    connect(stack, &QUndoStack::indexChanged, this, follow);
    connect(stack, &QUndoStack::canUndoChanged, this, follow);
    connect(stack, &QUndoStack::canRedoChanged, this, follow);
    follow();
    find = add(tr("&Find…"), QKeySequence::Find, QStringLiteral("find"));
    findNext = add(tr("Find &Next"), Qt::Key_F3);
    findPrevious = add(tr("Find &Previous"), QKeySequence(Qt::SHIFT | Qt::Key_F3));
    selectAll = add(tr("Select &All Nodes"), QKeySequence::SelectAll);
    copyName = add(tr("&Copy Node Name"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C),
                   QStringLiteral("copy"));
    copyLayout = add(tr("Copy &Layout"), QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_C));
    strip = add(tr("Remove All A&nnotations"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Delete));
    preferences = add(tr("Pr&eferences…"), QKeySequence(Qt::CTRL | Qt::Key_Comma));
    m_needDocument << find << findNext << findPrevious << selectAll << copyName << copyLayout
                   << strip;
}

void WindowActions::createViewActions() {
    zoomIn = add(tr("Zoom &In"), QKeySequence(Qt::CTRL | Qt::Key_Plus), QStringLiteral("zoom-in"));
    setShortcut(zoomIn,
                {QKeySequence(Qt::CTRL | Qt::Key_Plus), QKeySequence(Qt::CTRL | Qt::Key_Equal)});
    zoomOut =
        add(tr("Zoom &Out"), QKeySequence(Qt::CTRL | Qt::Key_Minus), QStringLiteral("zoom-out"));
    actualSize = add(tr("&Actual Size"), QKeySequence(Qt::CTRL | Qt::Key_0));
    fit = add(tr("&Fit Graph"), QKeySequence(Qt::CTRL | Qt::Key_1), QStringLiteral("fit"));
    fitSelection = add(tr("Fit &Selection"), QKeySequence(Qt::CTRL | Qt::Key_2));
    back = add(tr("&Back to the Selection Before"), QKeySequence(Qt::ALT | Qt::Key_Left),
               QStringLiteral("back"));
    setShortcut(back, {QKeySequence(Qt::ALT | Qt::Key_Left), QKeySequence(Qt::Key_Backspace)});
    expandAll = add(tr("&Expand All Scopes"), QKeySequence(Qt::CTRL | Qt::Key_BracketRight),
                    QStringLiteral("expand"));
    collapseAll = add(tr("&Collapse All Scopes"), QKeySequence(Qt::CTRL | Qt::Key_BracketLeft),
                      QStringLiteral("collapse"));
    m_needDocument << zoomIn << zoomOut << actualSize << fit << fitSelection << back << expandAll
                   << collapseAll;

    createDrawingActions();
    createMarkActions();
    themes = new QActionGroup(this);
    const std::tuple<QString, ThemeChoice, Qt::Key> choices[] = {
        {tr("&System Theme"), ThemeChoice::System, Qt::Key_F6},
        {tr("&Light Theme"), ThemeChoice::Light, Qt::Key_F7},
        {tr("&Dark Theme"), ThemeChoice::Dark, Qt::Key_F8}};
    for (const auto& [text, value, key] : choices) {
        QAction* action = add(text, QKeySequence(Qt::CTRL | key));
        action->setCheckable(true);
        action->setData(themeName(value));
        themes->addAction(action);
    }
    goMenu = new QMenu(tr("&Go To"));
    goToGraph = add(tr("&Graph"), QKeySequence(Qt::ALT | Qt::Key_0));
    goMenu->addAction(goToGraph);
    panelsMenu = new QMenu(tr("&Panels"));
    createModelActions();
}

/// What is written on the drawing.
void WindowActions::createDrawingActions() {
    using EdgeText = GraphCanvas::EdgeText;
    edgeTexts = new QActionGroup(this);
    const std::tuple<QString, EdgeText, Qt::Key> texts[] = {
        {tr("No Labels"), EdgeText::None, Qt::Key_F6},
        {tr("Tensor Names"), EdgeText::Name, Qt::Key_F7},
        {tr("Shapes"), EdgeText::Shape, Qt::Key_F8},
        {tr("Layouts"), EdgeText::Layout, Qt::Key_F9}};
    edgeMenu = new QMenu(tr("Edge &Labels"));
    for (const auto& [text, value, key] : texts) {
        QAction* action = add(text, key);
        action->setCheckable(true);
        action->setData(static_cast<int>(value));
        edgeMenu->addAction(edgeTexts->addAction(action));
    }
    nextEdgeText = add(tr("&Next Edge Label"), QKeySequence(Qt::CTRL | Qt::Key_L));
    edgeMenu->addSeparator();
    edgeMenu->addAction(nextEdgeText);
    boxMenu = new QMenu(tr("&Node Contents"));
    boxNames = add(tr("&Names"), QKeySequence(Qt::CTRL | Qt::Key_U));
    boxWeights = add(tr("&Weights"), QKeySequence(Qt::CTRL | Qt::Key_I));
    boxAttributes = add(tr("&Attributes"), QKeySequence(Qt::CTRL | Qt::Key_D));
    for (QAction* action : {boxNames, boxWeights, boxAttributes})
        action->setCheckable(true);
    boxMenu->addActions({boxNames, boxWeights, boxAttributes});
}

void WindowActions::createModelActions() {
    run = add(tr("&Run"), QKeySequence(Qt::CTRL | Qt::Key_R), QStringLiteral("run"));
    cancelRun =
        add(tr("&Cancel the Run"), QKeySequence(Qt::CTRL | Qt::Key_Period), QStringLiteral("stop"));
    cancelRun->setEnabled(false);
    propose = add(tr("&Propose Layouts"), QKeySequence(Qt::CTRL | Qt::Key_P));
    strict = add(tr("&Strict Profile (Proposal 0007 Only)"),
                 QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_K));
    strict->setCheckable(true);
    shortcuts = add(tr("&Keyboard and Mouse"), QKeySequence::HelpContents);
    about = add(tr("&About Shardwright"), QKeySequence(Qt::SHIFT | Qt::Key_F1));
    m_needDocument << run << propose;
}

QAction* WindowActions::addPanel(const QString& title, QAction* toggle) {
    const auto key = static_cast<Qt::Key>(Qt::Key_0 + goMenu->actions().size());
    setShortcut(toggle, {QKeySequence(Qt::CTRL | Qt::ALT | key)});
    panelsMenu->addAction(toggle);
    QAction* go = add(title, QKeySequence(Qt::ALT | key));
    goMenu->addAction(go);
    return go;
}

void WindowActions::createMarkActions() {
    const std::tuple<QString, GraphCanvas::Mark, Qt::Key> kinds[] = {
        {tr("&Axes"), GraphCanvas::AxisMarks, Qt::Key_A},
        {tr("&Stages"), GraphCanvas::StageMarks, Qt::Key_S},
        {tr("&Communication"), GraphCanvas::CommunicationMarks, Qt::Key_C},
        {tr("&Diagnostics"), GraphCanvas::DiagnosticMarks, Qt::Key_D}};
    marksMenu = new QMenu(tr("&Marks"));
    for (const auto& [text, mark, key] : kinds) {
        QAction* action = add(text, QKeySequence(Qt::ALT | Qt::SHIFT | key));
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
    file->addActions({importAnnotations, exportAnnotations});
    file->addSeparator();
    file->addActions({exportPng, exportSvg, exportPdf, exportSelection});
    file->addSeparator();
    file->addActions({close, quit});
    QMenu* edit = bar->addMenu(tr("&Edit"));
    edit->addActions({undo, redo});
    edit->addSeparator();
    edit->addActions({find, findNext, findPrevious});
    edit->addSeparator();
    edit->addActions({selectAll, copyName, copyLayout});
    edit->addSeparator();
    edit->addAction(strip);
    edit->addSeparator();
    edit->addAction(preferences);
    QMenu* view = bar->addMenu(tr("&View"));
    view->addActions({zoomIn, zoomOut, actualSize, fit, fitSelection});
    view->addSeparator();
    view->addActions({back, expandAll, collapseAll});
    view->addSeparator();
    view->addMenu(edgeMenu);
    view->addMenu(boxMenu);
    view->addMenu(marksMenu);
    view->addMenu(goMenu);
    view->addMenu(panelsMenu);
    view->addSeparator();
    view->addActions(themes->actions());
    QMenu* model = bar->addMenu(tr("&Model"));
    model->addActions({run, cancelRun});
    model->addSeparator();
    model->addAction(propose);
    model->addSeparator();
    model->addAction(strict);
    bar->addMenu(tr("&Help"))->addActions({shortcuts, about});
}

void WindowActions::setDocumentOpen(bool isOpen) {
    for (QAction* action : m_needDocument)
        action->setEnabled(isOpen);
}

}  // namespace shardwright
