// SPDX-License-Identifier: Apache-2.0
#include "ui/window/edit_command.h"

#include "ui/window/editor_session.h"

namespace shardwright {

EditCommand::EditCommand(EditorSession* session, Edit edit, const QString& title)
    : QUndoCommand(title), m_session(session), m_edit(std::move(edit)) {}

void EditCommand::swap() {
    m_edit = m_session->applyEdit(m_edit);
}

}  // namespace shardwright
