// SPDX-License-Identifier: Apache-2.0
#include "ui/window/annotation_files.h"

#include "ui/window/editor_session.h"
#include "ui/window/import_report.h"
#include "ui/window/message_bar.h"
#include "ui/window/text.h"

#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QSaveFile>
#include <QSettings>

#include <algorithm>

namespace shardwright {
namespace {

/// Far more than any model needs.
constexpr qint64 kMostBytes = 64 << 20;

QString folderKey() {
    return QStringLiteral("annotationsFolder");
}

QString filter() {
    return AnnotationFiles::tr("Annotations (*.json);;All files (*)");
}

QString rulesText(std::size_t count) {
    return count == 1 ? AnnotationFiles::tr("1 rule") : AnnotationFiles::tr("%1 rules").arg(count);
}

Result<std::string> readText(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        return Error{fromQt(file.errorString()), {}};
    if (file.size() > kMostBytes)
        return Error{fromQt(AnnotationFiles::tr("the file is too large for annotations")), {}};
    return file.readAll().toStdString();
}

/// Empty: it is written.
QString writeText(const QString& path, const std::string& text) {
    QSaveFile file(path);
    const auto size = static_cast<qint64>(text.size());
    if (file.open(QIODevice::WriteOnly) && file.write(text.data(), size) == size && file.commit())
        return {};
    return file.errorString();
}

}  // namespace

AnnotationFiles::AnnotationFiles(EditorSession* session, MessageBar* messages, QWidget* window)
    : QObject(window), m_session(session), m_messages(messages), m_window(window) {}

void AnnotationFiles::chooseExport() {
    if (!m_session->hasDocument())
        return;
    if (configurationNames(m_session->document().annotations).empty()) {
        m_messages->show(MessageBar::Kind::Information,
                         tr("There are no annotations to export: the model has no device mesh."));
        return;
    }
    const QFileInfo model(m_session->filePath());
    QString folder = QSettings().value(folderKey()).toString();
    if (folder.isEmpty() || !QFileInfo(folder).isDir())
        folder = model.absolutePath();
    auto* dialog = new QFileDialog(m_window, tr("Export Annotations"), folder, filter());
    dialog->setObjectName(QStringLiteral("exportAnnotationsDialog"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("json"));
    dialog->selectFile(tr("%1 annotations.json").arg(model.completeBaseName()));
    connect(dialog, &QFileDialog::fileSelected, this, &AnnotationFiles::exportTo);
    dialog->open();
}

void AnnotationFiles::chooseImport() {
    if (!m_session->hasDocument())
        return;
    QString folder = QSettings().value(folderKey()).toString();
    if (folder.isEmpty() || !QFileInfo(folder).isDir())
        folder = QFileInfo(m_session->filePath()).absolutePath();
    auto* dialog = new QFileDialog(m_window, tr("Import Annotations"), folder, filter());
    dialog->setObjectName(QStringLiteral("importAnnotationsDialog"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, &AnnotationFiles::importFrom);
    dialog->open();
}

void AnnotationFiles::exportTo(const QString& path) {
    QSettings().setValue(folderKey(), QFileInfo(path).absolutePath());
    if (m_session->isAnalysisCurrent())
        return write(path);
    // The last edit belongs to what is exported.
    auto* once = new QObject(this);
    connect(m_session, &EditorSession::analysisChanged, once, [this, once, path] {
        if (!m_session->isAnalysisCurrent())
            return;
        once->deleteLater();
        m_session->disconnect(once);
        write(path);
    });
    connect(m_session, &EditorSession::closed, once, &QObject::deleteLater);
    connect(m_session, &EditorSession::opened, once, &QObject::deleteLater);
}

void AnnotationFiles::write(const QString& path) {
    struct Written {
        std::size_t rules = 0;
        QString error;
    };
    m_session->jobs()->start<Written>(
        JobTracker::Kind::Annotations,
        [analysis = m_session->analysis(), path](const CancelToken&) {
            const PortableAnnotations rules = exportAnnotations(*analysis);
            const std::string text =
                rules.toJson().dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
            return Written{rules.stages.size() + rules.shards.size() + rules.specs.size(),
                           writeText(path, text)};
        },
        [this, path](const Written& written) {
            if (written.error.isEmpty())
                m_messages->show(MessageBar::Kind::Information,
                                 tr("Exported %1 to %2").arg(rulesText(written.rules), path));
            else
                fail(path, tr("could not be written: %1").arg(written.error));
        });
}

void AnnotationFiles::importFrom(const QString& path) {
    QSettings().setValue(folderKey(), QFileInfo(path).absolutePath());
    if (!m_session->hasDocument())
        return;
    const auto analysis = m_session->analysis();
    m_session->jobs()->start<Result<Imported>>(
        JobTracker::Kind::Annotations,
        [document = m_session->document(), bindings = m_session->options().bindings,
         shapes = analysis ? analysis->shapes : nullptr,
         path](const CancelToken& token) -> Result<Imported> {
            const auto text = readText(path);
            if (!text)
                return text.error();
            auto annotations = PortableAnnotations::fromJson(*text);
            if (!annotations)
                return annotations.error();
            LayoutPool pool;
            auto outcome = applyAnnotations(
                document, shapes ? *shapes : *ShapeTable::build(document.model, bindings, token),
                *annotations, pool);
            if (!outcome)
                return outcome.error();
            return Imported{std::move(*annotations), std::move(*outcome)};
        },
        [this, path, before = m_session->document()](Result<Imported> result) {
            if (!m_session->hasDocument() || m_session->document().model != before.model)
                return;
            // The edit is of the annotations that it was made from.
            if (result && !m_session->document().annotations.sameAs(before.annotations))
                return importFrom(path);
            imported(path, std::move(result));
        });
}

void AnnotationFiles::imported(const QString& path, Result<Imported> result) {
    if (!result)
        return fail(path, toQt(result.error().text()));
    const ApplyOutcome& outcome = result->outcome;
    const int put = static_cast<int>(outcome.rules.size()) - outcome.unmatched();
    m_session->push(outcome.edit, tr("Import annotations of %1").arg(QFileInfo(path).fileName()));
    // What was imported is what one sees.
    const auto names = configurationNames(m_session->document().annotations);
    if (std::ranges::find(names, result->annotations.configuration) != names.end())
        m_session->setConfiguration(toQt(result->annotations.configuration));
    if (outcome.unmatched() > 0) {
        m_messages->show(
            MessageBar::Kind::Warning,
            tr("%1: %2 of %3 applied")
                .arg(QFileInfo(path).fileName(), QString::number(put),
                     rulesText(outcome.rules.size())),
            {{tr("Show Which"), [this, path, outcome] { showReport(path, outcome); }}});
        showReport(path, outcome);
        return;
    }
    m_messages->show(
        MessageBar::Kind::Information,
        tr("%1: %2 applied").arg(QFileInfo(path).fileName(), rulesText(outcome.rules.size())));
}

void AnnotationFiles::showReport(const QString& path, const ApplyOutcome& outcome) {
    auto* report = new ImportReport(QFileInfo(path).fileName(), outcome, m_window);
    report->setAttribute(Qt::WA_DeleteOnClose);
    report->open();
}

void AnnotationFiles::fail(const QString& path, const QString& message) {
    m_messages->show(MessageBar::Kind::Error,
                     tr("%1: %2").arg(QFileInfo(path).fileName(), message));
}

}  // namespace shardwright
