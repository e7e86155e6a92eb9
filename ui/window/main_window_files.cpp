// SPDX-License-Identifier: Apache-2.0
// Opening, saving, closing, exporting: the part of MainWindow that deals with files.
#include "ui/canvas/export.h"
#include "ui/canvas/graph_canvas.h"
#include "ui/panels/inspector_panel.h"
#include "ui/panels/structure_panel.h"
#include "ui/window/annotation_files.h"
#include "ui/window/editor_session.h"
#include "ui/window/file_watch.h"
#include "ui/window/main_window.h"
#include "ui/window/message_bar.h"
#include "ui/window/recent_files.h"
#include "ui/window/recovery.h"
#include "ui/window/start_page.h"
#include "ui/window/text.h"
#include "ui/window/theme.h"
#include "ui/window/window_actions.h"

#include <QCloseEvent>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QLocale>
#include <QMenu>
#include <QMessageBox>
#include <QMimeData>
#include <QSettings>
#include <QStackedWidget>

#include <algorithm>

namespace shardwright {
namespace {

QString modelFilter() {
    return MainWindow::tr(
        "ONNX models (*.onnx *.onnxtxt *.textproto *.prototxt *.pbtxt *.pb);;All files (*)");
}

/// The first local file of a drag, or nothing.
QString draggedFile(const QMimeData* data) {
    for (const QUrl& url : data->urls())
        if (url.isLocalFile() && QFileInfo(url.toLocalFile()).isFile())
            return url.toLocalFile();
    return {};
}

}  // namespace

void MainWindow::connectFileActions() {
    connect(m_actions->newWindow, &QAction::triggered, this, [] {
        auto* window = new MainWindow;
        window->setAttribute(Qt::WA_DeleteOnClose);
        window->show();
    });
    connect(m_actions->open, &QAction::triggered, this, &MainWindow::chooseFile);
    connect(m_actions->reload, &QAction::triggered, this, &MainWindow::reload);
    connect(m_actions->save, &QAction::triggered, this, &MainWindow::save);
    connect(m_actions->saveAs, &QAction::triggered, this, &MainWindow::saveAs);
    connect(m_actions->close, &QAction::triggered, this, &MainWindow::closeModel);
    connect(m_actions->quit, &QAction::triggered, this, &QWidget::close);
    connect(m_actions->exportPng, &QAction::triggered, this,
            [this] { chooseExport(QStringLiteral("png")); });
    connect(m_actions->exportSvg, &QAction::triggered, this,
            [this] { chooseExport(QStringLiteral("svg")); });
    connect(m_actions->exportPdf, &QAction::triggered, this,
            [this] { chooseExport(QStringLiteral("pdf")); });
    connect(m_actions->exportSelection, &QAction::triggered, this,
            &MainWindow::chooseSelectionExport);
    connect(m_actions->importAnnotations, &QAction::triggered, m_annotationFiles,
            &AnnotationFiles::chooseImport);
    connect(m_actions->exportAnnotations, &QAction::triggered, m_annotationFiles,
            &AnnotationFiles::chooseExport);
    connect(m_recent, &RecentFiles::changed, this, &MainWindow::refreshRecentMenu);
    connect(m_actions->recentMenu, &QMenu::aboutToShow, this, &MainWindow::refreshRecentMenu);
    connect(m_start, &StartPage::openWanted, this, &MainWindow::chooseFile);
    connect(m_start, &StartPage::fileWanted, this, &MainWindow::openFile);
}

void MainWindow::openFile(const QString& path) {
    afterUnsaved([this, path] {
        m_messages->dismiss();
        m_session->open(path);
    });
}

/// Beside the open model, else where a model was opened last.
QString MainWindow::startFolder() const {
    if (m_session->hasDocument())
        return QFileInfo(m_session->filePath()).absolutePath();
    QStringList folders{QSettings().value(QStringLiteral("folder")).toString()};
    for (const QString& recent : m_recent->paths())
        folders << QFileInfo(recent).absolutePath();
    for (const QString& folder : folders)
        if (!folder.isEmpty() && QFileInfo(folder).isDir())
            return folder;
    return QDir::homePath();
}

void MainWindow::chooseFile() {
    auto* dialog = new QFileDialog(this, tr("Open a Model"), {}, modelFilter());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    dialog->setDirectory(startFolder());
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
        QSettings().setValue(QStringLiteral("folder"), QFileInfo(path).absolutePath());
        openFile(path);
    });
    dialog->open();
}

void MainWindow::save() {
    if (m_session->hasDocument())
        m_session->save(m_session->filePath());
}

void MainWindow::saveAs() {
    if (!m_session->hasDocument())
        return;
    auto* dialog =
        new QFileDialog(this, tr("Save the Model"), m_session->filePath(), modelFilter());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("onnx"));
    dialog->selectFile(QFileInfo(m_session->filePath()).fileName());
    connect(dialog, &QFileDialog::fileSelected, this,
            [this](const QString& path) { m_session->save(path); });
    connect(dialog, &QFileDialog::rejected, this, [this] { m_afterSave = nullptr; });
    dialog->open();
}

void MainWindow::reload() {
    if (m_session->hasDocument())
        openFile(m_session->filePath());
}

void MainWindow::closeModel() {
    afterUnsaved([this] { m_session->closeDocument(); });
}

void MainWindow::afterUnsaved(std::function<void()> next) {
    if (!m_session->isModified()) {
        next();
        return;
    }
    auto* box = new QMessageBox(
        QMessageBox::Warning, tr("Unsaved Changes"),
        tr("%1 has unsaved changes.").arg(QFileInfo(m_session->filePath()).fileName()),
        QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
    box->setObjectName(QStringLiteral("unsavedBox"));
    box->setTextFormat(Qt::PlainText);
    box->setInformativeText(tr("Save them before going on?"));
    box->setDefaultButton(QMessageBox::Save);
    box->setAttribute(Qt::WA_DeleteOnClose);
    connect(box, &QMessageBox::finished, this, [this, next = std::move(next)](int answer) {
        if (answer == QMessageBox::Save) {
            m_afterSave = next;
            save();
        } else if (answer == QMessageBox::Discard) {
            m_recovery->discard();
            next();
        }
    });
    box->open();
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (m_closing || !m_session->isModified()) {
        saveSettings();
        event->accept();
        return;
    }
    event->ignore();
    // A second click on the cross is no second question.
    if (findChild<QMessageBox*>(QStringLiteral("unsavedBox")))
        return;
    afterUnsaved([this] {
        m_closing = true;
        close();
    });
}

void MainWindow::fileOpened(const QString& path) {
    m_watch->watch(path);
    m_recent->add(path);
    m_actions->setDocumentOpen(true);
    // What panels show of the model before goes at once; of the new one there is no analysis yet.
    showAnalysis(nullptr);
    m_structure->setModel(m_session->document().model);
    m_canvas->highlight({});
    m_canvas->setModel(m_session->document().model);
    m_stack->setCurrentWidget(m_canvas);
    m_canvas->setFocus();
    updateTitle();
    updateSelectionText();
}

void MainWindow::fileClosed() {
    m_watch->watch({});
    m_actions->setDocumentOpen(false);
    showAnalysis(nullptr);
    m_structure->setModel(nullptr);
    m_canvas->setModel(nullptr);
    m_stack->setCurrentWidget(m_start);
    m_messages->dismiss();
    updateTitle();
}

void MainWindow::refreshRecentMenu() {
    QMenu* menu = m_actions->recentMenu;
    menu->clear();
    const QStringList paths = m_recent->paths();
    for (const QString& path : paths) {
        QAction* action = menu->addAction(menuText(oneLine(QFileInfo(path).fileName(), 80)));
        action->setToolTip(toolTipText(path));
        action->setData(path);
        connect(action, &QAction::triggered, this, [this, path] { openFile(path); });
    }
    menu->setToolTipsVisible(true);
    menu->setEnabled(!paths.isEmpty());
    if (paths.isEmpty())
        return;
    menu->addSeparator();
    connect(menu->addAction(tr("Clear List")), &QAction::triggered, m_recent, &RecentFiles::clear);
}

void MainWindow::offerRecovery(const QDateTime& time) {
    m_messages->show(MessageBar::Kind::Warning,
                     tr("There are unsaved annotations of %1 from %2.")
                         .arg(QFileInfo(m_session->filePath()).fileName(),
                              QLocale().toString(time, QLocale::ShortFormat)),
                     {{tr("Restore"), [this] { m_recovery->restore(); }},
                      {tr("Discard"), [this] { m_recovery->discard(); }}});
}

void MainWindow::chooseExport(const QString& suffix) {
    askExport(tr("Export the Drawing"), {suffix}, {});
}

void MainWindow::chooseSelectionExport() {
    constexpr double kMargin = 24;
    const QRectF part = m_canvas->selectionRect();
    if (part.isNull()) {
        m_messages->show(MessageBar::Kind::Information,
                         tr("Nothing is selected that could be exported."));
        return;
    }
    askExport(tr("Export the Selection"),
              {QStringLiteral("svg"), QStringLiteral("png"), QStringLiteral("pdf")},
              part.adjusted(-kMargin, -kMargin, kMargin, kMargin));
}

void MainWindow::askExport(const QString& title, const QStringList& suffixes, const QRectF& part) {
    if (!m_canvas->scene())
        return;
    const QFileInfo model(m_session->filePath());
    QStringList filters;
    for (const QString& suffix : suffixes)
        filters << QStringLiteral("%1 (*.%2)").arg(suffix.toUpper(), suffix);
    auto* dialog =
        new QFileDialog(this, title, model.absolutePath(), filters.join(QStringLiteral(";;")));
    dialog->setObjectName(QStringLiteral("exportDialog"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(suffixes.front());
    connect(dialog, &QFileDialog::filterSelected, dialog, [dialog](const QString& filter) {
        dialog->setDefaultSuffix(filter.section(u' ', 0, 0).toLower());
    });
    const QString name =
        part.isNull() ? model.completeBaseName() : tr("%1 part").arg(model.completeBaseName());
    dialog->selectFile(name + u'.' + suffixes.front());
    connect(dialog, &QFileDialog::fileSelected, this,
            [this, part](const QString& path) { exportTo(path, part); });
    dialog->open();
}

void MainWindow::exportTo(const QString& path, const QRectF& part) {
    ExportOptions options;
    options.part = part;
    options.dark = isDark(palette());
    options.title = QFileInfo(m_session->filePath()).fileName();
    options.edgeText = m_canvas->edgeText();
    options.marks = m_canvas->marks();
    options.scale = path.endsWith(QStringLiteral(".png"), Qt::CaseInsensitive) ? 2.0 : 1.0;
    m_session->jobs()->start<QString>(
        JobTracker::Kind::Export,
        [scene = m_canvas->scene(), analysis = m_session->analysis(), path,
         options](const CancelToken&) mutable {
            QString error;
            if (exportGraph(*scene, analysis, path, options, &error))
                return QString();
            // Twice the size may be more than a PNG can be.
            options.scale = 1.0;
            return exportGraph(*scene, analysis, path, options, &error) ? QString() : error;
        },
        [this, path](const QString& error) {
            if (error.isEmpty())
                m_messages->show(MessageBar::Kind::Information, tr("Exported to %1").arg(path));
            else
                m_messages->show(MessageBar::Kind::Error, error);
        });
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (!draggedFile(event->mimeData()).isEmpty())
        event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    const QString path = draggedFile(event->mimeData());
    if (path.isEmpty())
        return;
    event->acceptProposedAction();
    openFile(path);
}

}  // namespace shardwright
