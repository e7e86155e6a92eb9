// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sharding/edit.h"

#include <QUndoCommand>

namespace shardwright {

class EditorSession;

/// An Edit on the undo stack. Applying one gives its inverse, so that undo and redo are the same
/// step.
class EditCommand : public QUndoCommand {
public:
    EditCommand(EditorSession* session, Edit edit, const QString& title);
    void undo() override { swap(); }
    void redo() override { swap(); }

private:
    void swap();

    EditorSession* m_session;
    Edit m_edit;
};

}  // namespace shardwright
