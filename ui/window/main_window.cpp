// SPDX-License-Identifier: Apache-2.0
#include "ui/window/main_window.h"

#include "ui/canvas/graph_canvas.h"
#include "ui/canvas/minimap.h"
#include "ui/panels/bindings_button.h"
#include "ui/panels/communication_panel.h"
#include "ui/panels/diagnostics_panel.h"
#include "ui/panels/inspector_panel.h"
#include "ui/panels/mesh_panel.h"
#include "ui/panels/proposals_panel.h"
#include "ui/panels/run_panel.h"
#include "ui/panels/structure_panel.h"
#include "ui/window/annotation_files.h"
#include "ui/window/editor_session.h"
#include "ui/window/file_watch.h"
#include "ui/window/message_bar.h"
#include "ui/window/nodes_in_view.h"
#include "ui/window/recent_files.h"
#include "ui/window/recovery.h"
#include "ui/window/start_page.h"
#include "ui/window/text.h"
#include "ui/window/theme.h"
#include "ui/window/user_rules_file.h"
#include "ui/window/window_actions.h"

#include <QActionGroup>
#include <QApplication>
#include <QBoxLayout>
#include <QDockWidget>
#include <QFileInfo>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QProgressBar>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>
#include <QToolBar>
#include <QToolButton>

namespace shardwright {
namespace {

// Raised when docks change in a way that an old saved state does not fit.
constexpr int kStateVersion = 2;

}  // namespace

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent) {
    m_session = new EditorSession(this);
    m_actions = new WindowActions(m_session->undoStack(), this);
    m_recent = new RecentFiles(this);
    m_recovery = new Recovery(m_session, this);
    m_watch = new FileWatch(this);
    m_userRules = new UserRulesFile(m_session, this);
    setAcceptDrops(true);
    setDockNestingEnabled(true);
    buildCentre();
    buildDocks();
    buildToolBar();
    buildStatusBar();
    m_actions->fillMenuBar(menuBar());
    connectSession();
    connectNavigation();
    connectFileActions();
    connectViewActions();
    connectSearch();
    restoreSettings();
    refreshRecentMenu();
    updateTitle();
    updateBusy();
}

MainWindow::~MainWindow() {
    // The session ends with this window's children and tells of it, when half of them are gone.
    m_session->disconnect(this);
    m_session->undoStack()->disconnect();
    m_canvas->disconnect(this);
}

void MainWindow::buildCentre() {
    auto* centre = new QWidget(this);
    m_messages = new MessageBar(centre);
    m_canvas = new GraphCanvas(centre);
    m_canvas->setObjectName(QStringLiteral("canvas"));
    m_annotationFiles = new AnnotationFiles(m_session, m_messages, this);
    m_start = new StartPage(m_recent, centre);
    m_stack = new QStackedWidget(centre);
    m_stack->addWidget(m_start);
    m_stack->addWidget(m_canvas);
    auto* column = new QVBoxLayout(centre);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_messages);
    column->addWidget(m_stack, 1);
    setCentralWidget(centre);
}

QDockWidget* MainWindow::addDock(const QString& name, const QString& title, QWidget* panel,
                                 Qt::DockWidgetArea area) {
    auto* dock = new QDockWidget(title, this);
    dock->setObjectName(name);
    dock->setWidget(panel);
    dock->setFeatures(QDockWidget::DockWidgetMovable | QDockWidget::DockWidgetClosable |
                      QDockWidget::DockWidgetFloatable);
    addDockWidget(area, dock);
    connect(m_actions->addPanel(title, dock->toggleViewAction()), &QAction::triggered, dock,
            [dock, panel] {
                dock->show();
                dock->raise();
                // Its first control that takes the keyboard.
                QWidget* target = panel;
                for (QWidget* next = panel->nextInFocusChain(); next && next != panel;
                     next = next->nextInFocusChain()) {
                    if (!panel->isAncestorOf(next) || !next->isVisibleTo(panel) ||
                        !next->isEnabled() || !(next->focusPolicy() & Qt::TabFocus))
                        continue;
                    target = next;
                    break;
                }
                target->setFocus(Qt::ShortcutFocusReason);
            });
    return dock;
}

void MainWindow::buildDocks() {
    m_structure = new StructurePanel(m_session, this);
    m_inspector = new InspectorPanel(m_session, this);
    m_mesh = new MeshPanel(m_session, this);
    m_diagnostics = new DiagnosticsPanel(m_session, this);
    m_communication = new CommunicationPanel(this);
    m_runPanel = new RunPanel(m_session, this);
    m_proposals = new ProposalsPanel(m_session, this);
    // The side panels keep the whole height.
    setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
    setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
    setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    QDockWidget* structure = addDock(QStringLiteral("structureDock"), tr("Structure"), m_structure,
                                     Qt::LeftDockWidgetArea);
    QDockWidget* overview = addDock(QStringLiteral("overviewDock"), tr("Overview"),
                                    new Minimap(m_canvas, this), Qt::LeftDockWidgetArea);
    QDockWidget* inspector = addDock(QStringLiteral("inspectorDock"), tr("Inspector"), m_inspector,
                                     Qt::RightDockWidgetArea);
    m_meshDock = addDock(QStringLiteral("meshDock"), tr("Mesh"), m_mesh, Qt::RightDockWidgetArea);
    m_diagnosticsDock = addDock(QStringLiteral("diagnosticsDock"), tr("Diagnostics"), m_diagnostics,
                                Qt::BottomDockWidgetArea);
    m_communicationDock = addDock(QStringLiteral("communicationDock"), tr("Communication"),
                                  m_communication, Qt::BottomDockWidgetArea);
    m_runDock = addDock(QStringLiteral("runDock"), tr("Run"), m_runPanel, Qt::BottomDockWidgetArea);
    m_proposalsDock = addDock(QStringLiteral("proposalsDock"), tr("Proposals"), m_proposals,
                              Qt::BottomDockWidgetArea);
    tabifyDockWidget(m_diagnosticsDock, m_communicationDock);
    tabifyDockWidget(m_communicationDock, m_runDock);
    tabifyDockWidget(m_runDock, m_proposalsDock);
    // Their tabs say already what they are.
    for (QDockWidget* dock : {m_diagnosticsDock, m_communicationDock, m_runDock, m_proposalsDock})
        dock->setTitleBarWidget(new QWidget(dock));
    m_diagnosticsDock->raise();
    resizeDocks({structure, inspector}, {250, 370}, Qt::Horizontal);
    resizeDocks({structure, overview}, {500, 170}, Qt::Vertical);
    resizeDocks({inspector, m_meshDock}, {460, 290}, Qt::Vertical);
    resizeDocks({m_diagnosticsDock}, {250}, Qt::Vertical);
}

void MainWindow::buildToolBar() {
    auto* bar = addToolBar(tr("Tools"));
    bar->setObjectName(QStringLiteral("toolBar"));
    bar->setMovable(false);
    bar->setIconSize({18, 18});
    bar->addActions({m_actions->open, m_actions->save});
    bar->addSeparator();
    bar->addActions({m_actions->undo, m_actions->redo});
    bar->addSeparator();
    bar->addActions({m_actions->back, m_actions->zoomOut, m_actions->zoomIn, m_actions->fit});
    bar->addActions({m_actions->collapseAll, m_actions->expandAll});
    bar->addSeparator();
    auto* edges = new QToolButton(bar);
    edges->setMenu(m_actions->edgeMenu);
    edges->setPopupMode(QToolButton::InstantPopup);
    edges->setToolTip(tr("What is written beside the edges"));
    edges->setFocusPolicy(Qt::StrongFocus);
    connect(m_actions->edgeTexts, &QActionGroup::triggered, edges,
            [edges](QAction* action) { edges->setText(tr("Edges: %1").arg(action->text())); });
    edges->setObjectName(QStringLiteral("edgeButton"));
    bar->addWidget(edges);
    m_bindings = new BindingsButton(m_session, bar);
    // A tool bar shows and hides its widgets through their actions.
    QAction* bindings = bar->addWidget(m_bindings);
    bindings->setVisible(false);
    connect(m_session, &EditorSession::analysisChanged, this,
            [this, bindings](const auto& analysis) {
                m_bindings->setAnalysis(analysis);
                bindings->setVisible(!m_bindings->text().isEmpty());
            });
    connect(m_session, &EditorSession::closed, bindings,
            [bindings] { bindings->setVisible(false); });
    auto* spacer = new QWidget(bar);
    spacer->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    bar->addWidget(spacer);
    bar->addAction(m_actions->run);
    if (auto* run = qobject_cast<QToolButton*>(bar->widgetForAction(m_actions->run)))
        run->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
}

void MainWindow::buildStatusBar() {
    m_busyText = new QLabel(this);
    m_busyBar = new QProgressBar(this);
    m_busyBar->setRange(0, 0);
    m_busyBar->setTextVisible(false);
    m_busyBar->setFixedSize(90, 8);
    m_busyCancel = new QToolButton(this);
    m_busyCancel->setText(tr("Cancel"));
    m_busyCancel->setAutoRaise(true);
    connect(m_busyCancel, &QToolButton::clicked, this, [this] {
        if (m_session->isOpening())
            m_session->cancelOpen();
        else
            m_canvas->cancelPending();
        updateBusy();
    });
    m_selectionText = new QLabel(this);
    m_countsText = new QLabel(this);
    m_zoomText = new QLabel(this);
    for (QLabel* label : {m_busyText, m_selectionText, m_countsText, m_zoomText}) {
        label->setTextFormat(Qt::PlainText);
        label->setContentsMargins(6, 0, 6, 0);
    }
    for (QWidget* widget :
         {static_cast<QWidget*>(m_busyText), static_cast<QWidget*>(m_busyBar),
          static_cast<QWidget*>(m_busyCancel), static_cast<QWidget*>(m_selectionText)})
        statusBar()->addWidget(widget);
    statusBar()->addPermanentWidget(m_countsText);
    statusBar()->addPermanentWidget(m_zoomText);
    statusBar()->setSizeGripEnabled(false);
}

void MainWindow::connectSession() {
    connect(m_session, &EditorSession::opened, this, &MainWindow::fileOpened);
    connect(m_session, &EditorSession::closed, this, &MainWindow::fileClosed);
    connect(m_session, &EditorSession::openFailed, this,
            [this](const QString& path, const QString& message) {
                m_messages->show(MessageBar::Kind::Error,
                                 tr("%1: %2").arg(QFileInfo(path).fileName(), message));
                if (!QFileInfo::exists(path))
                    m_recent->remove(path);
            });
    connect(m_session, &EditorSession::saved, this, [this](const QString& path) {
        m_watch->watch(path);
        m_recent->add(path);
        updateTitle();
        statusBar()->showMessage(tr("Saved %1").arg(path), 4000);
        if (const auto next = std::exchange(m_afterSave, nullptr))
            next();
    });
    connect(m_session, &EditorSession::saveFailed, this,
            [this](const QString& path, const QString& message) {
                m_afterSave = nullptr;
                m_messages->show(MessageBar::Kind::Error,
                                 tr("%1 could not be saved: %2").arg(path, message),
                                 {{tr("Save As…"), [this] { saveAs(); }}});
            });
    connect(m_session, &EditorSession::modifiedChanged, this, &MainWindow::updateTitle);
    m_session->setFirst([this] { return nodesInView(*m_canvas); });
    connect(m_session, &EditorSession::analysisChanged, this, &MainWindow::showAnalysis);
    connect(m_session, &EditorSession::pieceAnalysed, m_canvas, &GraphCanvas::setAnalysis);
    connect(m_session, &EditorSession::pieceAnalysed, m_inspector, &InspectorPanel::setPiece);
    connect(m_session, &EditorSession::analysisFailed, this,
            [this](const QString& message) { m_messages->show(MessageBar::Kind::Error, message); });
    connect(m_session, &EditorSession::busyChanged, this, &MainWindow::updateBusy);
    connect(m_canvas, &GraphCanvas::busyChanged, this, &MainWindow::updateBusy);
    connect(m_recovery, &Recovery::offered, this, &MainWindow::offerRecovery);
    connect(m_userRules, &UserRulesFile::changed, this, &MainWindow::tellOfRules);
    connect(m_watch, &FileWatch::changedOnDisk, this, [this] {
        if (m_session->isSaving())
            return;  // Our own file, of which the session has not heard yet.
        m_messages->show(MessageBar::Kind::Warning,
                         m_session->isModified() ? tr("The file changed on disk. Reloading drops "
                                                      "your changes, saving overwrites the file.")
                                                 : tr("The file changed on disk."),
                         {{tr("Reload"), [this] { reload(); }}});
    });
}

void MainWindow::restoreSettings() {
    QSettings settings;
    resize(1440, 900);
    restoreGeometry(settings.value(QStringLiteral("geometry")).toByteArray());
    restoreState(settings.value(QStringLiteral("docks")).toByteArray(), kStateVersion);
    showEdgeText(
        settings.value(QStringLiteral("edgeText"), static_cast<int>(GraphCanvas::EdgeText::Shape))
            .toInt());
    m_actions->boxNames->setChecked(settings.value(QStringLiteral("boxNames"), true).toBool());
    m_actions->boxWeights->setChecked(settings.value(QStringLiteral("boxWeights"), true).toBool());
    m_actions->boxAttributes->setChecked(
        settings.value(QStringLiteral("boxAttributes"), false).toBool());
    applyBoxContents();
    // Not the stored one: the command line may have chosen another.
    const QString theme = themeName(appliedTheme());
    for (QAction* action : m_actions->themes->actions())
        action->setChecked(action->data().toString() == theme);
}

void MainWindow::saveSettings() const {
    QSettings settings;
    settings.setValue(QStringLiteral("geometry"), saveGeometry());
    settings.setValue(QStringLiteral("docks"), saveState(kStateVersion));
    settings.setValue(QStringLiteral("edgeText"), static_cast<int>(m_canvas->edgeText()));
    settings.setValue(QStringLiteral("boxNames"), m_canvas->boxContents().names);
    settings.setValue(QStringLiteral("boxWeights"), m_canvas->boxContents().weights);
    settings.setValue(QStringLiteral("boxAttributes"), m_canvas->boxContents().attributes);
}

void MainWindow::showAnalysis(std::shared_ptr<const Analysis> analysis) {
    m_canvas->setAnalysis(analysis);
    m_inspector->setAnalysis(analysis);
    m_structure->setAnalysis(analysis);
    m_mesh->setAnalysis(analysis);
    m_diagnostics->setAnalysis(analysis);
    m_communication->setAnalysis(analysis);
    m_runPanel->setAnalysis(analysis);
    m_proposals->setAnalysis(analysis);
    const int errors = analysis ? analysis->count(Severity::Error) : 0;
    const auto entries = analysis ? analysis->communication.entries.size() : 0;
    m_diagnosticsDock->setWindowTitle(errors > 0 ? tr("Diagnostics (%1)").arg(errors)
                                                 : tr("Diagnostics"));
    m_communicationDock->setWindowTitle(entries > 0 ? tr("Communication (%1)").arg(entries)
                                                    : tr("Communication"));
    updateSelectionText();
}

bool MainWindow::isSettled() const {
    return !m_session->isOpening() && !m_canvas->isBusy() && !m_runPanel->isRunning() &&
           !m_proposals->isBusy() &&
           (!m_session->hasDocument() || (m_session->isAnalysisCurrent() && m_canvas->scene()));
}

void MainWindow::updateTitle() {
    const QString name =
        m_session->hasDocument() ? QFileInfo(m_session->filePath()).fileName() : QString();
    setWindowTitle(name.isEmpty() ? QStringLiteral("Shardwright")
                                  : name + QStringLiteral("[*] – Shardwright"));
    setWindowModified(m_session->isModified());
}

void MainWindow::updateBusy() {
    using Kind = JobTracker::Kind;
    const JobTracker* jobs = m_session->jobs();
    // Nothing is said of what is over before one could read it.
    const bool checking = jobs->isRunning(Kind::Analysis) && !m_session->analysis();
    const QString text = m_session->isOpening()          ? tr("Opening…")
                         : m_session->isSaving()         ? tr("Saving…")
                         : jobs->isRunning(Kind::Export) ? tr("Exporting…")
                         : m_canvas->isBusy()            ? tr("Drawing…")
                         : checking                      ? tr("Checking…")
                                                         : QString();
    m_busyText->setText(text);
    m_busyText->setVisible(!text.isEmpty());
    m_busyBar->setVisible(!text.isEmpty());
    m_busyCancel->setVisible(m_session->isOpening() || m_canvas->isBusy());
}

void MainWindow::updateSelectionText() {
    QString selection, counts;
    if (m_session->hasDocument()) {
        const GraphIndex& graph = m_session->document().graph();
        const auto selected = m_canvas->selectedNodes().size();
        if (selected > 1)
            selection = tr("%1 nodes selected").arg(selected);
        QStringList parts{graph.nodes.size() == 1 ? tr("1 node")
                                                  : tr("%1 nodes").arg(graph.nodes.size())};
        if (const auto analysis = m_session->analysis(); analysis && analysis->hasConfiguration)
            parts << tr("%1: %2").arg(oneLine(analysis->configuration.name, 30),
                                      toQt(analysis->configuration.mesh.text()));
        counts = parts.join(QStringLiteral(" · "));
    }
    m_selectionText->setText(selection);
    m_countsText->setText(counts);
}

void MainWindow::changeEvent(QEvent* event) {
    QMainWindow::changeEvent(event);
    // Colours that the panels took from the palette are taken again.
    if (event->type() == QEvent::PaletteChange && m_session && m_session->analysis())
        QMetaObject::invokeMethod(
            this, [this] { showAnalysis(m_session->analysis()); }, Qt::QueuedConnection);
}

}  // namespace shardwright
