// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/document.h"

#include <QDateTime>
#include <QLockFile>
#include <QObject>
#include <QTimer>

#include <memory>

namespace shardwright {

class EditorSession;

/// Keeps a copy of unsaved annotations in the program's data folder: written some time after an
/// edit, deleted when the document is saved or its changes are discarded, and offered when the file
/// is opened again after the program ended otherwise. A copy in use by another window is locked and
/// never offered.
class Recovery : public QObject {
    Q_OBJECT

public:
    explicit Recovery(EditorSession* session, QObject* parent = nullptr);
    ~Recovery() override;

    /// How long after the last edit a copy is written.
    void setDelay(int milliseconds) { m_delay.setInterval(milliseconds); }
    /// Restores what offered() told of, as one undoable edit.
    void restore();
    /// Deletes what was offered, or what is kept of the present document.
    void discard();
    static QString folder();

signals:
    void offered(const QDateTime& time);
    void written();
    /// Restored annotations do not fit the file any more.
    void failed(const QString& message);

private:
    struct Copy;
    void opened();
    void closed();
    void look();
    void write();
    bool lockNewName();

    EditorSession* m_session;
    QTimer m_delay;
    std::unique_ptr<Copy> m_copy;  ///< Ours: locked; the file may not exist yet.
    std::shared_ptr<Annotations> m_offer;
    bool m_looking = false;  ///< m_copy is of before, and is being read.
    std::shared_ptr<const Model> m_model;
};

}  // namespace shardwright
