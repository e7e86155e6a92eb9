// SPDX-License-Identifier: Apache-2.0
// What leads from one panel to another, and what menus do: the part of MainWindow without files and
// layout.
#include "check/find.h"
#include "sharding/codec.h"
#include "ui/canvas/graph_canvas.h"
#include "ui/panels/communication_panel.h"
#include "ui/panels/diagnostics_panel.h"
#include "ui/panels/inspector_panel.h"
#include "ui/panels/mesh_panel.h"
#include "ui/panels/proposals_panel.h"
#include "ui/panels/run_panel.h"
#include "ui/panels/scope_facts.h"
#include "ui/panels/structure_panel.h"
#include "ui/panels/tensor_editor.h"
#include "ui/window/editor_session.h"
#include "ui/window/main_window.h"
#include "ui/window/message_bar.h"
#include "ui/window/preferences_dialog.h"
#include "ui/window/shortcuts_dialog.h"
#include "ui/window/text.h"
#include "ui/window/theme.h"
#include "ui/window/user_rules_file.h"
#include "ui/window/window_actions.h"

#include <QActionGroup>
#include <QApplication>
#include <QDockWidget>
#include <QLabel>
#include <QMenu>
#include <QMessageBox>
#include <QSettings>
#include <QStatusBar>

#include <functional>
#include <vector>

namespace shardwright {
namespace {

QList<NodeId> nodesBelow(const GraphIndex& graph, ScopeId scope) {
    const auto nodes = nodesIn(graph, scope);
    return {nodes.begin(), nodes.end()};
}

/// Nodes with the same operator, in the scope (invalid: anywhere).
QList<NodeId> nodesLike(const GraphIndex& graph, NodeId like, ScopeId scope) {
    QList<NodeId> nodes;
    const auto add = [&](NodeId node) {
        if (graph.opType(node) == graph.opType(like) && graph.domain(node) == graph.domain(like))
            nodes << node;
    };
    if (scope)
        for (const NodeId node : nodesBelow(graph, scope))
            add(node);
    else
        for (const NodeInfo& node : graph.nodes)
            add(node.id);
    return nodes;
}

}  // namespace

void MainWindow::connectNavigation() {
    connect(m_canvas, &GraphCanvas::selectionChanged, this, [this](const QList<NodeId>& nodes) {
        m_inspector->showNodes(nodes);
        m_structure->showNodes(nodes);
        updateSelectionText();
    });
    connect(m_canvas, &GraphCanvas::scopeSelected, m_inspector, &InspectorPanel::showScope);
    connect(m_canvas, &GraphCanvas::scopeSelected, m_structure, &StructurePanel::showScope);
    connect(m_inspector, &InspectorPanel::nodesWanted, this, [this](const QList<NodeId>& nodes) {
        m_canvas->setSelection(nodes);
        // What had the keyboard is gone with the scope.
        m_canvas->setFocus();
    });
    connect(m_canvas, &GraphCanvas::valueSelected, this, [this](ValueId value) {
        if (value)
            m_inspector->showValue(value);
    });
    connect(m_canvas, &GraphCanvas::zoomChanged, this,
            [this](double zoom) { m_zoomText->setText(percentText(zoom)); });
    connect(m_inspector, &InspectorPanel::nodeWanted, this, &MainWindow::goTo);
    connect(m_inspector, &InspectorPanel::valueWanted, this, [this](ValueId value) {
        m_canvas->selectValue(value);
        m_canvas->centreOnValue(value);
    });
    connect(m_inspector, &InspectorPanel::tensorShown, m_runPanel, &RunPanel::selectValue);
    connect(m_inspector, &InspectorPanel::meshWanted, m_mesh, &MeshPanel::addConfiguration);
    connect(m_diagnostics, &DiagnosticsPanel::nodeWanted, this, &MainWindow::goTo);
    connect(m_communication, &CommunicationPanel::nodeWanted, this, &MainWindow::goTo);
    connect(m_runPanel, &RunPanel::nodeWanted, this, &MainWindow::goTo);
    connect(m_proposals, &ProposalsPanel::nodesWanted, this, [this](const QList<NodeId>& nodes) {
        m_canvas->setSelection(nodes);
        m_canvas->centreOn(nodes.back());
    });
    connect(m_structure, &StructurePanel::nodeWanted, this, &MainWindow::goTo);
    connect(m_structure, &StructurePanel::nodesWanted, m_canvas, &GraphCanvas::setSelection);
    connect(m_structure, &StructurePanel::scopeWanted, this, [this](ScopeId scope) {
        m_canvas->selectScope(scope);
        m_canvas->centreOnScope(scope);
    });
    connect(m_structure, &StructurePanel::highlightChanged, m_canvas, &GraphCanvas::highlight);
    const auto refuse = [this](const QString& message) {
        m_messages->show(MessageBar::Kind::Error, message);
    };
    connect(m_inspector, &InspectorPanel::refused, this, refuse);
    connect(m_mesh, &MeshPanel::refused, this, refuse);
}

void MainWindow::showContextMenu(QPoint position) {
    if (!m_session->hasDocument())
        return;
    // Held by the entries, which may outlive the document.
    const auto model = m_session->document().model;
    const GraphIndex& graph = model->graph();
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const auto add = [&](const QString& text, std::function<QList<NodeId>()> nodes) {
        connect(menu->addAction(menuText(text)), &QAction::triggered, this,
                [this, model, nodes = std::move(nodes)] {
                    if (m_session->hasDocument() && m_session->document().model == model)
                        m_canvas->setSelection(nodes());
                });
    };
    if (const NodeId node = m_canvas->currentNode()) {
        const QString op = oneLine(graph.opType(node), 40);
        add(tr("Select All %1").arg(op),
            [model, node] { return nodesLike(model->graph(), node, ScopeId()); });
        if (const ScopeId scope = graph.node(node).scope; scope.index() > 0) {
            add(tr("Select All %1 in %2").arg(op, oneLine(graph.scope(scope).path, 60)),
                [model, node, scope] { return nodesLike(model->graph(), node, scope); });
            add(tr("Select All in %1").arg(oneLine(graph.scope(scope).path, 60)),
                [model, scope] { return nodesBelow(model->graph(), scope); });
        }
        menu->addSeparator();
        menu->addActions({m_actions->copyName, m_actions->copyLayout});
    } else if (const ScopeId scope = m_canvas->selectedScope()) {
        connect(menu->addAction(m_canvas->isExpanded(scope) ? tr("Collapse") : tr("Expand")),
                &QAction::triggered, this, [this, scope] { m_canvas->toggleScope(scope); });
        add(tr("Select All in %1").arg(oneLine(graph.scope(scope).path, 60)),
            [model, scope] { return nodesBelow(model->graph(), scope); });
    }
    if (!menu->isEmpty())
        menu->addSeparator();
    menu->addActions({m_actions->back, m_actions->fit, m_actions->fitSelection});
    if (!m_canvas->selectionRect().isNull())
        menu->addAction(m_actions->exportSelection);
    menu->popup(position);
}

void MainWindow::connectViewActions() {
    connect(m_canvas, &GraphCanvas::contextMenuWanted, this, &MainWindow::showContextMenu);
    connect(m_actions->zoomIn, &QAction::triggered, m_canvas, &GraphCanvas::zoomIn);
    connect(m_actions->zoomOut, &QAction::triggered, m_canvas, &GraphCanvas::zoomOut);
    connect(m_actions->actualSize, &QAction::triggered, m_canvas, &GraphCanvas::actualSize);
    connect(m_actions->fit, &QAction::triggered, m_canvas, &GraphCanvas::fitAll);
    connect(m_actions->fitSelection, &QAction::triggered, m_canvas, &GraphCanvas::fitSelection);
    connect(m_actions->back, &QAction::triggered, m_canvas, &GraphCanvas::selectPrevious);
    connect(m_actions->expandAll, &QAction::triggered, m_canvas, &GraphCanvas::expandAll);
    connect(m_actions->collapseAll, &QAction::triggered, m_canvas, &GraphCanvas::collapseAll);
    connect(m_actions->selectAll, &QAction::triggered, m_canvas, &GraphCanvas::selectAll);
    connect(m_actions->edgeTexts, &QActionGroup::triggered, this, [this](QAction* action) {
        m_canvas->setEdgeText(static_cast<GraphCanvas::EdgeText>(action->data().toInt()));
    });
    for (QAction* action : m_actions->marksMenu->actions())
        connect(action, &QAction::toggled, this, [this, action](bool shown) {
            auto marks = m_canvas->marks();
            marks.setFlag(static_cast<GraphCanvas::Mark>(action->data().toInt()), shown);
            m_canvas->setMarks(marks);
        });
    connect(m_actions->nextEdgeText, &QAction::triggered, this,
            [this] { showEdgeText((static_cast<int>(m_canvas->edgeText()) + 1) % 4); });
    connect(m_actions->themes, &QActionGroup::triggered, this, [](QAction* action) {
        applyTheme(themeFromName(action->data().toString()));
        QSettings().setValue(QStringLiteral("theme"), action->data());
    });
    connect(m_actions->strict, &QAction::toggled, this, [this](bool strict) {
        m_session->setProfile(strict ? Profile::Strict : Profile::Extended);
    });
    connect(m_actions->run, &QAction::triggered, this, [this] {
        m_runDock->show();
        m_runDock->raise();
        m_runPanel->start();
    });
    connect(m_actions->propose, &QAction::triggered, this, [this] {
        m_proposalsDock->show();
        m_proposalsDock->raise();
        m_proposals->propose();
    });
    connect(m_actions->cancelRun, &QAction::triggered, m_runPanel, &RunPanel::cancel);
    connect(m_runPanel, &RunPanel::runningChanged, this, [this](bool running) {
        m_actions->cancelRun->setEnabled(running);
        m_runDock->setWindowTitle(running ? tr("Run (running)") : tr("Run"));
    });
    connect(m_runPanel, &RunPanel::finished, this, [this] {
        // Another tab may be in front.
        if (!m_runPanel->isVisible())
            statusBar()->showMessage(tr("Run: %1").arg(oneLine(m_runPanel->statusText(), 200)),
                                     10000);
    });
    for (QAction* action : {m_actions->boxNames, m_actions->boxWeights, m_actions->boxAttributes})
        connect(action, &QAction::toggled, this, &MainWindow::applyBoxContents);
    connect(m_actions->goToGraph, &QAction::triggered, this, [this] {
        if (m_session->hasDocument())
            m_canvas->setFocus(Qt::ShortcutFocusReason);
    });
    connect(m_actions->preferences, &QAction::triggered, this, &MainWindow::showPreferences);
    connect(m_actions->shortcuts, &QAction::triggered, this, &MainWindow::showShortcuts);
    connect(m_actions->about, &QAction::triggered, this, &MainWindow::showAbout);
}

void MainWindow::connectSearch() {
    connect(m_actions->find, &QAction::triggered, this, [this] {
        if (auto* dock = findChild<QDockWidget*>(QStringLiteral("structureDock"))) {
            dock->show();
            dock->raise();
        }
        m_structure->startSearch();
    });
    connect(m_actions->findNext, &QAction::triggered, m_structure, &StructurePanel::next);
    connect(m_actions->findPrevious, &QAction::triggered, m_structure, &StructurePanel::previous);
    connect(m_actions->copyName, &QAction::triggered, this, [this] {
        if (const NodeId node = m_canvas->currentNode())
            copyText(toQt(m_session->document().graph().label(node)));
    });
    connect(m_actions->copyLayout, &QAction::triggered, m_inspector->tensorEditor(),
            &TensorEditor::copyLayout);
    connect(m_actions->strip, &QAction::triggered, this, [this] {
        m_session->push(editStrip(m_session->document()), tr("Remove all annotations"));
    });
}

void MainWindow::showEdgeText(int text) {
    for (QAction* action : m_actions->edgeTexts->actions())
        if (action->data().toInt() == text)
            action->trigger();
}

void MainWindow::goTo(NodeId node) {
    if (!node || !m_session->hasDocument())
        return;
    m_canvas->setSelection({node});
    m_canvas->centreOn(node);
}

void MainWindow::showPanel(const QString& name) {
    if (auto* dock = findChild<QDockWidget*>(name.section(u'/', 0, 0) + QStringLiteral("Dock"))) {
        dock->show();
        dock->raise();
    }
    m_runPanel->showTab(name.section(u'/', 1));
}

void MainWindow::selectFound(const QString& query) {
    // Goes with the first time that it works.
    auto* once = new QObject(this);
    const auto select = [this, query, once] {
        const auto analysis = m_session->analysis();
        if (!analysis || !m_canvas->scene())
            return;
        once->deleteLater();
        disconnect(m_session, nullptr, once, nullptr);
        disconnect(m_canvas, nullptr, once, nullptr);
        const auto found = findNodes(*analysis, fromQt(query));
        // The last one selected is the one that panels show.
        m_canvas->setSelection({found.rbegin(), found.rend()});
        if (!found.empty())
            m_canvas->centreOn(found.front());
    };
    connect(m_session, &EditorSession::analysisChanged, once, select);
    connect(m_canvas, &GraphCanvas::sceneReady, once, select);
    select();
}

void MainWindow::applyBoxContents() {
    m_canvas->setBoxContents({m_actions->boxNames->isChecked(), m_actions->boxWeights->isChecked(),
                              m_actions->boxAttributes->isChecked()});
}

void MainWindow::showShortcuts() {
    auto* dialog = new ShortcutsDialog(menuBar(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->open();
}

void MainWindow::showPreferences() {
    auto* dialog = new PreferencesDialog(m_userRules, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->open();
}

/// Where the dialog does not say it.
void MainWindow::tellOfRules() {
    const bool wrong = !m_userRules->error().isEmpty();
    if (m_userRules->isReading() || (!wrong && !m_rulesAreWrong))
        return;
    m_rulesAreWrong = wrong;
    if (findChild<PreferencesDialog*>())
        return;
    if (wrong)
        m_messages->show(MessageBar::Kind::Error,
                         tr("Rules of your own: %1").arg(m_userRules->error()),
                         {{tr("Preferences…"), [this] { showPreferences(); }}});
    else
        m_messages->show(MessageBar::Kind::Information, tr("The rules of your own are in force."));
}

void MainWindow::showAbout() {
    auto* box = new QMessageBox(
        QMessageBox::NoIcon, tr("About Shardwright"),
        tr("Shardwright %1\n\nEditor for the multi-device annotations of ONNX models.\n\nQt %2")
            .arg(QApplication::applicationVersion(), QString::fromLatin1(qVersion())),
        QMessageBox::Close, this);
    box->setTextFormat(Qt::PlainText);
    box->setIconPixmap(QIcon(QStringLiteral(":/icons/shardwright.svg")).pixmap(56));
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->open();
}

}  // namespace shardwright
