// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

#include <QWidget>

#include <memory>

class QVBoxLayout;

namespace shardwright {

class EditorSession;

/// Does a fix as one undoable command. Not while the diagnostic is older than the document: the
/// edit replaces the whole annotation of its node and would take the newest change back.
void applyWhenCurrent(EditorSession* session, const Fix& fix);

/// The diagnostics of one node as short texts with buttons for their fixes. Empty where there is
/// none.
class NodeProblems : public QWidget {
    Q_OBJECT

public:
    explicit NodeProblems(EditorSession* session, QWidget* parent = nullptr);
    void show(std::shared_ptr<const Analysis> analysis, NodeId node);

private:
    QWidget* card(const Diagnostic& diagnostic);

    EditorSession* m_session;
    QVBoxLayout* m_column;
    QWidget* m_cards = nullptr;
};

}  // namespace shardwright
