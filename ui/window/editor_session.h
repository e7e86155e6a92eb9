// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"
#include "ui/window/job_tracker.h"

#include <QObject>
#include <QString>
#include <QUndoStack>

#include <memory>
#include <optional>

namespace shardwright {

/// One open model in one window: the document with its undo history, which only the GUI thread
/// touches, and what workers found out about snapshots of it.
class EditorSession : public QObject {
    Q_OBJECT

public:
    explicit EditorSession(QObject* parent = nullptr);
    ~EditorSession() override;

    bool hasDocument() const { return m_document.has_value(); }
    const Document& document() const { return *m_document; }
    QString filePath() const { return m_path; }
    QUndoStack* undoStack() { return &m_undo; }
    bool isModified() const { return hasDocument() && !m_undo.isClean(); }
    JobTracker* jobs() { return &m_jobs; }

    /// Of the latest snapshot that was analysed; null before the first.
    std::shared_ptr<const Analysis> analysis() const { return m_analysis; }
    /// Whether analysis() is of the present document and options.
    bool isAnalysisCurrent() const { return m_analysis && m_analysedRevision == m_revision; }
    const AnalysisOptions& options() const { return m_options; }

    /// Starts reading a file. The present document stays until the new one is there.
    void open(const QString& path);
    bool isOpening() const { return m_jobs.isRunning(JobTracker::Kind::Open); }
    void cancelOpen();
    /// Starts writing; `path` becomes the document's own.
    void save(const QString& path);
    bool isSaving() const { return m_jobs.isRunning(JobTracker::Kind::Save); }
    void closeDocument();

    /// Does an edit as one undoable command. `title` is what undo shows; empty: the edit's own.
    void push(Edit edit, const QString& title = {});
    void setConfiguration(const QString& name);
    void setBindings(const Bindings& bindings);
    void setProfile(Profile profile);

signals:
    void opened(const QString& path);
    void openFailed(const QString& path, const QString& message);
    void saved(const QString& path);
    void saveFailed(const QString& path, const QString& message);
    void closed();
    /// Annotations changed (an edit, undo, redo).
    void documentChanged();
    void modifiedChanged(bool modified);
    void analysisChanged(std::shared_ptr<const shardwright::Analysis> analysis);
    void analysisFailed(const QString& message);
    void busyChanged();

private:
    friend class EditCommand;
    /// Applies and gives the inverse.
    Edit applyEdit(const Edit& edit);
    void adopt(Document document, const QString& path);
    void scheduleAnalysis();
    void analyse();
    void checkConfigurationName();

    std::optional<Document> m_document;
    QString m_path;
    QUndoStack m_undo;
    AnalysisOptions m_options;
    std::shared_ptr<Analyser> m_analyser;  ///< Used by analysis jobs only, which run one at a time.
    std::shared_ptr<const Analysis> m_analysis;
    quint64 m_revision = 0, m_analysedRevision = 0;
    quint64 m_edits = 0;
    bool m_analysisScheduled = false;
    JobTracker m_jobs;  ///< Last: its end waits for jobs.
};

}  // namespace shardwright

Q_DECLARE_METATYPE(std::shared_ptr<const shardwright::Analysis>)
