// SPDX-License-Identifier: Apache-2.0
#include "ui/window/editor_session.h"

#include "ui/window/edit_command.h"
#include "ui/window/text.h"

#include <QFileInfo>

#include <algorithm>

namespace shardwright {
namespace {

using Kind = JobTracker::Kind;

constexpr int kTitleLimit = 80;

}  // namespace

EditorSession::EditorSession(QObject* parent) : QObject(parent) {
    connect(&m_undo, &QUndoStack::cleanChanged, this,
            [this](bool clean) { emit modifiedChanged(!clean); });
    connect(&m_jobs, &JobTracker::runningChanged, this, &EditorSession::busyChanged);
}

EditorSession::~EditorSession() {
    // The stack tells of its clearing, to which nobody should listen any more.
    m_undo.disconnect(this);
    m_jobs.disconnect(this);
}

void EditorSession::open(const QString& path) {
    m_jobs.start<Result<Document>>(
        Kind::Open,
        [path = toPath(path)](const CancelToken& token) { return Document::open(path, token); },
        [this, path](Result<Document> result) {
            if (result)
                adopt(std::move(*result), path);
            else
                emit openFailed(path, toQt(result.error().message));
        });
}

void EditorSession::cancelOpen() {
    m_jobs.cancel(Kind::Open);
}

void EditorSession::adopt(Document document, const QString& path) {
    m_jobs.cancel(Kind::Analysis);
    m_jobs.cancel(Kind::Search);
    m_document = std::move(document);
    m_path = QFileInfo(path).absoluteFilePath();
    m_undo.clear();
    m_options.configuration.clear();
    m_options.bindings = {};
    // Another one, since a cancelled job may still be busy with the old.
    m_analyser = std::make_shared<Analyser>();
    m_analysis.reset();
    ++m_revision;
    emit opened(m_path);
    emit documentChanged();
    scheduleAnalysis();
}

void EditorSession::closeDocument() {
    if (!m_document)
        return;
    m_jobs.cancel(Kind::Analysis);
    m_jobs.cancel(Kind::Search);
    m_undo.clear();
    m_document.reset();
    m_path.clear();
    m_analysis.reset();
    m_analyser.reset();
    ++m_revision;
    emit closed();
}

void EditorSession::save(const QString& path) {
    if (!m_document || isSaving())
        return;
    const quint64 edits = m_edits;
    m_jobs.start<Result<void>>(
        Kind::Save,
        [document = *m_document, path = toPath(path)](const CancelToken&) {
            return document.save(path);
        },
        [this, path, edits, model = m_document->model](Result<void> result) {
            if (!result) {
                emit saveFailed(path, toQt(result.error().message));
                return;
            }
            if (!m_document || m_document->model != model)
                return;
            m_path = QFileInfo(path).absoluteFilePath();
            // Edits made while it was written are not in the file.
            if (m_edits == edits)
                m_undo.setClean();
            emit saved(m_path);
        });
}

void EditorSession::push(Edit edit, const QString& title) {
    if (!m_document || edit.empty())
        return;
    const QString text = oneLine(title.isEmpty() ? toQt(edit.title) : title, kTitleLimit);
    m_undo.push(new EditCommand(this, std::move(edit), text));
}

Edit EditorSession::applyEdit(const Edit& edit) {
    Edit inverse = apply(m_document->annotations, edit);
    ++m_revision;
    ++m_edits;
    checkConfigurationName();
    emit documentChanged();
    scheduleAnalysis();
    return inverse;
}

void EditorSession::checkConfigurationName() {
    // The chosen configuration may have been renamed or removed (or its making undone).
    const auto names = configurationNames(m_document->annotations);
    if (std::ranges::find(names, m_options.configuration) == names.end())
        m_options.configuration.clear();
}

void EditorSession::setConfiguration(const QString& name) {
    if (fromQt(name) == m_options.configuration)
        return;
    m_options.configuration = fromQt(name);
    ++m_revision;
    scheduleAnalysis();
}

void EditorSession::setBindings(const Bindings& bindings) {
    if (bindings == m_options.bindings)
        return;
    m_options.bindings = bindings;
    ++m_revision;
    scheduleAnalysis();
}

void EditorSession::setProfile(Profile profile) {
    if (profile == m_options.profile)
        return;
    m_options.profile = profile;
    ++m_revision;
    scheduleAnalysis();
}

void EditorSession::setUserRules(UserRules rules) {
    m_userRules.name = rules.name;
    if (rules.text == m_userRules.text && !rules.registry == !m_userRules.registry)
        return;
    m_userRules = std::move(rules);
    m_options.registry = m_userRules.registry;
    ++m_revision;
    scheduleAnalysis();
}

void EditorSession::scheduleAnalysis() {
    // Several changes in one event (undoing to a point in the history) are one analysis.
    if (std::exchange(m_analysisScheduled, true))
        return;
    QMetaObject::invokeMethod(this, &EditorSession::analyse, Qt::QueuedConnection);
}

void EditorSession::analyse() {
    m_analysisScheduled = false;
    if (!m_document)
        return;
    using Outcome = Result<std::shared_ptr<const Analysis>>;
    FirstPiece first;
    if (m_first)
        first.nodes = m_first();
    first.deliver = [this, revision = m_revision](std::shared_ptr<const Analysis> piece) {
        QMetaObject::invokeMethod(
            this,
            [this, revision, piece = std::move(piece)] {
                if (revision == m_revision && m_analysedRevision != revision)
                    emit pieceAnalysed(piece);
            },
            Qt::QueuedConnection);
    };
    m_jobs.start<Outcome>(
        Kind::Analysis,
        [document = *m_document, options = m_options, analyser = m_analyser,
         first = std::move(first)](const CancelToken& token) {
            return analyser->run(document, options, token, first);
        },
        [this, revision = m_revision](Outcome result) {
            if (!result) {
                emit analysisFailed(toQt(result.error().message));
                return;
            }
            m_analysis = *result;
            m_analysedRevision = revision;
            emit analysisChanged(m_analysis);
        });
}

}  // namespace shardwright
