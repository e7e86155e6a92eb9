// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/portable_annotations.h"

#include <QObject>
#include <QString>

class QWidget;

namespace shardwright {

class EditorSession;
class MessageBar;

/// Annotations to and from a file of their own (docs/annotations-file.md), which another export of
/// the model understands.
class AnnotationFiles : public QObject {
    Q_OBJECT

public:
    /// Dialogs belong to `window`.
    AnnotationFiles(EditorSession* session, MessageBar* messages, QWidget* window);

    void chooseExport();
    void chooseImport();
    /// Writes the annotations of the present configuration, once the last edit is analysed.
    void exportTo(const QString& path);
    /// Puts the rules of the file onto the model as one step to undo, and tells of those that
    /// matched nothing.
    void importFrom(const QString& path);

private:
    struct Imported {
        PortableAnnotations annotations;
        ApplyOutcome outcome;
    };
    void write(const QString& path);
    void imported(const QString& path, Result<Imported> result);
    void showReport(const QString& path, const ApplyOutcome& outcome);
    void fail(const QString& path, const QString& message);

    EditorSession* m_session;
    MessageBar* m_messages;
    QWidget* m_window;
};

}  // namespace shardwright
