// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"
#include "ui/window/job_tracker.h"

#include <QObject>
#include <QString>
#include <QUndoStack>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace shardwright {

/// Rules of the person's own operators.
struct UserRules {
    std::shared_ptr<const Registry> registry;  ///< With the standard operators; null: only these.
    std::string text;                          ///< For the worker, which reads it itself.
    std::string name;                          ///< The file it came from.
};

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
    void setUserRules(UserRules rules);
    const UserRules& userRules() const { return m_userRules; }
    /// Asked when an analysis begins: nodes that somebody looks at, which are to be worked out
    /// before the others.
    void setFirst(std::function<std::vector<NodeId>()> first) { m_first = std::move(first); }

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
    /// Of the present document, but of what is looked at only; analysisChanged() follows, unless
    /// the next edit comes before.
    void pieceAnalysed(std::shared_ptr<const shardwright::Analysis> piece);
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
    UserRules m_userRules;
    std::function<std::vector<NodeId>()> m_first;
    std::shared_ptr<Analyser> m_analyser;  ///< Used by analysis jobs only, which run one at a time.
    std::shared_ptr<const Analysis> m_analysis;
    quint64 m_revision = 0, m_analysedRevision = 0;
    quint64 m_edits = 0;
    bool m_analysisScheduled = false;
    JobTracker m_jobs;  ///< Last: its end waits for jobs.
};

}  // namespace shardwright

Q_DECLARE_METATYPE(std::shared_ptr<const shardwright::Analysis>)
