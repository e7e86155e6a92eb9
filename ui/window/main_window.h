// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

#include <QList>
#include <QMainWindow>

#include <functional>
#include <memory>

class QLabel;
class QProgressBar;
class QStackedWidget;
class QToolButton;

namespace shardwright {

class AnnotationFiles;
class BindingsButton;
class CommunicationPanel;
class DiagnosticsPanel;
class EditorSession;
class FileWatch;
class GraphCanvas;
class InspectorPanel;
class MeshPanel;
class MessageBar;
class ProposalsPanel;
class RecentFiles;
class Recovery;
class RunPanel;
class StartPage;
class StructurePanel;
class UserRulesFile;
class WindowActions;

/// The editor's window: the drawing in the middle, panels around it, all of one EditorSession.
class MainWindow : public QMainWindow {
    Q_OBJECT

public:
    explicit MainWindow(QWidget* parent = nullptr);
    ~MainWindow() override;

    /// Opens a file, after asking about unsaved changes.
    void openFile(const QString& path);
    EditorSession* session() const { return m_session; }
    GraphCanvas* canvas() const { return m_canvas; }
    InspectorPanel* inspector() const { return m_inspector; }
    DiagnosticsPanel* diagnostics() const { return m_diagnostics; }
    MessageBar* messageBar() const { return m_messages; }
    WindowActions* actions() const { return m_actions; }
    RecentFiles* recentFiles() const { return m_recent; }
    Recovery* recovery() const { return m_recovery; }
    RunPanel* runPanel() const { return m_runPanel; }
    ProposalsPanel* proposals() const { return m_proposals; }
    StructurePanel* structure() const { return m_structure; }
    AnnotationFiles* annotationFiles() const { return m_annotationFiles; }
    UserRulesFile* userRules() const { return m_userRules; }
    /// Brings "diagnostics", "communication", "proposals" or "run" to the front, "run/shards" with
    /// its tab.
    void showPanel(const QString& name);
    /// Selects what a search finds, once the model is there and analysed.
    void selectFound(const QString& query);
    /// Whether nothing is being opened, analysed or laid out.
    bool isSettled() const;

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void buildCentre();
    void buildDocks();
    void buildToolBar();
    void buildStatusBar();
    QDockWidget* addDock(const QString& name, const QString& title, QWidget* panel,
                         Qt::DockWidgetArea area);
    void connectSession();
    // main_window_actions.cpp
    void connectNavigation();
    void connectFileActions();
    void connectViewActions();
    void connectSearch();
    void restoreSettings();
    void saveSettings() const;

    // main_window_files.cpp
    void chooseFile();
    void save();
    void saveAs();
    void reload();
    void closeModel();
    void chooseExport(const QString& suffix);
    void chooseSelectionExport();
    QString startFolder() const;
    /// `part` of the drawing; null: all of it.
    void exportTo(const QString& path, const QRectF& part);
    void askExport(const QString& title, const QStringList& suffixes, const QRectF& part);
    /// Goes on with `next` at once, or after the person saved or discarded their changes.
    void afterUnsaved(std::function<void()> next);
    void fileOpened(const QString& path);
    void fileClosed();
    void refreshRecentMenu();
    void offerRecovery(const QDateTime& time);

    void showAnalysis(std::shared_ptr<const Analysis> analysis);
    void goTo(NodeId node);
    void showEdgeText(int text);
    void updateTitle();
    void updateBusy();
    void updateSelectionText();
    void showContextMenu(QPoint position);
    void showAbout();
    void showShortcuts();
    void showPreferences();
    void tellOfRules();
    void applyBoxContents();

    EditorSession* m_session;
    WindowActions* m_actions;
    RecentFiles* m_recent;
    Recovery* m_recovery;
    FileWatch* m_watch;
    UserRulesFile* m_userRules;
    AnnotationFiles* m_annotationFiles;
    GraphCanvas* m_canvas;
    MessageBar* m_messages;
    StartPage* m_start;
    QStackedWidget* m_stack;
    StructurePanel* m_structure;
    InspectorPanel* m_inspector;
    MeshPanel* m_mesh;
    DiagnosticsPanel* m_diagnostics;
    CommunicationPanel* m_communication;
    RunPanel* m_runPanel;
    ProposalsPanel* m_proposals;
    BindingsButton* m_bindings;
    QDockWidget *m_meshDock, *m_diagnosticsDock, *m_communicationDock, *m_runDock, *m_proposalsDock;
    QLabel *m_busyText, *m_selectionText, *m_countsText, *m_zoomText;
    QProgressBar* m_busyBar;
    QToolButton* m_busyCancel;
    std::function<void()> m_afterSave;
    bool m_closing = false;
    bool m_rulesAreWrong = false;
};

}  // namespace shardwright
